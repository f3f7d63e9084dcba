"""The compiled graph is the one that the design draws, and its types are complete."""

from typing import Any, get_args, get_type_hints

import pytest

from core.types import Outcome, StopReason
from graph import edges
from graph.builder import build_graph
from nodes.finish import sentence
from run.context import MOST_STEPS
from run.state import SelfRAGState
from tests.scripted import services

DRAWN = {
    ("__start__", "contextualize"),
    ("__start__", "decide"),
    ("contextualize", "decide"),
    ("decide", "retrieve"),
    ("decide", "direct_generate"),
    ("decide", "finish"),
    ("retrieve", "grade_documents"),
    ("retrieve", "query_table"),
    ("query_table", "select"),
    ("query_table", "grade_documents"),
    ("query_table", "finish"),
    ("grade_documents", "generate"),
    ("grade_documents", "rewrite_query"),
    ("grade_documents", "direct_generate"),
    ("grade_documents", "finish"),
    ("rewrite_query", "retrieve"),
    ("rewrite_query", "generate"),
    ("rewrite_query", "direct_generate"),
    ("rewrite_query", "finish"),
    ("generate", "hallucination_check"),
    ("generate", "answer_check"),
    ("generate", "select"),
    ("hallucination_check", "select"),
    ("answer_check", "select"),
    ("select", "generate"),
    ("select", "rewrite_query"),
    ("select", "retrieve"),
    ("select", "finish"),
    ("select", "compare_answers"),
    ("compare_answers", "finish"),
    ("direct_generate", "answer_check"),
    ("finish", "__end__"),
}


def test_its_edges_are_those_of_the_design() -> None:
    drawn = build_graph(services()).get_graph()
    assert {(edge.source, edge.target) for edge in drawn.edges} == DRAWN


@pytest.mark.parametrize(
    ("edge", "source"),
    [
        (edges.before_decide, "__start__"),
        (edges.after_decide, "decide"),
        (edges.after_retrieve, "retrieve"),
        (edges.after_query_table, "query_table"),
        (edges.after_grade_documents, "grade_documents"),
        (edges.after_rewrite_query, "rewrite_query"),
        (edges.after_generate, "generate"),
        (edges.after_select, "select"),
    ],
)
def test_every_destination_that_an_edge_may_return_is_in_its_path_map(edge: Any, source: str) -> None:
    returned = get_type_hints(edge)["return"]
    names = {name for one in get_args(returned) for name in (get_args(one) or (one,))}
    assert names == {target for start, target in DRAWN if start == source}


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


def test_state_has_no_untyped_part() -> None:
    assert get_type_hints(SelfRAGState).keys() == SelfRAGState.__annotations__.keys()
