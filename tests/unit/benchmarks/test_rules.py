"""What the rules' benchmark calls a false alarm, and what it plants."""

import pytest

from benchmarks.rules import Case, Paragraph, alarms, cases_of, rewritten

ADA = Paragraph(
    "In London came Lovelace. It was 3 May 1843, with 12 notes and two tables.",
    ("In London came Lovelace.", "It was 3 May 1843, with 12 notes and two tables."),
    "When?",
)
GRACE = Paragraph(
    "Then came Hopper. On 9 December 1906 she wrote 47 pages in three weeks.",
    ("Then came Hopper.", "On 9 December 1906 she wrote 47 pages in three weeks."),
    "Who?",
)


def test_every_sentence_is_asked_about_as_it_is_and_with_each_kind_of_fact_of_the_other_paragraph() -> None:
    cases = list(cases_of([ADA, GRACE], 1))
    held = [case.claim for case in cases if case.kind == "held"]
    assert held == [*ADA.sentences, *GRACE.sentences]
    assert {case.kind for case in cases} <= {"held", "rewritten", "name", "figure", "word", "date"}
    assert all(
        "Hopper" in case.claim or "December" in case.claim
        for case in cases
        if case.kind == "name" and case.paragraph is ADA
    )
    assert cases == list(cases_of([ADA, GRACE], 1))


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("It was 3 May 1843.", "It was 1843-05-03."),
        ("It was May 3, 1843.", "It was 1843-05-03."),
        ("It has two of 1,200 tables.", "It has 2 of 1200 tables."),
        ("It has tables.", "It has tables."),
    ],
)
def test_facts_are_rewritten_in_another_form(sentence: str, other: str) -> None:
    assert rewritten(sentence) == other


def test_what_is_missing_is_an_alarm_and_what_has_no_quote_only_where_nothing_is_planted() -> None:
    claims = {"held": "It was 47.", "rewritten": "Ferries cross the sound.", "name": "Ferries cross the sound."}
    said = [alarms(Case(kind, claim, ADA)) for kind, claim in claims.items()]
    assert said == ["47", "no quote", None]
