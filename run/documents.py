"""The documents whose passages were judged relevant."""

from collections import Counter
from collections.abc import Sequence

from core.types import Passage
from prompts.grade_documents import RELEVANCE
from retrieval.near_duplicates import near_duplicates, word_counts
from run.state import SelfRAGState

MOST_PASSAGES = 50  # relevant ones, over all searches


def relevant_documents(state: SelfRAGState) -> list[list[Passage]]:
    """Return the relevant passages of all searches, a list for each document, the most relevant passage first in it."""
    verdicts = {key: verdict for key, verdict in state["verdicts"].items() if RELEVANCE.is_positive(verdict)}
    relevant = [one for one in state.get("found", state["passages"]) if one["id"] in verdicts]
    documents: dict[str, list[Passage]] = {}
    for passage in relevant[:MOST_PASSAGES]:
        documents.setdefault(document_of(passage), []).append(passage)
    return [sorted(one, key=lambda passage: -RELEVANCE.score(verdicts[passage["id"]])) for one in documents.values()]


def document_of(passage: Passage) -> str:
    """Return the key of the passage's document: its source, or without one the passage's own id."""
    return passage["source"] or passage["id"]


def without_copies(documents: Sequence[Sequence[Passage]]) -> list[list[Passage]]:
    """Leave out near-duplicates of a passage of an earlier document, and documents that are then empty."""
    seen: list[Counter[str]] = []
    kept: list[list[Passage]] = []
    for passages in documents:
        words = [word_counts(passage["text"]) for passage in passages]
        own = [i for i, one in enumerate(words) if not any(near_duplicates(one, other) for other in seen)]
        seen += [words[i] for i in own]
        kept += [[passages[i] for i in own]] if own else []
    return kept
