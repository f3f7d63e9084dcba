"""What must hold of every finished question, whatever its models said or did: worked out from its state alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

from app.result import result_of
from core.types import Candidate
from graph.context import Limits
from graph.state import SelfRAGState

HELD = frozenset({"fully supported", "partially supported"})
MARKS = {
    "partially supported": "[only partly supported by the documents]",
    "no support": "[not supported by the documents]",
    "unknown": "[not checked against the documents]",
}


def violations(final: SelfRAGState, limits: Limits, question: str, *, hard: bool = False) -> list[str]:
    """Each thing that does not hold, in a sentence; ``hard`` are the constraints."""
    return [*_of_the_run(final, limits, question), *_of_the_outcome(final, hard), *_of_the_answer(final)]


def _of_the_run(final: SelfRAGState, limits: Limits, question: str) -> Iterator[str]:
    usage, nodes = final["usage"], [step["node"] for step in final["path"]]
    steps = len(nodes) - nodes.count("hallucination_check")  # which runs beside answer_check
    if final["question"] != question or final["queries"][0] != question.strip():
        yield "the question was rewritten"
    if usage["model_calls"] > limits.model_calls:
        yield f"{usage['model_calls']} calls were made of {limits.model_calls}"
    if usage["input_tokens"] + usage["output_tokens"] > limits.tokens:
        yield f"{usage['input_tokens'] + usage['output_tokens']} tokens were spent of {limits.tokens}"
    if min(usage["input_tokens"], usage["cached_input_tokens"], usage["output_tokens"]) < 0:
        yield f"usage is negative: {usage}"
    if len(final["queries"]) > limits.rewrites + 1 or steps > limits.steps:
        yield f"a loop was not bounded: {len(final['queries'])} queries, {steps} steps"
    if len({query.casefold() for query in final["queries"]}) < len(final["queries"]):
        yield "a query was searched for twice"
    if nodes[-1:] != ["finish"] or nodes.count("finish") != 1:
        yield f"the run did not finish once: {nodes}"
    if (
        json.loads(json.dumps(final)) != final
        or json.loads(json.dumps(result_of(final)))["outcome"] != final["outcome"]
    ):
        yield "the state or the result is not serialisable"


def _of_the_outcome(final: SelfRAGState, hard: bool) -> Iterator[str]:
    outcome, reasons = deserved(final, hard)
    if final["outcome"] != outcome:
        yield f"{final['outcome']} is claimed where the verdicts give {outcome}"
    elif final["stop_reason"] not in reasons:
        yield f"{final['stop_reason']} is given for {outcome} where it is one of {sorted(reasons)}"


def deserved(final: SelfRAGState, hard: bool) -> tuple[str, set[str]]:
    """The outcome that follows from the recorded verdicts, and the reasons that may be given with it."""
    best = final["best"]
    stop = {final["stops"][0]["reason"]} if final["stops"] else set()
    if best is None:
        return ("stopped", {*stop}) if stop else ("abstained", {"nothing_relevant"})
    labels = [claim["verdict"]["label"] for claim in best["claims"]]
    poor = best["use"] is not None and best["use"]["label"] in ("1", "2")
    if best["draft"]["declined"]:
        return "abstained", {*stop} or {"declined"}
    if not best["draft"]["passages"]:
        if hard and poor:
            return "abstained", {*stop} or {"not_useful"}
        return "direct", {*stop} or {"not_needed", "mode_never", "fallback"}
    if labels and set(labels) == {"fully supported"}:
        if hard and poor:
            return "abstained", {*stop} or {"not_useful"}
        return "grounded", {*stop} or ({"not_useful"} if poor else {"accepted"})
    if HELD & set(labels) and not hard:
        return "partially_grounded", {*stop} or {"claims_unsupported"}
    return "abstained", {*stop} or {"claims_unsupported"}


def _of_the_answer(final: SelfRAGState) -> Iterator[str]:
    best, answer = final["best"], final["answer"]
    if final["outcome"] in ("abstained", "stopped"):
        if final["citations"]:
            yield "what is no answer cites"
        if best and len(best["draft"]["text"]) > 20 and best["draft"]["text"] in answer.replace(final["question"], ""):
            yield "a draft stands in what is no answer"
    if final["outcome"] == "direct" and (final["citations"] or (best and best["claims"])):
        yield "an answer without documents cites"
    if best and final["outcome"] in ("grounded", "partially_grounded"):
        yield from _of_the_claims(final, best)


def _of_the_claims(final: SelfRAGState, best: Candidate) -> Iterator[str]:
    texts = {passage["id"]: passage["text"] for passage in best["draft"]["passages"]}
    labels = [claim["verdict"]["label"] for claim in best["claims"]]
    for label, mark in MARKS.items():
        if final["answer"].count(mark) != labels.count(label):
            yield f"{labels.count(label)} claims are {label} and {final['answer'].count(mark)} are marked so"
    cited = {(one["passage"], one["start"], one["end"]) for one in final["citations"]}
    for claim in best["claims"]:
        quote = claim["quote"]
        if claim["verdict"]["label"] in HELD and quote is None:
            yield f"a claim holds without a quote: {claim['text']}"
        if quote and claim["verdict"]["label"] in HELD:
            cited.discard((texts.get(quote["passage"], ""), quote["start"], quote["end"]))
    if cited:
        yield f"what is cited carries no claim: {sorted(cited)}"
    for one in final["citations"]:
        if one["passage"][one["start"] : one["end"]] != one["quote"] or one["passage"] not in texts.values():
            yield f"a quote is not verbatim: {one['quote']}"
    if any(later["id"] != earlier["id"] + 1 for earlier, later in pairwise(final["citations"])):
        yield "citations are not numbered"
