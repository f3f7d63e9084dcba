from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.comparison.compared_set import LEFT_OUT, sum_up
from evaluation.comparison.comparison import Comparison
from evaluation.comparison.overall import sections, summary_figures
from evaluation.judging.saved_replies import Replies
from evaluation.records import DISAGREED, FAILED, UNREADABLE, Example
from models.failures import TransientModelError
from tests.unit.evaluation.sample_comparisons import EXAMPLE, Writer, comparison, judge_of, opinions
from tests.unit.evaluation.sample_records import cost, said

NO_ANSWER = Example(id="u1", question="How did Harry beat Quirrell?", route="retrieve", answerable=False)
POEM = Example(id="p1", question="Write a poem.", route="direct")


def text_of(*comparisons: Comparison) -> str:
    return "\n".join(line for title, lines in sections(comparisons).items() for line in [title, *lines])


def test_decisions_checks_and_costs_are_counted_from_the_records() -> None:
    checked = comparison(
        decisions=[
            {"node": "generate", "seconds": 1.0},
            {"node": "hallucination_check", "seconds": 3.0},
            {"node": "generate", "seconds": 0.0, "redraft": True},
        ],
        said=[said("a", 0.9), said("b", 0.1)],
        cost=cost(seconds=4.5, read=330, cached=0),
    )
    again = [{"node": "rewrite_query", "query": "x"}, {"node": "retrieve", "passages": ["New.", "Whales sing."]}]
    text = text_of(
        comparison("A poem.", example=POEM, route="direct", seen=[]),
        comparison("A poem.", example=Example(id="p2", question="Sing!", route="direct")),
        comparison(decisions=again),
        checked,
    )
    for line in (
        "self-rag searched for 3 of 4 questions and answered 1 without documents; plain searched for all.",
        "The route was the expected one for 3 of 4 questions with an expected one.",
        "Wrongly routed: Sing!",
        "Of 6 passages first found, self-rag kept 3 for its drafts; plain read all 8 of its own.",
        "For 1 question it searched again with another query, and found 1 more passages.",
        "Claims in its last drafts: 1 judged fully supported, 0 partially, 1 not.",
        "For 1 question a check made it draft again.",
        "The checks took 58% of the time",
        "Tokens read: self-rag 420, plain 120 (3.5 times).",
        "Seconds: self-rag 6.0, plain 2.0 (3.0 times).",
    ):
        assert line in text


def test_what_to_use_when_follows_the_labels_and_says_when_they_are_few() -> None:
    text = text_of(comparison("", "With love.", example=NO_ANSWER))
    assert (
        "On unanswerable questions: self-rag, right on 1 of 1 and reading 30 tokens; plain is right on 0 and reads 30. "
        "Only 1 question: too few to rely on." in text
    )
    same = "Air scatters light."
    examples = [replace(EXAMPLE, id=str(number)) for number in range(6)]
    text = text_of(*(comparison(same, same, example=one, cost=cost(read=100)) for one in examples))
    assert (
        "On answerable questions: plain, right on 6 of 6 and reading 180 tokens; self-rag is right on 6 and reads 600."
        in text
    )
    assert "too few" not in text


def test_every_missing_verdict_is_counted_apart_from_ties() -> None:
    found = [
        opinions("self-rag", "self-rag"),
        opinions("tie", "tie"),
        opinions("plain", "self-rag"),
        opinions(None, "self-rag"),
        opinions(None, None, failure="refused"),
        opinions(),
        None,
    ]
    text = text_of(*(comparison(judged=one) for one in found))
    for line in (
        "Of 5 pairs of answers the judge prefers self-rag on 1 and plain on 0, a share of 1.00 [0.02, 1.00] for "
        "self-rag, and sees a tie on 1.",
        "1 of 7 were not judged: no preference.",
        "Accuracy: self-rag 1, plain 0, tie 1, undecided 3.",
    ):
        assert line in text


def test_a_set_without_labels_or_references_says_so() -> None:
    one = comparison(example=Example(id="e1", question="Why?"))
    text = text_of(one)
    assert "No question has a label or a reference: wins cannot be counted." in text
    assert "What to use when" not in text
    assert [name for name, *_ in summary_figures([one])][:2] == ["Questions", "Answered"]


def test_questions_that_failed_are_said_and_not_compared() -> None:
    failed = comparison(error="the server is gone")
    assert "1 of 2 questions failed in one of the systems." in text_of(failed, comparison())
    assert "self-rag searched for 1 of 1 question" in text_of(failed, comparison())
    assert text_of(failed) == "Failures\n1 of 1 questions failed in one of the systems."


async def prose(says: Any, folder: Path) -> Any:
    writer = Writer(says)
    with Replies(folder / "judgements.jsonl") as replies:
        return await sum_up(judge_of(writer, replies), "colours", [comparison()]), writer


async def test_the_models_text_stands_where_both_orders_agree(tmp_path: Path) -> None:
    found, writer = await prose(lambda _: "Use plain here.\npreferred: plain", tmp_path)
    assert (found.reasons, found.preference) == (["Use plain here."], "plain")
    first, second = (inputs["figures"] for inputs in writer.asked)
    assert "Answered: self-rag 1, plain 1" in first
    assert "Answered: plain 1, self-rag 1" in second


def by_order(inputs: dict[str, Any]) -> str:
    """Prefer the system that stands first."""
    return f"Yes.\npreferred: {'plain' if 'Answered: plain' in inputs['figures'] else 'self-rag'}"


@pytest.mark.parametrize(
    ("says", "preferred", "why"),
    [
        (by_order, DISAGREED, "its conclusion changed when the order"),
        (lambda _: "Je préfère le premier.", UNREADABLE, "did not reply in the form asked for"),
        (lambda _: "preferred: plain", UNREADABLE, "did not reply in the form asked for"),
        (lambda _: TransientModelError("refused"), FAILED, "it failed or refused"),
    ],
)
async def test_its_text_is_left_out_with_a_sentence(says: Any, preferred: str, why: str, tmp_path: Path) -> None:
    found, _ = await prose(says, tmp_path)
    assert (found.reasons, found.preference) == ([], preferred)
    assert why in LEFT_OUT[preferred]
