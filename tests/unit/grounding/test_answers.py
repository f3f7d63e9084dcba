import pytest

from grounding.answers import (
    agree,
    asks_for_one_fact,
    both_ways,
    comparable,
    gives,
    has_subjects,
    is_yes_or_no,
    quoted_answer,
    repeats_question,
)
from tests.scripted import passage

WHEN, WHO = "When was the bridge built?", "Who built the bridge?"


@pytest.mark.parametrize(
    ("question", "one", "other", "told"),
    [
        (WHEN, "1902", "The bridge was built in 1902.", True),
        (WHEN, "1902", "1911", False),
        (WHEN, "19 June 1902", "June 20, 1902", False),
        ("How long is it?", "3 weeks", "3 months", False),
        ("What is the fee?", "EUR 500", "USD 500", False),
        ("What is the fee?", "€500", "The fee is $500.", False),
        ("What is the fee?", "€500", "The fee is 500 euros.", True),
        ("What is the fee?", "€500 ($540)", "540 dollars", True),
        ("Where is it?", "Norhavn", "beside the old fish market", None),
        (WHO, "Ingrid Solberg", "Dr Solberg", True),
        (WHO, "The bridge was built by Ingrid Solberg.", "Marta Quill", False),
        ("Who wrote Symphony No. 38?", "Symphony No. 38 is by Joseph Haydn.", "Michael Haydn", False),
        ("How many months is it?", "It is 23,250 pounds, or three months' rent.", "two months' rent", False),
        ("How many live there?", "4,843", "2,070", False),
        ("Where is it?", "Kaunas, Lithuania", "Kaunas County", None),
        ("What is his profession?", "American actor", "American chef", None),
        ("Is a permit needed?", "Yes, a permit is needed.", "no", False),
        ("Is a permit needed?", "Yes.", "yes", True),
        ("Is a permit needed?", "A permit is needed.", "No permit is needed", None),
    ],
)
def test_code_tells_answers_apart_or_leaves_it_to_a_reader(
    question: str, one: str, other: str, told: bool | None
) -> None:
    assert agree(one, other, question) is told
    assert agree(other, one, question) is told


@pytest.mark.parametrize(
    ("question", "one"),
    [
        ("How many lanes has it?", True),
        ("Why was it closed?", False),
        ("How does the pump stop?", False),
        ("What are the causes of rust?", False),
        ("What is one use of rye?", False),
        ("Warum ist die Brücke gesperrt, und wer hat das entschieden?", True),
    ],
)
def test_what_adds_up_over_documents_is_not_compared(question: str, one: bool) -> None:
    assert asks_for_one_fact(question) is one


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("Built in 1902, the bridge has four lanes.", True),
        ("The bridge dates from 1911.", False),
        ("Contrary to popular belief, the bridge was not built in 1902 but later.", False),
    ],
)
def test_a_passage_gives_a_claim_if_it_has_its_own_words_and_does_not_deny_it(text: str, given: bool) -> None:
    assert gives(passage(text), "The bridge was built in 1902.", WHEN) is given


@pytest.mark.parametrize(
    ("answer", "quoted"),
    [
        ("1911", "The bridge dates from 1911."),
        ("bridge built 1911", None),
        ("1902", None),
        ("no", "A bridge was built there."),
    ],
)
def test_an_answer_counts_if_all_its_words_stand_in_one_span(answer: str, quoted: str | None) -> None:
    text = "A bridge was built there. It is stone and has four lanes for cars. The bridge dates from 1911."
    found = quoted_answer(answer, passage(text), WHEN)
    assert (text[found["start"] : found["end"]] if found else None) == quoted


@pytest.mark.parametrize(
    ("question", "draft", "repeated"),
    [
        ("Which of the clubs moved in May?", "The club moved in May.", True),
        ("When is the fee due?", "The fee is due.", True),
        ("Where is the hall located?", "It is located in the hall.", True),
        ("Which of the clubs moved in May?", "Both clubs moved in May.", False),
        ("How many seats are there?", "There are two seats.", False),
        ("What is the capital of Luxembourg?", "The capital of Luxembourg is Luxembourg.", False),
        ("Which is larger, the lion or the tiger?", "The tiger is larger.", False),
        ("Did the club move in May?", "The club moved in May.", False),
    ],
)
def test_a_draft_repeats_the_question_if_it_adds_no_word_that_may_answer(
    question: str, draft: str, repeated: bool
) -> None:
    assert repeats_question(draft, question) is repeated


@pytest.mark.parametrize(
    ("question", "one", "other", "same"),
    [
        ("How many live in Norhavn?", ("536", "In 2010 there were 536."), ("700", "In 2020 there were 700."), False),
        ("How many live in Norhavn?", ("536", "In 2010 there were 536."), ("700", "There were 700 in 2010."), True),
        ("How many live in Norhavn?", ("536", "There were 536."), ("700", "In 2020 there were 700."), True),
        ("How many live there?", ("536", "There are 536 families."), ("70", "There are 70 monks."), False),
        ("How many months is it?", ("three", "It is three months' rent."), ("two", "It is two months' rent."), True),
        ("When was Ruiz born?", ("3 May 1940", "Ruiz (3 May 1940 – 1999)."), ("1 June 1970", "On 1 June 1970."), True),
        ("How long is the Carn bridge?", ("2 km", "It is 2 km."), ("900 m", "It is 900 metres."), True),
        ("Who leads Norhavn?", ("Okafor", "Okafor was elected in 2010."), ("Ruiz", "Ruiz came in 2020."), False),
        ("Who built the Carn bridge?", ("Okafor", "Okafor, in 1902."), ("Ruiz", "Ruiz, in 1911."), True),
        ("When is the fee due?", ("1 May", "In Carn it is 1 May."), ("3 June", "In Brim it is 3 June."), False),
        ("When is the Carn fee due?", ("1 May", "In Carn it is 1 May."), ("3 June", "In Brim it is 3 June."), True),
        ("When is the fee due?", ("1 May", "It is due on 1 May."), ("3 June", "In Brim it is 3 June."), True),
    ],
)
def test_quotes_of_other_years_places_or_kinds_of_things_are_no_conflict(
    question: str, one: tuple[str, str], other: tuple[str, str], same: bool
) -> None:
    for first, second in ((one, other), (other, one)):
        assert comparable(question, [first[0], second[0]], [first[1], second[1]]) is same


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("When was the Mill Bridge built?", True),
        ("When was the Norhavn bridge built?", False),
        ("Was it built in 1902?", True),
        ("Was it built in 1911?", False),
        ("Is the B-12 closed?", False),
        ("Wann wurde die Steinbrücke bei uns gebaut?", True),
    ],
)
def test_a_passage_answers_exactly_if_it_has_what_the_question_names(question: str, named: bool) -> None:
    assert has_subjects(question, "The Mill Bridge was built in 1902.") is named


@pytest.mark.parametrize(
    ("answer", "language", "both"),
    [
        ("Yes.", "en", ("yes", "no")),
        ("no", "en", ("no", "yes")),
        ("No.", "es", ("no", "sí")),
        ("Sí", "es", ("sí", "no")),
        ("Ja!", "de", ("ja", "nein")),
        ("Non.", "fr", ("non", "oui")),
        ("是的。", "zh", ("是的", "不是")),
    ],
)
def test_a_bare_yes_or_no_has_its_opposite_in_its_own_language(
    answer: str, language: str, both: tuple[str, str]
) -> None:
    assert is_yes_or_no(answer)
    assert both_ways(answer, language) == both
