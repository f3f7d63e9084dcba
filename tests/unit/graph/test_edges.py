from typing import Any

import pytest

from core.types import Queried
from graph.edges import (
    after_decide,
    after_generate,
    after_grade_documents,
    after_query_table,
    after_retrieve,
    after_rewrite_query,
    after_select,
    before_decide,
)
from tests.scripted import candidate_of, draft, passage, state, turn, verdict

STOPPED = [{"reason": "limit_calls", "failure": None}]
BROKEN = [{"reason": "model_failed", "failure": "The key was refused."}]
FOUND = [passage("a")]
BEST = candidate_of(draft("It scatters.", ["Air scatters blue light."]))
TABLE, REST = {"source": "t.csv", "number": 0}, {"source": "t.csv", "number": 0, "is_best": False}
DRAFT, DECLINED = draft("It scatters."), draft("I don't know.", declined=True)
CHECKS = ["hallucination_check", "answer_check"]


@pytest.mark.parametrize(
    ("changes", "leads_to"),
    [
        ({}, "decide"),
        ({"conversation": [turn("Why is the sky blue?")]}, "contextualize"),
        ({"given_standalone": "Why is the sky blue?"}, "contextualize"),
    ],
)
def test_before_decide(changes: dict[str, Any], leads_to: str) -> None:
    assert before_decide(state(**changes)) == leads_to
    assert before_decide({"question": "And at night?", **changes}) == leads_to  # type: ignore[typeddict-item]


EDGES: dict[Any, list[tuple[dict[str, Any], Any]]] = {
    after_decide: [
        ({"route": "retrieve"}, "retrieve"),
        ({"route": "direct"}, "direct_generate"),
        ({"route": "retrieve", "stops": STOPPED}, "finish"),
        ({"route": "direct", "stops": STOPPED}, "finish"),
    ],
    after_retrieve: [
        ({}, "grade_documents"),
        ({"table": TABLE}, "query_table"),
        ({"table": REST}, "grade_documents"),
        ({"table": TABLE, "stops": STOPPED}, "grade_documents"),
    ],
    after_query_table: [
        ({"drafts": [DRAFT], "table": TABLE}, "select"),
        ({"drafts": [], "table": None}, "grade_documents"),
        ({"drafts": [], "table": TABLE}, "finish"),
        ({"drafts": [DRAFT], "stops": STOPPED}, "finish"),
    ],
    after_grade_documents: [
        ({"relevant": ["a"], "table": REST}, "generate"),
        ({"relevant": [], "rewrites_left": 1, "table": REST}, "query_table"),
        ({"relevant": [], "rewrites_left": 1, "table": REST, "stops": STOPPED}, "finish"),
        ({"relevant": ["a"]}, "generate"),
        ({"relevant": ["a"], "stops": STOPPED}, "generate"),
        ({"relevant": ["a"], "stops": BROKEN}, "finish"),
        ({"relevant": ["a"], "describes": "before a draft"}, "rewrite_query"),
        ({"relevant": ["a"], "describes": "after a draft"}, "generate"),
        ({"relevant": [], "rewrites_left": 0, "describes": "before a draft"}, "rewrite_query"),
        ({"relevant": ["a"], "describes": "before a draft", "stops": STOPPED}, "generate"),
        ({"relevant": [], "rewrites_left": 1, "stops": STOPPED}, "finish"),
        ({"relevant": [], "rewrites_left": 1}, "rewrite_query"),
        ({"relevant": [], "rewrites_left": 0}, "finish"),
        ({"relevant": [], "rewrites_left": 0, "fallback": "direct"}, "direct_generate"),
        ({"relevant": [], "rewrites_left": 0, "fallback": "direct", "best": BEST}, "finish"),
        ({"relevant": [], "rewrites_left": 1, "fallback": "passages", "passages": FOUND}, "rewrite_query"),
        ({"relevant": [], "rewrites_left": 0, "fallback": "passages", "passages": FOUND}, "generate"),
        ({"relevant": [], "rewrites_left": 0, "fallback": "passages", "passages": []}, "finish"),
        # the checkpoints of version 0.1
        ({"relevant": [], "rewrites_left": 0, "fallback": True}, "direct_generate"),
        ({"relevant": [], "rewrites_left": 0, "fallback": False}, "finish"),
    ],
    after_rewrite_query: [
        ({"queries": ["a", "b"], "searched": 1}, "retrieve"),
        ({"queries": ["a", "b"], "searched": 1, "stops": STOPPED}, "finish"),
        ({"queries": ["a", "b"], "searched": 1, "stops": BROKEN}, "finish"),
        ({"queries": ["a"], "searched": 1, "relevant": ["a"]}, "generate"),
        ({"queries": ["a"], "searched": 1, "relevant": ["a"], "stops": STOPPED}, "generate"),
        ({"queries": ["a"], "searched": 1, "relevant": ["a"], "stops": BROKEN}, "finish"),
        (
            {"queries": ["a"], "searched": 1, "relevant": ["a"], "drafted": [{"passages": ["a"], "text": "It is."}]},
            "finish",
        ),
        ({"queries": ["a"], "searched": 1}, "finish"),
        ({"queries": ["a"], "searched": 1, "fallback": "direct"}, "direct_generate"),
        ({"queries": ["a"], "searched": 1, "fallback": "direct", "stops": STOPPED}, "finish"),
        ({"queries": ["a"], "searched": 1, "fallback": "passages", "passages": FOUND}, "generate"),
    ],
    after_generate: [
        ({"drafts": [DRAFT]}, CHECKS),
        ({"drafts": [DECLINED]}, ["select"]),
        ({"drafts": [DECLINED, DRAFT]}, CHECKS),
        ({"drafts": []}, ["select"]),
        ({"drafts": [DRAFT], "stops": STOPPED}, CHECKS),
        ({"drafts": [DRAFT], "claims": [[]], "uses": [], "stops": STOPPED}, ["select"]),
        ({"drafts": [DRAFT], "claims": [], "uses": [verdict("5")], "stops": STOPPED}, ["select"]),
        ({"drafts": [DRAFT], "claims": [], "uses": [], "rates": False}, ["hallucination_check"]),
        ({"drafts": [DECLINED], "claims": [], "uses": [], "rates": False}, ["select"]),
    ],
    after_select: [
        ({"accepted": True, "drafts_left": 1, "rewrites_left": 1}, "finish"),
        ({"accepted": False, "drafts_left": 1, "rewrites_left": 1, "searched": 1}, "generate"),
        ({"accepted": False, "drafts_left": 0, "rewrites_left": 1, "searched": 1}, "rewrite_query"),
        ({"accepted": False, "drafts_left": 0, "rewrites_left": 0, "searched": 1}, "finish"),
        ({"accepted": False, "drafts_left": 1, "rewrites_left": 0, "searched": 0}, "retrieve"),
        ({"accepted": False, "drafts_left": 1, "rewrites_left": 1, "stops": STOPPED}, "finish"),
        ({"accepted": False, "drafts_left": 1, "rewrites_left": 1, "route": "direct"}, "finish"),
        ({"accepted": False, "drafts_left": 1, "rewrites_left": 1, "route": "fallback"}, "finish"),
    ],
}


@pytest.mark.parametrize(
    ("edge", "changes", "leads_to"), [(edge, *row) for edge, rows in EDGES.items() for row in rows]
)
def test_each_branch_of_an_edge(edge: Any, changes: dict[str, Any], leads_to: Any) -> None:
    assert edge(state(**changes)) == leads_to


TWO = [passage("The bridge was built in 1902.", source="a.txt"), passage("It dates from 1911.", source="b.txt")]
RELEVANT = {one["id"]: verdict("relevant") for one in TWO}


@pytest.mark.parametrize(
    ("changes", "leads_to"),
    [
        ({"accepted": True}, "compare_answers"),
        ({"accepted": False, "drafts_left": 0, "rewrites_left": 0}, "compare_answers"),
        ({"accepted": False, "drafts_left": 1}, "generate"),
        ({"accepted": True, "stops": STOPPED}, "finish"),
        ({"accepted": True, "route": "direct"}, "finish"),
        ({"accepted": True, "compares": False}, "finish"),
        ({"accepted": True, "queried": Queried(sql="", source="a", rows=2, carried_by=2)}, "finish"),
        ({"accepted": True, "verdicts": {TWO[0]["id"]: verdict("relevant")}}, "finish"),
        ({"accepted": True, "found": [TWO[0], {**TWO[1], "source": "a.txt"}]}, "finish"),
    ],
)
def test_an_answer_is_compared_if_passages_of_two_documents_are_relevant(
    changes: dict[str, Any], leads_to: str
) -> None:
    assert after_select(state(**{"found": TWO, "verdicts": RELEVANT, "searched": 1, **changes})) == leads_to


def test_a_checkpoint_of_an_older_version_is_not_compared() -> None:
    old = state(accepted=True, passages=TWO, verdicts=RELEVANT)
    for key in ("compares", "differing", "found", "conflicts"):
        old.pop(key)  # type: ignore[misc]
    assert after_select(old) == "finish"
