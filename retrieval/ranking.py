"""Rank passages by words and by meaning, and fuse the two."""

import re
import sqlite3
from collections.abc import Mapping, Sequence

from retrieval.clean import clean

_TERMS = 64  # of a question: more of them make a query that takes long and finds everything
_COMMON = """
a about after all also am an and any are as at be because been before being between both but by can
could did do does doing during each few for from further had has have having he her here hers him his
how i if in into is it its itself just me more most my no nor not of off on once only or other our out
over own same she should so some such than that the their them then there these they this those
through to too under until up us very was we were what when where which while who whom why will with
would you your explain describe tell
"""
_STOP_WORDS = frozenset(_COMMON.split())


def fts_query(question: str) -> str:
    """Write a question as an FTS5 query: its terms, any of them, each quoted so that none is syntax.

    English stop words are left out when other terms remain; 'US', 'IT' and 'WHO' are none. Empty
    when there is no term at all.
    """
    words = list(dict.fromkeys(re.findall(r"\w+", clean(question))))
    shouted = question.isupper()
    telling = [word for word in words if word.lower() not in _STOP_WORDS or _is_acronym(word, shouted)]
    terms = dict.fromkeys(word.lower() for word in telling or words)
    return " OR ".join(f'"{term}"' for term in list(terms)[:_TERMS])


def _is_acronym(word: str, shouted: bool) -> bool:
    return word.isupper() and len(word) > 1 and not shouted


def search_words(connection: sqlite3.Connection, question: str, count: int) -> list[tuple[int, float]]:
    """Return the ``count`` best passages by BM25 as (id, score), the best first."""
    query = fts_query(question)
    if not query:
        return []
    rows = connection.execute(
        "SELECT rowid, -rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (query, count)
    )
    return list(rows)


def fuse(similarities: Mapping[int, float], words: Mapping[int, float]) -> dict[int, float]:
    """Return half the one score and half the other, each brought to 0 to 1 over all candidates.

    A passage that no term was found in has the BM25 score 0; every candidate has a similarity.
    """
    by_meaning = _normalised(similarities)
    by_words = _normalised({id_: words.get(id_, 0.0) for id_ in similarities})
    return {id_: (by_meaning[id_] + by_words[id_]) / 2 for id_ in similarities}


def distinct(ranked: Sequence[tuple[int, float]], texts: Mapping[int, str]) -> list[tuple[int, float]]:
    """Keep the best of passages with the same text, white space and case aside."""
    seen = set()
    kept = []
    for id_, score in ranked:
        text = " ".join(texts[id_].casefold().split())
        if text not in seen:
            seen.add(text)
            kept.append((id_, score))
    return kept


def _normalised(scores: Mapping[int, float]) -> dict[int, float]:
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0 if high > 0 else 0.0)
    return {id_: (score - low) / (high - low) for id_, score in scores.items()}
