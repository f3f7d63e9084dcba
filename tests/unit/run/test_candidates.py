from typing import Any

import pytest

from core.types import Candidate, Outcome
from run.candidates import candidate, confidence, with_reasons, with_round
from run.context import Constraints, Weights
from tests.scripted import candidate_of, claim, draft, explained_of, verdict

GOOD = candidate_of(draft("Good.", ["a"]), [claim("Good.")], score=2.5)
LESSER = candidate_of(draft("Lesser.", ["b"]), [claim("Lesser.")], score=1.25)
USELESS = candidate_of(draft("So what.", ["c"]), [claim("So what.")], use="2", score=9)
PARTLY = candidate_of(draft("Half.", ["a"]), [claim("Half."), claim("Nearly.", "partially supported")], score=9)
BAD = candidate_of(draft("Bad.", ["a"]), [claim("Good."), claim("Bad\nday.", "no support")], score=9)
UNKNOWN = candidate_of(draft("Who knows.", ["a"]), [claim("Who knows.", "unknown")])
NOT_CHECKED = candidate_of(draft("New.", ["a"]), [])
DECLINES = candidate_of(draft("I don't know.", ["a"], declined=True), [])
DIRECT = candidate_of(draft("4"))


@pytest.mark.parametrize(
    ("labels", "use", "score"),
    [
        (["fully supported", "fully supported"], "4", 19),
        (["fully supported", "partially supported"], "5", 10),
        (["partially supported", "no support"], "5", 5),
        (["fully supported", "unknown"], "2", 2),
        (["fully supported"], "unknown", 18),
        (["fully supported"], None, 15),
        ([], "3", 3),
    ],
)
def test_support_first_is_five_times_support_and_the_rating(labels: list[str], use: str | None, score: float) -> None:
    claims = [claim("It.", label) for label in labels]
    rated = verdict(use) if use else None
    assert candidate(draft("It.", ["a"]), claims, rated, Weights(support=9), "support-first")["score"] == score


def test_a_long_way_from_certain_counts_in_the_papers_score_alone() -> None:
    """Support-first goes by labels."""
    unsure = verdict("fully supported", {"fully supported": 0.4, "partially supported": 0.3, "no support": 0.3})
    claims: Any = [{"text": "It.", "verdict": unsure, "quote": None}]
    assert candidate(draft("It.", ["a"]), claims, verdict("5"), Weights(), "support-first")["score"] == 20


def test_confidence_is_the_least_of_the_claims() -> None:
    sure, unsure = (
        claim("It.") | {"verdict": verdict("fully supported", {"fully supported": p, "no support": 1 - p})}
        for p in (0.875, 0.75)
    )
    found = [
        confidence(candidate_of(draft("It.", ["a"]), claims))  # type: ignore[arg-type]
        for claims in (
            [sure, unsure],
            [sure, claim("No.", "no support")],
            [sure, claim("Yes.")],
            [sure, claim("?", "unknown")],
            [],
        )
    ]
    assert found == [0.75, 0.0, None, None, None]


def reasons(best: Candidate, *others: Candidate, outcome: Outcome, constraints: Constraints = "soft") -> list[str]:
    found = with_reasons(with_round([], [best, *others], constraints), best, outcome, constraints)
    assert [one["chosen"] for one in found] == [outcome not in ("abstained", "stopped"), *(False for _ in others)]
    return [one["reason"] for one in found]


@pytest.mark.parametrize(
    ("best", "outcome", "constraints", "reason"),
    [
        (GOOD, "grounded", "soft", "All its claims are fully supported, and of such candidates it has the best score"),
        (GOOD, "grounded", "hard", "All its claims are fully supported, it is not rated below 3, and of such"),
        (PARTLY, "partially_grounded", "soft", "No candidate has all its claims fully supported, but some; of such"),
        (DIRECT, "direct", "soft", "It is the answer without documents."),
        (DECLINES, "abstained", "soft", "It says that the passages do not give the answer."),
        (NOT_CHECKED, "abstained", "soft", "Its claims were not checked."),
        (UNKNOWN, "abstained", "soft", "One of its claims could not be checked: “Who knows”."),
        (BAD, "abstained", "hard", "One of its claims is not supported: “Bad day”."),
        (PARTLY, "abstained", "hard", "One of its claims is only partly supported: “Nearly”."),
        (USELESS, "abstained", "hard", "It is rated 2, and hard constraints require 3."),
    ],
)
def test_the_best_candidate_has_the_reason_of_the_outcome(
    best: Candidate, outcome: Outcome, constraints: Constraints, reason: str
) -> None:
    (found,) = explained_of(best, outcome, constraints)
    assert found["reason"].startswith(reason)
    assert found["chosen"] == (outcome != "abstained")


@pytest.mark.parametrize(
    ("best", "other", "outcome", "constraints", "reason"),
    [
        (GOOD, LESSER, "grounded", "soft", "It ranks below another candidate by score: 1.250 against 2.500."),
        (
            GOOD,
            {**LESSER, "score": 2.5},
            "grounded",
            "soft",
            "It ranks below another candidate by score: 2.500 against 2.500, which came first.",
        ),
        (GOOD, USELESS, "grounded", "hard", "It is rated 2, and hard constraints require 3."),
        (GOOD, BAD, "grounded", "soft", "One of its claims is not supported: “Bad day”."),
        (GOOD, DECLINES, "grounded", "soft", "It says that the passages do not give the answer."),
        (PARTLY, {**BAD, "score": 8}, "partially_grounded", "soft", "It ranks below another candidate by score: 8.000"),
        (PARTLY, UNKNOWN, "partially_grounded", "soft", "One of its claims could not be checked: “Who knows”."),
        (DECLINES, {**DECLINES, "draft": draft("No.", ["b"], declined=True)}, "abstained", "soft", "It says that"),
        (USELESS, BAD, "abstained", "hard", "One of its claims is not supported: “Bad day”."),
    ],
)
def test_another_candidate_has_its_own_fault_or_its_lower_score_as_reason(
    best: Candidate, other: Any, outcome: Outcome, constraints: Constraints, reason: str
) -> None:
    assert reasons(best, other, outcome=outcome, constraints=constraints)[1].startswith(reason)


def test_a_claim_of_any_length_leaves_the_reason_one_sentence() -> None:
    long = candidate_of(draft("x", ["a"]), [claim("word " * 999, "no support")])
    (reason,) = reasons(long, outcome="abstained")
    assert len(reason) < 260
    assert reason.endswith("…”.")


def test_a_candidate_that_is_ranked_again_is_not_listed_again() -> None:
    second = with_round(with_round([], [LESSER, BAD], "soft"), [LESSER, GOOD], "soft")
    assert [(one["round"], one["text"]) for one in second] == [(1, "Lesser."), (1, "Bad."), (2, "Good.")]
