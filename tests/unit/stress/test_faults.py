"""What is counted over many questions, and what is held against it."""

from typing import Any

from run.context import Limits
from tests.scripted import state
from tests.stress.faults.__main__ import Asked, counted
from tests.stress.harness import Tally

SPENT = {"model_calls": 3, "input_tokens": 400, "cached_input_tokens": 0, "output_tokens": 50, "estimated": False}


def asked(number: int, **changes: Any) -> Asked:
    final = state(outcome="abstained", stop_reason="nothing_relevant", usage=SPENT)
    return Asked(
        number, **{"limits": Limits(model_calls=4, tokens=1000, seconds=2), "seconds": 1.0, "final": final, **changes}
    )


def violated(one: Asked, requests: dict[str, int]) -> list[str]:
    tally = Tally()
    counted(tally, [one], requests)
    return tally.violated


def test_outcomes_are_counted_and_the_worst_is_kept() -> None:
    tally = Tally()
    worst = counted(tally, [asked(0), asked(1, seconds=3.0)], {"0": 3, "1": 2})
    assert (tally.outcomes, tally.counts) == ({"abstained": 2}, {"nothing_relevant": 2})
    assert worst == {"calls": 0.75, "tokens": 0.45, "seconds": 1.5, "late": 1.0}
    assert tally.violated == []


def test_the_server_counts_as_well() -> None:
    assert violated(asked(0), {"0": 4}) == ["question 0: the server counted 4 calls, the question says 3"]
    assert violated(asked(0), {"0": 5})[0] == "question 0: the server counted 5 calls of 4"
    assert violated(asked(0), {"0": 3, "none": 1}) == ["1 requests belong to no question"]
    assert violated(asked(7, final=None, violated=("it hung",)), {}) == ["question 7: it hung"]
