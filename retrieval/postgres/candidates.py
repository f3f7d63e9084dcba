"""Search a snapshot by words and by vectors, in bounded time however many passages there are."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document
from psycopg import sql

from retrieval.filters import Filter, Visible, matching
from retrieval.postgres import bm25_index
from retrieval.postgres.database import Connection
from retrieval.postgres.lexemes import frequency_in, tokens_of_question
from retrieval.postgres.rows import EXACT, count_passages, get_passages, halfvec
from retrieval.question_terms import idf, terms_of
from retrieval.unit_vectors import Vectors

_BREADTH = 200  # candidates of a search in the vectors' graph: of a million, 0.95 and more of the nearest are found
_LISTED = 20_000  # matches of a question's rarest words that are listed
_RANKED = 1_000  # of these are ranked by all words
_SPARE = 4  # times the passages wanted are ranked of what an index lists that weighs no headings
_K1, _B = 1.2, 0.75  # as in FTS5

_FREQUENCIES = """
SELECT word, sum(passages)::bigint, sum(tokens)::bigint FROM (
    SELECT * FROM frequencies WHERE word = ANY(%(words)s)
    UNION ALL SELECT * FROM frequency_changes WHERE word = ANY(%(words)s)
) AS both_tables GROUP BY word
"""
# A scan in strict order leaves out what it finds too late: with a filter one of the ten nearest in twenty.
_GRAPH = """
WITH found AS MATERIALIZED (
    SELECT id, vector <#> %(vector)s::halfvec AS distance FROM passages WHERE {} ORDER BY distance LIMIT %(count)s
) SELECT id FROM found ORDER BY distance, id
"""


class Condition:
    """The passages that match a filter, as a condition on their rows."""

    def __init__(self, connection: Connection, filter_: Filter | None, visible: Visible | None) -> None:
        """Translate a filter for the state that the connection reads; only a ``visible`` path's passages match."""
        filter_ = filter_ or Filter()
        parts: list[sql.SQL] = []
        self.parameters: dict[str, Any] = {}
        if filter_.sources or visible:
            parts.append(sql.SQL("document = ANY(%(documents)s)"))
            paths = connection.execute("SELECT id, path FROM documents WHERE passages > 0")
            self.parameters["documents"] = matching(paths, filter_.sources, visible)
        if filter_.pages:
            parts.append(sql.SQL("page BETWEEN %(first)s AND %(last)s"))
            self.parameters |= dict(zip(("first", "last"), filter_.pages, strict=True))
        if filter_.since:
            parts.append(sql.SQL("date >= %(since)s"))
            self.parameters["since"] = filter_.since.isoformat()
        if filter_.until:
            parts.append(sql.SQL("date <= %(until)s"))
            self.parameters["until"] = filter_.until.isoformat()
        self.sql = sql.SQL(" AND ").join(parts) if parts else sql.SQL("true")

    def count(self, connection: Connection, most: int) -> int:
        """Return the number of passages that match, counted up to ``most``; of all, it is known."""
        if not self.parameters:
            return count_passages(connection)
        counted = sql.SQL("SELECT count(*) FROM (SELECT 1 FROM passages WHERE {} LIMIT %(most)s) AS found")
        row: Any = connection.execute(counted.format(self.sql), self.parameters | {"most": most}).fetchone()
        return int(row[0])


class Found:
    """What the searches of one snapshot find for a question; see ``ranking.Candidates``."""

    def __init__(self, connection: Connection, question: str, vector: Vectors, only: Condition) -> None:
        """Search for a question and its vector, of shape (1, dimension), among the passages of a condition."""
        self._connection = connection
        self._words = tokens_of_question(terms_of(question))
        self._vector = halfvec(vector[0])
        self._only = only

    def near(self, count: int) -> list[int]:
        """Return the ids of the nearest passages: by the vectors' graph where many match, else by comparing all.

        All are compared as well where the graph finds too few that match.
        """
        parameters = self._only.parameters | {"vector": self._vector, "count": count}
        if self._only.count(self._connection, EXACT + 1) > EXACT:
            self._connection.execute(
                "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), "
                "set_config('hnsw.ef_search', %s, true)",
                (str(min(1_000, max(_BREADTH, 2 * count))),),
            )
            query = sql.SQL(_GRAPH)
            found = [id_ for (id_,) in self._connection.execute(query.format(self._only.sql), parameters)]
            if len(found) == count:
                return found
        query = sql.SQL(  # + 0 keeps the planner from the graph
            "SELECT id FROM passages WHERE {} ORDER BY (vector <#> %(vector)s::halfvec) + 0, id LIMIT %(count)s"
        )
        return [id_ for (id_,) in self._connection.execute(query.format(self._only.sql), parameters)]

    def by_words(self, count: int) -> list[tuple[int, float]]:
        """Return the best passages by BM25 of those that have the question's rarest words, or of the best that
        pg_textsearch lists: its index leaves a filter to be applied afterwards, which may leave none.
        """
        if not self._words:
            return []
        rows = self._connection.execute(_FREQUENCIES, {"words": ["", *self._words]})
        frequencies = {word: (passages, tokens) for word, passages, tokens in rows if passages > 0}
        total, tokens = frequencies.pop("", (0, 0))
        known = sorted((passages, word) for word, (passages, _) in frequencies.items())
        if not known or not tokens:
            return []
        weights = {word: idf(passages, total) for passages, word in known}
        listed = None if self._only.parameters else bm25_index.listed(self._connection, list(weights), _SPARE * count)
        if listed is None:
            listed = self._with_rare_words(known, weights)
        scores = self._ranked(listed, weights, tokens / total)
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:count]

    def passages(self, ids: Sequence[int]) -> dict[int, Document]:
        return get_passages(self._connection, ids)

    def similarities(self, ids: Sequence[int]) -> dict[int, float]:
        query = "SELECT id, -(vector <#> %s::halfvec) FROM passages WHERE id = ANY(%s)"
        return dict(self._connection.execute(query, (self._vector, list(ids))).fetchall())

    def _with_rare_words(self, known: Sequence[tuple[int, str]], weights: dict[str, float]) -> list[int]:
        """Return the passages with the greatest total weight of rare words; ``known`` has the rarest first."""
        query = sql.SQL("SELECT id FROM passages WHERE words @@ %(word)s::tsquery AND {} LIMIT %(left)s")
        query_of = query.format(self._only.sql)
        left = _LISTED
        sums: defaultdict[int, float] = defaultdict(float)
        for number, word in known:
            if sums and (left <= 0 or (not self._only.parameters and number > left)):
                break
            parameters = self._only.parameters | {"word": f"'{word}'", "left": max(left, 1)}
            found = self._connection.execute(query_of, parameters).fetchall()
            left -= len(found)
            for (id_,) in found:
                sums[id_] += weights[word]
        return sorted(sums, key=lambda id_: (-sums[id_], id_))[:_RANKED]

    def _ranked(self, ids: list[int], weights: dict[str, float], average: float) -> dict[int, float]:
        scores: defaultdict[int, float] = defaultdict(float)
        # Looking in a tsvector's text takes a tenth of the time in which the server unnests it.
        rows = self._connection.execute("SELECT id, tokens, words::text FROM passages WHERE id = ANY(%s)", (ids,))
        for id_, tokens, words in rows.fetchall():
            usual = _K1 * (1 - _B + _B * tokens / average)
            for word, weight in weights.items():
                if frequency := frequency_in(words, word):
                    scores[id_] += weight * frequency * (_K1 + 1) / (frequency + usual)
        return scores
