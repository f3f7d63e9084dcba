import pytest

from grounding.checkable import checkable, why_no_claim

TEXT = """# Lease notes

## Break clause
The tenant may leave in March 2030. It must give six months' notice. Is that fair?

Rent and deposit
- The rent is 93,000 pounds.
"""


def test_each_sentence_is_found_where_it_stands_with_its_heading() -> None:
    found = checkable(TEXT)
    assert [(one.statement.text, one.subject) for one in found] == [
        ("The tenant may leave in March 2030.", "Break clause"),
        ("It must give six months' notice.", "Break clause"),
        ("Is that fair?", "Break clause"),
        ("Rent and deposit", "Break clause"),
        ("The rent is 93,000 pounds.", "Break clause"),
    ]
    assert all(TEXT[one.statement.start :].startswith(one.statement.text) for one in found)
    assert found[1].statement.context == "The tenant may leave in March 2030."
    assert [one.no_claim for one in found] == ["", "", "It is a question.", "It is a heading.", ""]


def test_headings_that_are_given_are_no_sentences_and_give_the_subject() -> None:
    text = "Rent\nThe rent is due on Monday.\nDeposit\nThe deposit is small."
    found = checkable(text, [(0, 4), (text.index("Deposit"), text.index("Deposit") + 7)])
    assert [(one.statement.text, one.subject) for one in found] == [
        ("The rent is due on Monday.", "Rent"),
        ("The deposit is small.", "Deposit"),
    ]


def test_without_a_heading_the_paragraph_gives_the_subject() -> None:
    first, second = checkable("The museum opened in 1999. Admission is free.")
    assert (first.subject, second.subject) == ("", "The museum opened in 1999.")


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("谁付房租？", "It is a question."),
        ("I think that the rent is high.", "It is an opinion, a wish or a greeting."),
        ("Ich glaube, die Miete ist hoch.", "It is an opinion, a wish or a greeting."),
        ("À mon avis, le loyer est élevé.", "It is an opinion, a wish or a greeting."),
        ("Creo que la renta es alta.", "It is an opinion, a wish or a greeting."),
        ("我认为房租很高。", "It is an opinion, a wish or a greeting."),
        ("Thank you for reading the report.", "It is an opinion, a wish or a greeting."),
        ("Indeed.", "It states nothing."),
        ("The tenant thinks that the rent is high.", ""),
        ("We found a break clause in 2030.", ""),
        ("房租是九百欧元。", ""),
    ],
)
def test_what_states_nothing_says_why(sentence: str, why: str) -> None:
    assert why_no_claim(sentence) == why


def test_one_word_and_one_question_are_no_claims() -> None:
    assert [one.no_claim for one in checkable("Word")] == ["It states nothing."]
    assert [one.no_claim for one in checkable("Why?")] == ["It is a question."]
    assert checkable("") == []
