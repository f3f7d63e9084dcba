"""The chain of calls, and the figures of a server."""

from typing import Any

import pytest

from benchmarks.latency.__main__ import longest_chain
from benchmarks.latency.timed_server import Call
from benchmarks.turns import is_accepted
from evaluation.records import Example
from evaluation.run import failed


def call(asked: float, ended: float) -> Call:
    return Call(asked, ended, uncached_tokens=10)


@pytest.mark.parametrize(
    ("calls", "chain"),
    [
        ([], 0),
        ([(0, 1), (1, 2), (2, 3)], 3),
        ([(0, 1), (0.1, 1.1), (0.2, 1.2)], 1),  # side by side
        ([(0, 9), (0, 1), (1, 2), (2, 3)], 3),  # the longest call hides no chain beside it
        ([(2, 3), (0, 1), (0.5, 1.5), (1.5, 1.9)], 3),  # in any order
    ],
)
def test_the_chain_is_the_longest_of_calls_that_wait_for_each_other(
    calls: list[tuple[float, float]], chain: int
) -> None:
    assert longest_chain([call(*one) for one in calls]) == chain


@pytest.mark.parametrize(
    ("outcome", "drafts", "accepted"),
    [
        ("grounded", 1, True),
        ("grounded", 2, False),
        ("partially_grounded", 1, False),
        ("abstained", 1, False),
        ("answered", 3, True),  # by a peer, whatever it made of the question
    ],
)
def test_an_answer_counts_that_our_graph_grounded_at_its_first_draft(outcome: str, drafts: int, accepted: bool) -> None:
    changes: Any = {"outcome": outcome, "decisions": [{"node": "generate"}] * drafts}
    assert is_accepted(failed("ours", Example("a", "Why?"), ValueError(), 0.0) | changes) is accepted
