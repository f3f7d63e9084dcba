"""Rank the passages that a store finds by words and by vectors."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Protocol

from langchain_core.documents import Document

from core.passages import section_of
from grounding.stems import stemmed
from retrieval.near_duplicates import near_duplicates, word_counts
from retrieval.store import Search

_CANDIDATES = 50  # from each of the two searches
Found = tuple[Document, float]  # a passage with the score that it is ranked by


class Candidates(Protocol):
    """The passages that a store's searches find for one question, in one snapshot."""

    def near(self, count: int) -> list[int]:
        """Return the ids of the ``count`` passages with the greatest cosine, best first."""

    def by_words(self, count: int) -> list[tuple[int, float]]:
        """Return the ``count`` best passages by BM25 as (id, score), best first."""

    def passages(self, ids: Sequence[int]) -> dict[int, Document]:
        """Return passages by id."""

    def similarities(self, ids: Sequence[int]) -> dict[int, float]:
        """Return the cosine of each passage with the question, also of those that were found by words."""


def best_passages(candidates: Candidates, question: str, k: int, search: Search) -> list[Found]:
    """Return the ``k`` best distinct passages with the score that they are ranked by.

    More candidates are fetched until ``k`` of them are distinct or there are no more.
    """
    count = max(_CANDIDATES, 4 * k)
    while True:
        near = [] if search == "bm25" else candidates.near(count)
        scored = [] if search == "vectors" else candidates.by_words(count)
        passages = candidates.passages(list(dict.fromkeys([*near, *(id_ for id_, _ in scored)])))
        similarities = candidates.similarities(list(passages))
        words = dict(scored)
        scores = {"vectors": similarities, "bm25": words}.get(search) or fuse(similarities, words)
        if search == "hybrid":
            shares = section_shares(question, passages)
            scores = {id_: score + shares.get(id_, 0.0) / 2 for id_, score in scores.items()}
        ranked = sorted(((id_, scores[id_]) for id_ in passages), key=lambda pair: (-pair[1], pair[0]))
        texts = {id_: f"{section_of(passage.metadata)}\n{passage.page_content}" for id_, passage in passages.items()}
        best = distinct(ranked, texts, k)
        if len(best) == k or max(len(near), len(scored)) < count:
            break
        count *= 4
    for id_, score in best:
        passages[id_].metadata.update(id=passages[id_].id, score=score, similarity=similarities[id_])
    return [(passages[id_], score) for id_, score in best]


def alternately(first: Sequence[Found], second: Sequence[Found]) -> list[Found]:
    """Return what two searches found, by turns, each passage once."""
    return list({one[0].id: one for one in chain.from_iterable(zip_longest(first, second)) if one}.values())


def section_shares(question: str, passages: Mapping[int, Document]) -> dict[int, float]:
    """Return for each passage the share, 0 to 1, of the question's words that its title and headings have.

    The text of a passage, and so its vector, may lack these words. A word counts by its inverse frequency among the
    passages: a word in all of them tells nothing. The result is empty if no passage has a title or heading.
    """
    sections = {id_: stemmed(section) for id_, passage in passages.items() if (section := section_of(passage.metadata))}
    if not sections:
        return {}
    asked, nothing = stemmed(question), frozenset[str]()
    counts = Counter(
        word
        for id_, passage in passages.items()
        for word in asked & (stemmed(passage.page_content) | sections.get(id_, nothing))
    )
    weights = {word: math.log((len(passages) + 1) / (count + 0.5)) for word, count in counts.items()}
    total = sum(weights.values())
    return {
        id_: sum(weights.get(word, 0.0) for word in asked & words) / total for id_, words in sections.items() if total
    }


def fuse(similarities: Mapping[int, float], words: Mapping[int, float]) -> dict[int, float]:
    """Return the mean of cosine similarity and BM25 score (``words``), each normalised to 0 to 1 over all candidates.

    A passage without any of the terms has the BM25 score 0; every candidate has a similarity.
    """
    by_vector = _normalised(similarities)
    by_keyword = _normalised({id_: words.get(id_, 0.0) for id_ in similarities})
    return {id_: (by_vector[id_] + by_keyword[id_]) / 2 for id_ in similarities}


def distinct(ranked: Sequence[tuple[int, float]], texts: Mapping[int, str], most: int) -> list[tuple[int, float]]:
    """Return up to ``most`` of the best passages, without near-duplicates of a better passage."""
    seen: list[Counter[str]] = []
    kept: list[tuple[int, float]] = []
    for id_, score in ranked:
        words = word_counts(texts[id_])
        if not any(near_duplicates(words, other) for other in seen):
            seen.append(words)
            kept.append((id_, score))
            if len(kept) == most:
                break
    return kept


def _normalised(scores: Mapping[int, float]) -> dict[int, float]:
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0 if high > 0 else 0.0)
    return {id_: (score - low) / (high - low) for id_, score in scores.items()}
