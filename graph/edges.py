"""Where each node leads: pure functions of the state, with every destination named."""

from collections.abc import Mapping
from typing import Literal

from core.types import Next
from run.candidates import failure_of
from run.documents import relevant_documents
from run.state import SelfRAGState, in_segments

# What follows a segment of a long answer: the next from other passages, from another search, or the end.
AFTER_SEGMENT: Mapping[Next, Literal["generate", "rewrite_query", "finish"]] = {
    "continue": "generate",
    "retrieve": "rewrite_query",
    "end": "finish",
}


def before_decide(state: SelfRAGState) -> Literal["contextualize", "decide"]:
    """Begin with `contextualize` if the question follows others, or a person corrected its meaning."""
    follows = state.get("conversation") or state.get("given_standalone") is not None
    return "contextualize" if follows else "decide"


def after_decide(state: SelfRAGState) -> Literal["retrieve", "direct_generate", "finish"]:
    """Search, unless the question needs no documents."""
    if state["stops"]:
        return "finish"
    return "direct_generate" if state["route"] == "direct" else "retrieve"


def after_retrieve(state: SelfRAGState) -> Literal["query_table", "grade_documents"]:
    """Query a table if the best passage, or half of all, are rows of it, since a search finds only some of the rows."""
    table = state.get("table")
    return "query_table" if table and table.get("is_best", True) and not state["stops"] else "grade_documents"


def after_query_table(state: SelfRAGState) -> Literal["select", "grade_documents", "finish"]:
    """Take the query's result; without one, grade the passages, unless only the table can answer the question."""
    if state["stops"]:
        return "finish"
    if state["drafts"]:
        return "select"
    return "grade_documents" if state["table"] is None else "finish"


def after_grade_documents(
    state: SelfRAGState,
) -> Literal["generate", "query_table", "rewrite_query", "direct_generate", "finish"]:
    """Draft from relevant passages. Without any, query a table that was found, else search again, else fall back.

    If the question may only describe its subject, and no passage is likely to answer, the subject is looked up first.
    The run ends if the model failed, or if a limit is reached before a passage is relevant.
    """
    if _model_failed(state):
        return "finish"
    if state.get("describes") == "before a draft" and not state["stops"]:
        return "rewrite_query"
    if state["relevant"]:
        return "generate"  # also when a limit ended the grading, which reserved the draft's call
    if state["stops"]:
        return "finish"
    if state.get("table"):
        return "query_table"
    return "rewrite_query" if state["rewrites_left"] > 0 else _fall_back(state)


def after_rewrite_query(state: SelfRAGState) -> Literal["retrieve", "generate", "direct_generate", "finish"]:
    """Search with the new query. Without one, draft from relevant passages if there is no draft yet, else fall back."""
    if _model_failed(state):
        return "finish"
    if len(state["queries"]) > state["searched"] and not state["stops"]:
        return "retrieve"
    if state["relevant"] and not state["drafted"]:
        return "generate"
    return "finish" if state["stops"] else _fall_back(state)


def after_generate(state: SelfRAGState) -> list[Literal["hallucination_check", "answer_check", "select"]]:
    """Check support and usefulness concurrently; skip both if there is no new draft, or all drafts decline."""
    unchecked = not state["claims"] and not state["uses"]
    if not unchecked or all(draft["declined"] for draft in state["drafts"]):
        return ["select"]
    return ["hallucination_check", "answer_check"] if state.get("rates", True) else ["hallucination_check"]


def after_select(state: SelfRAGState) -> Literal["retrieve", "generate", "rewrite_query", "compare_answers", "finish"]:
    """While no answer is accepted, redraft, then search again. In the end compare documents if several are relevant.

    The result of a query is compared with nothing, as it rests on all rows of a table. If a direct answer was not
    accepted, search for the first time. A long answer goes on with its next segment.
    """
    if state["stops"] or state["route"] != "retrieve":
        return "finish"
    if in_segments(state):
        return AFTER_SEGMENT[state["onward"]]
    if not state["accepted"] and not state["searched"]:
        return "retrieve"
    if not state["accepted"] and state["drafts_left"] > 0:
        return "generate"
    if not state["accepted"] and state["rewrites_left"] > 0:
        return "rewrite_query"
    comparable = state.get("compares") and not state.get("queried") and len(relevant_documents(state)) > 1
    return "compare_answers" if comparable else "finish"


def _model_failed(state: SelfRAGState) -> bool:
    return any(stop["reason"] == "model_failed" for stop in state["stops"])


def _fall_back(state: SelfRAGState) -> Literal["generate", "direct_generate", "finish"]:
    if state["best"] is not None:
        return "finish"
    if state["fallback"] == "passages":
        return "generate" if state["passages"] else "finish"
    # Where the model failed at a verdict, the documents may answer after all.
    return "direct_generate" if state["fallback"] in ("direct", True) and not failure_of(state) else "finish"
