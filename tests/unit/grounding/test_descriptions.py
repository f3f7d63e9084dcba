import pytest

from grounding.descriptions import description_in, inner_description, may_describe


@pytest.mark.parametrize(
    "question",
    [
        "Where did the leader of the Skarvik survey study?",
        "How old is the firm that bought Delmer Foods?",
        "What does the drug cost that was tested in 2019?",
        "Wie lange gilt die Garantie der Pumpe, die 2019 in Halle 3 eingebaut wurde?",
        "¿Dónde estudió la persona que dirige Quill Air?",
    ],
)
def test_a_clause_or_a_genitive_may_describe_something_by_a_name_or_a_number(question: str) -> None:
    assert may_describe(question)


@pytest.mark.parametrize(
    "question",
    [
        "When was Quill Air founded?",
        "What is the capital of the country that won?",
        "",
    ],
)
def test_a_question_without_one_or_without_a_name_describes_nothing(question: str) -> None:
    assert not may_describe(question)


@pytest.mark.parametrize(
    ("question", "reply", "described"),
    [
        ("Where did the head of Quill Air study?", "“the head of Quill Air”", "the head of Quill Air"),
        ("What does the head of Quill Air keep?", "the head of Quill Air keeps", "the head of Quill Air"),
        ("What does the head of Quill Air keep?", "The  head of Quill Air", "the head of Quill Air"),
        # What is asked for is no part of the description.
        ("Who is the head of Quill Air's buyer?", "the head of Quill Air's buyer", "Quill Air's buyer"),
        ("Wer ist der Leiter des Käufers von Halmar?", "der Leiter des Käufers von Halmar", "Käufers von Halmar"),
        ("Wer ist der Käufer von Halmar?", "der Käufer von Halmar", None),
        ("Who leads the Bank of Halmar?", "the Bank of Halmar", None),
        ("Who wrote Turn On by the singer of Baby I?", "Turn On by the singer of Baby I", "the singer of Baby I"),
        ("Which label is the singer of Baby I signed to?", "the singer of Baby I signed to", "the singer of Baby I"),
        ("What firm is Ida Kestrel's employer part of?", "Ida Kestrel's employer part of", "Ida Kestrel's employer"),
        ("Which fruit acts on the drug of Amber?", "the fruit acts on the drug of Amber", "the drug of Amber"),
        ("In which year did the head of Quill Air retire?", "the head of Quill Air retire", "the head of Quill Air"),
        ("In which year did the head retire from Quill Air?", "the head retire from Quill Air", None),
        ("Where is the firm based that cleans?", "the firm based that cleans", None),
        ("Where did the head of Quill Air study?", "the owner", None),
        ("Where did the head of Quill Air study?", "", None),
    ],
)
def test_the_description_is_copied_says_more_than_a_name_and_leaves_something_to_ask(
    question: str, reply: str, described: str | None
) -> None:
    span = description_in(reply, question)
    assert (question[slice(*span)] if span else None) == described


@pytest.mark.parametrize(
    ("described", "inner"),
    [
        ("the licence of the person who runs the Kvarnby depot", "the person who runs the Kvarnby depot"),
        ("die Lizenz der Person, die das Depot von Kvarnby leitet", "der Person, die das Depot von Kvarnby leitet"),
        ("the term of the contract of the tenant of flat 12", "the tenant of flat 12"),
        # What follows says no more than a name, or has none.
        ("the leader of the Skarvik harbour survey", None),
        ("the Kvarnby depot of the firm that runs it", None),
    ],
)
def test_a_description_may_lean_on_another(described: str, inner: str | None) -> None:
    question = f"Where is {described} now?"
    start = question.index(described)
    span = inner_description(question, (start, start + len(described)))
    assert (question[slice(*span)] if span else None) == inner
