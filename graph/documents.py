"""The documents whose passages were judged relevant, near-duplicates counting once."""

from __future__ import annotations

from collections import Counter

from core.types import Passage
from graph.state import SelfRAGState
from prompts.grade_documents import RELEVANCE
from retrieval.near_duplicates import near_duplicates, words_of


def relevant_documents(state: SelfRAGState) -> list[list[Passage]]:
    """Return the relevant passages of all searches by document, in the order found, the most relevant one first."""
    verdicts = state["verdicts"]
    documents: dict[str, list[Passage]] = {}
    seen: list[Counter[str]] = []
    for passage in state.get("found", state["passages"]):
        verdict = verdicts.get(passage["id"])
        if verdict is None or RELEVANCE.leaning(verdict) != "relevant":
            continue
        words = words_of(passage["text"])
        if not any(near_duplicates(words, other) for other in seen):
            seen.append(words)
            documents.setdefault(passage["source"] or passage["id"], []).append(passage)
    return [sorted(one, key=lambda passage: -RELEVANCE.score(verdicts[passage["id"]])) for one in documents.values()]
