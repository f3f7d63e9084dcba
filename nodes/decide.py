"""Decide whether the question needs the documents (Retrieve)."""

import re
from typing import Any

from langgraph.runtime import Runtime

from core.passages import characters_of
from core.types import Verdict
from grounding.premises import brings_premises
from models.calibration import route_features
from nodes.concurrency import off_loop
from nodes.found_passages import as_passage
from nodes.reasons import MODES, of_route
from nodes.retrieve import searches_of
from prompts.decide import RETRIEVE
from prompts.delimiters import as_data
from run.context import Context, Services
from run.prefetch import PrefetchingRetriever
from run.state import SelfRAGState, is_joined, question_alone, standalone_question

FROM_DOCUMENTS = ("grounded", "partially_grounded")
LEANS = "It goes on from a question that the documents answered."
PREMISES = "It brings the premises that its answer follows from."
LONGEST_NEAR = 200  # characters of a question that the search alone may decide
# A message that contains the text to work on comes as near to a passage as a question that the passage answers.
TEXT_IN_IT = re.compile(r"""[:：\n"“”„«»「」『』]|(?<!\w)['‘].+['’](?!\w)""")
ASKS = re.compile(r"[?？]\W*$")
YOU = re.compile(
    r"\b(?:you\w*|du|dich|dir|dein\w*|sie|ihnen|tu|toi|te|vous|votre|vos|tú|ti|usted\w*)\b|[你您]", re.IGNORECASE
)
SMALL_TALK = 6  # most words of a question that may be small talk without a "you", such as "How is it going?"
# Why a question cannot be what the critic took it for.
RULED_OUT = {
    "edit": "It is a question, with no text in it to edit.",
    "chat": "It is a question, not addressed to the assistant.",
}


async def decide(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Choose the route; for a long answer, also report its length and limits."""
    update = await _choose_route(state, services, runtime.context)
    if state.get("length") == "long" and update["route"] == "retrieve":
        within = runtime.context.effective_limits.model_dump(include={"model_calls", "tokens", "seconds"})
        update["decided"] |= {"length": "long", "limits": within}
    return update


async def _choose_route(state: SelfRAGState, services: Services, context: Context) -> dict[str, Any]:
    """Choose the route: by the critic in mode ``adaptive``, else as the mode says. Prefetch the search meanwhile.

    A follow-up to an answer from documents is *retrieve* without the critic, which would take "With what?" for small
    talk. A question that states its own premises is *direct*, whatever the documents hold. A short question whose
    cosine with a passage reaches the threshold ``near`` is *retrieve*. If the critic takes a question for small talk or
    a request to edit a text, and its words rule this out, it is *retrieve*. Where a regression was fitted, the
    similarity of the passages found shifts the critic's verdict. If the shift turns *direct* into *retrieve*, a direct
    answer is the fallback.
    """
    ahead = services.retriever if isinstance(services.retriever, PrefetchingRetriever) else None  # as in the graph
    if ahead and context.mode != "never":
        for search in searches_of(state, context.k):
            ahead.prefetch(search.query, search.k, context.filter)
    if context.mode != "adaptive":
        route = "direct" if context.mode == "never" else "retrieve"
        reason = {"reason": MODES[context.mode]} if context.explain else {}
        return {"route": route, "decided": {"route": route, "mode": context.mode, **reason}}
    if is_joined(state) and state["conversation"] and state["conversation"][-1]["outcome"] in FROM_DOCUMENTS:
        return _decided(Verdict(label="retrieve", probabilities=None, reason=LEANS))
    said = question_alone(state)  # earlier questions come near to the documents whatever is asked now
    if await off_loop(len(said), brings_premises, said):
        return _decided(Verdict(label="direct", probabilities=None, reason=PREMISES))
    features = await _search_features(state, services, ahead, context)
    short = len(said) <= LONGEST_NEAR and not TEXT_IN_IT.search(said)
    if features and short and features["similarity"] >= context.effective_thresholds.near:
        near = f"A passage comes near to the question: cosine {features['similarity']:.2f}."
        return _decided(Verdict(label="retrieve", probabilities=None, reason=near))
    asked = await services.critic.choose(RETRIEVE, question=as_data(standalone_question(state)))
    if not state["conversation"] and (why := _ruled_out(asked.get("reply"), said)):
        return _decided(Verdict(label="retrieve", probabilities=None, reason=why))
    threshold = context.effective_thresholds.retrieve
    chosen = services.fits.routed(asked, features)
    verdict = RETRIEVE.apply_threshold(chosen, threshold)
    if context.explain:
        verdict = of_route(chosen, verdict, threshold)
    update = _decided(verdict)
    first = RETRIEVE.leaning(RETRIEVE.apply_threshold(asked, threshold))
    if context.fallback == "abstain" and (first, update["route"]) == ("direct", "retrieve"):
        update["fallback"] = "direct"
    return update


def _ruled_out(reply: str | None, question: str) -> str | None:
    """Return why the question cannot be what the critic took it for; None if it can."""
    if reply not in RULED_OUT or not ASKS.search(question):
        return None
    if reply == "edit":
        possible = TEXT_IN_IT.search(question) is not None
    else:
        possible = YOU.search(question) is not None or len(question.split()) <= SMALL_TALK
    return None if possible else RULED_OUT[reply]


def _decided(verdict: Verdict) -> dict[str, Any]:
    route = RETRIEVE.leaning(verdict)
    return {"decision": verdict, "route": route, "decided": {"route": route, "verdict": verdict}}


async def _search_features(
    state: SelfRAGState, services: Services, ahead: PrefetchingRetriever | None, context: Context
) -> dict[str, float] | None:
    """Return the features of the prefetched search; None if there is none, if it failed, or if nothing uses them."""
    if ahead is None or (services.fits.route is None and context.effective_thresholds.near > 1):
        return None
    search = searches_of(state, context.k)[0]
    found = await ahead.prefetched(search.query, search.k, context.filter)
    passages = [as_passage(document) for document in (found or ())[: context.k]]
    return await off_loop(characters_of(passages), route_features, question_alone(state), passages)
