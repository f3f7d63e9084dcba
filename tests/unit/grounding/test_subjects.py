"""When a quote is about another subject than the question, and when only its words differ."""

from __future__ import annotations

import pytest

from grounding.subjects import absent_subject, another_subject, has_subjects
from tests.scripted import passage

PLANS = "The Basic plan costs 10 euros a month. The Pro plan costs 25 euros a month."
TICKETS = "An adult ticket costs 12 euros. A child ticket costs 6 euros."


@pytest.mark.parametrize(
    ("question", "quote", "known", "subject"),
    [
        ("How much does the Team plan cost?", "The Pro plan costs 25 euros a month.", PLANS, "Team plan"),
        ("How much does the team plan cost?", "The Pro plan costs 25 euros a month.", PLANS, "team plan"),
        ("How much is a family ticket?", "A child ticket costs 6 euros.", TICKETS, "family ticket"),
        ("What was the revenue in 2023?", "In 2022 it was 12 million.", "In 2022 it was 12 million.", "2023"),
        ("What is the flow of the PX-50?", "The PX-40 moves 40 litres.", "The PX-40 moves 40 litres.", "PX-50"),
        ("What does Clause 7 forbid?", "Clause 5 forbids subletting.", "Clause 5 forbids subletting.", "Clause 7"),
        ("Who drafted the Third Amendment?", "Mason drafted the First Amendment.", "", "Third Amendment"),
        ("What did Maria Smith teach?", "There John Smith taught.", "There John Smith taught.", "Maria Smith"),
        ("Has the team plan backups?", "Plan: Pro | Backups: daily", "Plan: Pro | Backups: daily", "team plan"),
        # It stands in the passage, or in the headings above it.
        ("How much does the Pro plan cost?", "It costs 25 euros a month.", PLANS, None),
        ("How much does the Team plan cost?", "The Pro plan costs 25.", "Team plans\nThe Pro plan costs 25.", None),
        ("Has the pro plan backups?", "Plan: Pro | Backups: daily", "Plan: Pro | Backups: daily", None),
        # Nothing of its kind stands in its place.
        ("What is the maximum load of the bridge?", "The permitted load is 3 t.", "The permitted load is 3 t.", None),
        ("What religion was Steven Spielberg's family?", "His family was Jewish.", "His family was Jewish.", None),
        ("Who led it in 2020?", "Ms Okafor has led it since 2015.", "Ms Okafor has led it since 2015.", None),
        ("Can it lift 30 kg?", "It lifts 25 kg.", "It lifts 25 kg.", None),
        ("Must I say so within 30 days?", "You must say so within 14 days.", "You must say so within 14 days.", None),
        ("Which plan has more than 50 GB?", "Plan: Pro | Storage: 100 GB", "Plan: Pro | Storage: 100 GB", None),
        ("Is the Pro plan dearer than the Team plan?", "The Pro plan costs 25 euros.", PLANS, None),
        # It is named beside another, in a comparison or by the question before.
        ("What was it in 2022? And in 2023?", "In 2023 it was 12 million.", "In 2023 it was 12 million.", None),
        ("Is the PX-40 heavier than the PX-50?", "The PX-40 weighs 9 kg.", "The PX-40 weighs 9 kg.", None),
        ("Has the team plan it? And the pro plan?", "Plan: Pro | Backups: daily", "Plan: Pro | Backups: daily", None),
        ("Is a child ticket cheaper than a family ticket?", "A child ticket costs 6 euros.", TICKETS, None),
        ("Whose concept is it?", "It is Bergson's concept.", "It is Bergson's concept.", None),
        # Other languages capitalise other words.
        ("Was kostet der Team Tarif im Monat bei Ihnen?", "Der Pro Tarif kostet 25 Euro im Monat.", "", None),
    ],
)  # fmt: skip
def test_a_subject_is_another_if_something_of_its_kind_stands_in_its_place(
    question: str, quote: str, known: str, subject: str | None
) -> None:
    assert another_subject(question, quote, known) == subject


def test_a_row_is_read_as_a_whole_and_a_second_passage_may_name_the_subject() -> None:
    row = {**passage("model: PX-40\nwarranty: 3 years"), "row": 2}
    start = row["text"].index("warranty")
    of_row = {"passage": row["id"], "start": start, "end": len(row["text"])}
    other = passage("The PX-50 has the warranty of the PX-40.")
    second = {"passage": other["id"], "start": 0, "end": len(other["text"])}
    question = "What is the warranty of the PX-50?"
    assert absent_subject(question, [row, other], [of_row]) == "PX-50"
    assert absent_subject(question, [row, other], [of_row, second]) is None


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
