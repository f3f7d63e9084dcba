"""Self-RAG as a system under evaluation: the graph, and its final state as a record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from core.fingerprint import fingerprint
from core.types import UNKNOWN, Candidate, Passage, Verdict
from evaluation.records import Cited, ClaimRecord, Cost, Disagreement, Example, Record, Seen, seen_of
from graph.builder import SelfRAGGraph, build_graph
from prompts.choice import Choice
from prompts.decide import RETRIEVE
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from run.candidates import ANSWERED, confidence
from run.context import Context, Services
from run.state import SelfRAGState

CODE = ("core", "prompts", "nodes", "grounding", "graph", "run", "models", "retrieval", "evaluation/self_rag.py")


@dataclass
class SelfRAGSystem:
    """The graph with the settings of one context."""

    name: str
    fingerprint: str
    graph: SelfRAGGraph
    context: Context

    async def ask(self, example: Example) -> Record:
        """Run the graph on one question. Raises what the graph raises, for example for a question that is too long."""
        searches: list[list[Passage]] = []
        final: SelfRAGState | None = None
        stream = self.graph.astream(
            {"question": example.question}, context=self.context, stream_mode=["updates", "values"]
        )
        async for mode, chunk in stream:
            if mode == "values":
                final = cast("SelfRAGState", chunk)
            else:
                found = cast("dict[str, Any]", chunk).get("retrieve", {}).get("passages")
                searches += [found] if found is not None else []
        if final is None:
            raise RuntimeError("the graph ended without a state")
        return record_of(self.name, example, final, searches)


def self_rag_system(services: Services, context: Context, name: str = "self-rag") -> SelfRAGSystem:
    """Return Self-RAG over ``services``, which supply the defaults for what ``context`` leaves out."""
    context = services.completed(context)
    own = fingerprint(name, context.model_dump(mode="json"), CODE)
    return SelfRAGSystem(name, own, build_graph(services), context)


def record_of(name: str, example: Example, state: SelfRAGState, searches: Sequence[Sequence[Passage]]) -> Record:
    """Return the record of a finished run; ``searches`` has the passages that each of its searches found.

    ``seen`` in the record has the passages of the first search, each later search's are in its step of the path.
    ``route`` is what `decide` chose first. For an abstention, ``read`` and ``said`` are those of the withheld draft.
    """
    best = state["best"]
    answered = state["outcome"] in ANSWERED
    failure = next((stop["failure"] for stop in state["stops"] if stop["reason"] == "model_failed"), None)
    return Record(
        system=name,
        example=example.id,
        question=example.question,
        route=next((step["decided"].get("route") for step in state["path"] if step["node"] == "decide"), None),
        route_score=_score(RETRIEVE, state["decision"]),
        outcome=state["outcome"] or "stopped",
        stop_reason="model_failed" if failure else state["stop_reason"],
        answer=state["answer"] if answered else "",
        confidence=confidence_of(state),
        queries=state["queries"],
        seen=_seen([passage for one in searches[:1] for passage in one], state["verdicts"]),
        read=_seen(best["draft"]["passages"] if best else [], state["verdicts"]),
        said=_claim_records(best) if best else [],
        citations=[cast("Cited", dict(citation)) for citation in state["citations"]],
        conflicts=[
            Disagreement(
                answer=conflict["answer"],
                sources=[one["source"] for one in state["citations"] if one["id"] in conflict["citations"]],
            )
            for conflict in state.get("conflicts", [])
        ],
        usefulness=best["usefulness"] if best and best["use"] else None,
        cost=Cost(**state["usage"], seconds=state["seconds"]),
        decisions=_decisions(state, searches),
        error=failure,
    )


def confidence_of(state: SelfRAGState) -> float:
    """Return the answer's confidence in 0..1; 1 - P(retrieve) if it has no passages, 0 if there is no answer."""
    best = state["best"]
    if best is None or state["outcome"] not in ANSWERED:
        return 0.0
    if not best["draft"]["passages"]:
        return 1.0 - RETRIEVE.score(state["decision"]) if state["decision"] else 1.0
    known = confidence(best)
    return best["support"] if known is None else known


def _decisions(state: SelfRAGState, searches: Sequence[Sequence[Passage]]) -> list[dict[str, Any]]:
    decisions = [{"node": step["node"], "seconds": step["seconds"], **step["decided"]} for step in state["path"]]
    retrieved = [decision for decision in decisions if decision["node"] == "retrieve"]
    for decision, found in list(zip(retrieved, searches, strict=False))[1:]:
        decision["passages"] = [passage["text"] for passage in found]
    return decisions


def _score(choice: Choice, verdict: Verdict | None) -> float | None:
    return None if verdict is None or verdict["label"] == UNKNOWN else choice.score(verdict)


def _seen(passages: Sequence[Passage], verdicts: Mapping[str, Verdict]) -> list[Seen]:
    graded = [(passage, verdicts.get(passage["id"])) for passage in passages]
    return [
        seen_of(passage, _score(RELEVANCE, one), None if one is None else RELEVANCE.is_positive(one))
        for passage, one in graded
    ]


def _claim_records(best: Candidate) -> list[ClaimRecord]:
    texts = {passage["id"]: passage["text"] for passage in best["draft"]["passages"]}
    return [
        ClaimRecord(
            text=claim["text"],
            label=claim["verdict"]["label"],
            score=_score(SUPPORT, claim["verdict"]),
            quote=texts[quote["passage"]][quote["start"] : quote["end"]] if quote else None,
        )
        for claim in best["claims"]
        for quote in [claim["quote"]]
    ]
