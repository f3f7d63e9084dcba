import pytest

from benchmarks.latency.__main__ import longest_chain
from benchmarks.latency.timed_server import Call
from benchmarks.turns import is_accepted
from tests.unit.evaluation.sample_records import record


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
    assert longest_chain([Call(*one, uncached_tokens=10) for one in calls]) == chain


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
    assert is_accepted(record(outcome=outcome, decisions=[{"node": "generate"}] * drafts)) is accepted
