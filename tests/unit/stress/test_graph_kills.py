"""What the calls of a life say of a run that was killed."""

from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.types import Overwrite

from tests.stress.recorder import Call, Expected, finished


def call(node: str, prompt: str, life: str = "life-1") -> Call:
    return Call(1, node, prompt, life)


EXPECTED = Expected.of(
    [["decide"], ["retrieve"], ["generate"], ["answer_check", "hallucination_check"], ["generate"]],
    [
        [call("decide", "route")],
        [],
        [call("generate", "draft")],
        [call("answer_check", "use"), call("hallucination_check", "a"), call("hallucination_check", "b")],
        [call("generate", "mend")],
    ],
)


@pytest.mark.parametrize(
    ("made", "done", "violations"),
    [
        ([("decide", "route")], {}, []),
        ([("decide", "route"), ("decide", "route")], {}, ["decide made a call that is in no run without kills"]),
        ([("decide", "route")], {"decide": 1}, ["decide made a call that was paid for already"]),
        ([("generate", "mend")], {"decide": 1, "generate": 1}, []),
        ([("generate", "draft")], {"decide": 1, "generate": 1}, ["generate made a call that was paid for already"]),
        ([("hallucination_check", "a")], {"answer_check": 1}, []),
        ([("answer_check", "use")], {"answer_check": 1}, ["answer_check made a call that was paid for already"]),
        ([("select", "?")], {}, ["select made a call that is in no run without kills"]),
    ],
)
def test_a_call_belongs_to_an_unfinished_turn_or_is_a_violation(
    made: list[tuple[str, str]], done: dict[str, int], violations: list[str]
) -> None:
    assert EXPECTED.violations([call(*one) for one in made], done) == violations


def saved(path: list[str], pending: list[tuple[str, Any]]) -> Any:
    return SimpleNamespace(
        checkpoint={"channel_values": {"path": [{"node": node} for node in path]}},
        pending_writes=[("task", channel, value) for channel, value in pending],
    )


def test_a_node_is_finished_when_its_writes_are_on_the_disk() -> None:
    assert finished(None) == {}
    assert finished(saved(["decide", "generate", "generate"], [])) == {"decide": 1, "generate": 2}
    assert finished(saved([], [("path", Overwrite([{"node": "decide"}]))])) == {"decide": 1}
    pending = [("usage", {}), ("path", [{"node": "answer_check"}])]
    assert finished(saved(["decide"], pending)) == {"decide": 1, "answer_check": 1}
