"""The chain of calls, and the figures of a server."""

from __future__ import annotations

import pytest

from benchmarks.latency.__main__ import Turn, longest_chain, summary
from benchmarks.latency.timed_server import Call


def call(asked: float, ended: float) -> Call:
    return Call(asked, asked, ended, input_tokens=10, cached_tokens=0, output_tokens=1)


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


def test_ratios_are_taken_question_by_question() -> None:
    turns = [
        {"plain": Turn(1.0, 1, 1, 100), "ours": Turn(3.0, 8, 4, 150)},
        {"plain": Turn(10.0, 1, 1, 100), "ours": Turn(10.0, 8, 4, 350)},
        {"plain": Turn(2.0, 1, 1, 100), "ours": Turn(4.0, 9, 5, 200)},
    ]
    ours = summary(turns)["ours"]
    assert (ours["times"], ours["uncached_times"], ours["calls"], ours["chain"]) == (2.0, 2.0, 8, 5)
