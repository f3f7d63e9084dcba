"""Keyword search: BM25 with SQLite's FTS5, in bounded time however many passages there are."""

import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from core.words import CJK
from retrieval.index.faiss_index import Ids
from retrieval.index.schema import WORDS
from retrieval.question_terms import WEIGHTS, idf, terms_of

# FTS5 takes 2 microseconds to rank a match, and 0.1 to list its id. So where the terms of a question occur in many
# passages, only the matches of the rarest terms are listed; the best of these by rare terms are ranked by all terms.
_RANKED = 10_000  # occurrences of a question's terms up to which FTS5 ranks them all
_LISTED = 50_000  # matches of the rarest terms that are listed beyond that
_CANDIDATES = 1_000  # of these are ranked by all terms
# If only some passages are allowed:
_RARE = 10  # as many matches are listed as one in so many of these passages
_BLOCKS, _BLOCK = 64, 16  # number and size of the blocks, evenly spread over them, in which terms are counted
_ENOUGH = 100  # candidates up to which common terms are listed too, if few passages are allowed
_MATCHES = "SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?"
_BM25 = f"bm25({', '.join(map(str, WEIGHTS))})"
_COLUMNS = "text, title, heading, pairs"


def fts_terms(question: str) -> list[str]:
    """Return the terms of a question (see `terms_of`), quoted so that FTS5 takes none as syntax.

    A single Chinese, Japanese or Korean character matches the pairs of characters that it begins.
    """
    return [f'"{term}"*' if len(term) == 1 and CJK.match(term) else f'"{term}"' for term in terms_of(question)]


def search_keywords(
    connection: sqlite3.Connection,
    question: str,
    count: int,
    passages: int,
    only: Ids | None = None,
) -> list[tuple[int, float]]:
    """Return the ``count`` best passages by BM25 as (id, score), best first; ``passages`` is their number in the index.

    ``only`` are the allowed ids, sorted; terms are counted in these passages alone, else the order would reveal how
    often hidden ones have a word. Where the terms occur more than 10,000 times, only 1,000 candidates are ranked.
    """
    terms = fts_terms(question)
    if not terms:
        return []
    if only is not None:
        return _rank_among(connection, terms, only)[:count]
    query = " OR ".join(terms)
    if passages * len(terms) <= _RANKED:
        return _rank_all(connection, query, count)
    count_matches = "SELECT count(*) FROM words WHERE words MATCH ?"
    occurrences = [(int(connection.execute(count_matches, (term,)).fetchone()[0]), term) for term in terms]
    if sum(number for number, _ in occurrences) <= _RANKED:
        return _rank_all(connection, query, count)
    known = sorted((number, term) for number, term in occurrences if number)
    weights = {term: idf(number, passages) for number, term in known}
    candidates = _candidates(connection, known, weights)
    return _rank_candidates(connection, candidates, weights)[:count]


def _rank_among(connection: sqlite3.Connection, terms: Sequence[str], only: Ids) -> list[tuple[int, float]]:
    """Rank the passages ``only``; of many, rank those with rare terms, and count frequent terms in a sample."""
    if len(only) <= _CANDIDATES:
        return _rank_candidates(connection, only.tolist(), dict.fromkeys(terms))
    readable, sums = np.zeros(int(only[-1]) + 1, dtype=bool), np.zeros(int(only[-1]) + 1)
    readable[only] = True

    def matches(term: str, first: int, last: int) -> Ids:
        rows = connection.execute(_MATCHES, (term, int(only[first]), int(only[last]), -1))
        ids = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
        return ids[readable[ids]]

    starts = np.linspace(0, len(only) - _BLOCK, _BLOCKS).astype(int).tolist()
    counts = {term: sum(len(matches(term, at, at + _BLOCK - 1)) for at in starts) for term in terms}
    each = len(only) / (_BLOCK * _BLOCKS)
    weights: dict[str, float | None] = {}
    left = max(_CANDIDATES, min(_LISTED, len(only) // _RARE))
    least = _ENOUGH if len(only) <= 10 * _CANDIDATES else 1
    for term in sorted(terms, key=lambda term: counts[term]):
        number = each * counts[term]
        if number <= left or np.count_nonzero(sums) < least:
            found = matches(term, 0, -1)
            left, number = left - len(found), len(found)
            sums[found] += idf(number, len(only)) if number else 0
        if number:
            weights[term] = idf(number, len(only))
    best = _best(sums)
    return _rank_candidates(connection, best, weights) if best else []


def keyword_index_seal(connection: sqlite3.Connection) -> int:
    """Return the checksum of FTS5's own tables; 170 MB take a third of a second."""
    seal = 0
    for table in ("SELECT id, block FROM words_data ORDER BY id", "SELECT segid, term, pgno FROM words_idx"):
        for row in connection.execute(table):
            for value in row:
                seal = zlib.crc32(value if isinstance(value, bytes) else str(value).encode(), seal)
    return seal


def _rank_all(connection: sqlite3.Connection, query: str, count: int) -> list[tuple[int, float]]:
    statement = f"SELECT rowid, -rank FROM words WHERE words MATCH ? AND rank MATCH '{_BM25}' ORDER BY rank LIMIT ?"  # noqa: S608
    return list(connection.execute(statement, (query, count)))


def _candidates(
    connection: sqlite3.Connection, known: Sequence[tuple[int, str]], weights: dict[str, float]
) -> list[int]:
    """Return the passages with the greatest total weight of rare terms; ``known`` has the rarest first."""
    (highest,) = connection.execute("SELECT max(id) FROM passages").fetchone()
    left, sums = _LISTED, np.zeros(highest + 1)
    for number, term in known:
        if left < _LISTED and number > left:
            break
        found = np.fromiter(chain.from_iterable(connection.execute(_MATCHES, (term, 0, highest, left))), dtype=np.int64)
        left -= len(found)
        sums[found] += weights[term]
    return _best(sums)


def _best(sums: npt.NDArray[np.float64]) -> list[int]:
    """Return the ids of the greatest sums of weights, greatest first."""
    found = np.flatnonzero(sums)
    best: list[int] = found[np.argsort(-sums[found], kind="stable")[:_CANDIDATES]].tolist()
    return best


def _rank_candidates(
    connection: sqlite3.Connection, candidates: Sequence[int], weights: Mapping[str, float | None]
) -> list[tuple[int, float]]:
    """Rank candidates by BM25 with each term's weight; a weight of None stands for the idf among the candidates."""
    connection.execute(f"CREATE VIRTUAL TABLE temp.few USING fts5 ({WORDS})")
    try:
        marks = ",".join(map(str, candidates))
        connection.execute(
            f"INSERT INTO few (rowid, {_COLUMNS}) SELECT id, {_COLUMNS} FROM passages WHERE id IN ({marks})"  # noqa: S608
        )
        scores: defaultdict[int, float] = defaultdict(float)  # of those that have a term
        for term, weight in weights.items():
            sql = f"SELECT rowid, -rank FROM few WHERE few MATCH ? AND rank MATCH '{_BM25}'"  # noqa: S608
            rows = connection.execute(sql, (term,)).fetchall()
            # BM25 is proportional to the weight.
            ratio = 1.0 if weight is None else weight / idf(len(rows), len(candidates))
            for id_, score in rows:
                scores[id_] += score * ratio
    finally:
        connection.execute("DROP TABLE temp.few")
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
