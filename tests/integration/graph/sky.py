"""A small world for the graph: one question, what is found for it, and the ways a critic may judge it."""

from __future__ import annotations

import json
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from app.result import result_of
from errors import ModelError
from graph.builder import build_graph
from graph.context import Context, Limits
from graph.state import SelfRAGState
from tests.scripted import ScriptedCritic, ScriptedGenerator, ScriptedRetriever, services

QUESTION = "Why is the sky blue?"
AIR = "Air scatters blue light more than red light."
SEA = "The sea looks blue because of the sky."
SALT = "Salt lowers the melting point of ice."
GOOD = "Air scatters blue light."
FULLER = "Air scatters blue light more than red light."
BAD = "Blue light is scattered by red air."
BROKEN = ModelError("The model is broken.")
USEFUL = {"usefulness": "5"}


def critic(script: dict[str, Any] | None = None, **otherwise: Any) -> ScriptedCritic:
    """Retrieves, finds ``AIR`` relevant and answers useful, unless told otherwise."""
    usual: dict[str, Any] = {
        "retrieve": "retrieve",
        "relevance": lambda text: "relevant" if text == AIR else "irrelevant",
    }
    return ScriptedCritic(script or {}, {**usual, "support": "fully supported", "usefulness": "5", **otherwise})


async def ask(
    generator: ScriptedGenerator,
    judge: ScriptedCritic | None = None,
    retriever: ScriptedRetriever | None = None,
    *,
    limits: Limits | None = None,
    question: str = QUESTION,
    **settings: Any,
) -> SelfRAGState:
    """The final state of a question, with what must hold of every run already looked at."""
    limits = limits or Limits()
    made = services(generator, judge or critic(), retriever or ScriptedRetriever(always=[AIR, SALT]), limits=limits)
    graph = build_graph(made)
    context = Context(**settings) if settings else None
    final = cast("SelfRAGState", await graph.ainvoke(cast("SelfRAGState", {"question": question}), context=context))
    look_at(final, limits, question, hard=settings.get("constraints") == "hard")
    return final


def look_at(final: SelfRAGState, limits: Limits, question: str, *, hard: bool = False) -> None:
    assert final["question"] == final["queries"][0] == question
    assert final["usage"]["model_calls"] <= limits.model_calls
    assert final["usage"]["input_tokens"] + final["usage"]["output_tokens"] <= limits.tokens
    assert len(final["queries"]) <= limits.rewrites + 1
    assert json.loads(json.dumps(final)) == final
    assert json.loads(json.dumps(result_of(final)))["outcome"] == final["outcome"]
    claims_no_more_than_the_verdicts(final, hard=hard)


def claims_no_more_than_the_verdicts(final: SelfRAGState, *, hard: bool = False) -> None:
    best, outcome = final["best"], final["outcome"]
    labels = [claim["verdict"]["label"] for claim in best["claims"]] if best else []
    if outcome == "grounded":
        assert labels
        assert set(labels) == {"fully supported"}
    if outcome == "partially_grounded":
        assert {"fully supported", "partially supported"} & set(labels)
        assert set(labels) != {"fully supported"}
        for label, mark in (("no support", "not supported"), ("partially supported", "only partly supported")):
            assert final["answer"].count(f"[{mark} by the documents]") == labels.count(label)
    if outcome == "direct":
        assert best is not None
        assert best["draft"]["passages"] == []
    if outcome in ("abstained", "stopped"):
        assert best is None or hard or not set(labels) & {"fully supported", "partially supported"}
        assert final["citations"] == []
    if hard:
        assert outcome != "partially_grounded"
        if outcome in ("grounded", "direct"):
            assert best is not None
            assert best["use"] is None or best["use"]["label"] not in ("1", "2")
    for citation in final["citations"]:
        assert citation["passage"][citation["start"] : citation["end"]] == citation["quote"]


def nodes_of(final: SelfRAGState) -> list[str]:
    return [step["node"] for step in final["path"]]


def thread(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}, "recursion_limit": 100}
