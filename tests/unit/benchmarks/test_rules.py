from benchmarks.rules import Case, Paragraph, alarms, cases_of

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
    assert {case.kind for case in cases} <= {"held", "name", "figure", "word", "date"}
    assert all(
        "Hopper" in case.claim or "December" in case.claim
        for case in cases
        if case.kind == "name" and case.paragraph is ADA
    )
    assert cases == list(cases_of([ADA, GRACE], 1))


def test_what_is_missing_is_an_alarm_and_what_has_no_quote_only_where_nothing_is_planted() -> None:
    claims = [("held", "It was 47."), ("held", "Ferries cross the sound."), ("name", "Ferries cross the sound.")]
    assert [alarms(Case(kind, claim, ADA)) for kind, claim in claims] == ["47", "no quote", None]
