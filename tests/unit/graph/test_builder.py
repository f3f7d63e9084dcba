from typing import get_args

from core.types import Outcome, StopReason
from graph.builder import build_graph
from nodes.finish import sentence
from run.context import MOST_STEPS
from tests.scripted import services


def test_a_reason_why_there_is_no_answer_has_a_sentence() -> None:
    worded: set[str] = set()
    for reason in get_args(StopReason):
        for outcome in ("abstained", "stopped"):
            try:
                assert "Why?" in sentence("Why?", outcome, reason)
            except KeyError:
                continue
            worded.add(reason)
    assert set(get_args(StopReason)) - worded == {"accepted", "not_needed", "mode_never"}
    assert set(get_args(Outcome)) == {"grounded", "partially_grounded", "abstained", "direct", "stopped"}


def test_the_recursion_limit_is_more_than_any_limits_allow() -> None:
    config = build_graph(services()).config
    assert config is not None
    assert config["recursion_limit"] == MOST_STEPS
