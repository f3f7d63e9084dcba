"""Search a snapshot by words and by vectors, in bounded time however many passages there are."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from langchain_core.documents import Document

from retrieval.filters import Filter, Visible, matching
from retrieval.postgres.database import Connection
from retrieval.postgres.lexemes import frequency_in, tokens_of_question
from retrieval.postgres.rows import EXACT, FREQUENCIES, count_passages, get_passages, halfvec
from retrieval.question_terms import idf, terms_of
from retrieval.unit_vectors import Vectors

_BREADTH = 200  # candidates of a search in the vectors' graph: of a million, 0.95 and more of the nearest are found
_LISTED = 20_000  # matches of a question's rarest words that are listed
_LISTED_OF_DOCUMENTS = 12_000  # the same where some documents are searched, which takes longer
_RANKED = 1_000  # of these are ranked by all words
_RARE = 20  # where some documents are searched, as many matches are listed as one in so many of their passages
_ENOUGH = 100  # candidates up to which common words are listed too, where few passages are searched
_FEW = 4  # documents count as few if they have at most one in so many of all passages
_DRAWN = 2_000  # passages sampled to estimate how many have a word, where some documents are searched
_K1, _B = 1.2, 0.75  # as in FTS5

_FREQUENCIES = f"""
SELECT word, sum(passages)::bigint, sum(tokens)::bigint FROM {FREQUENCIES} WHERE word = ANY(%s) GROUP BY word
"""  # noqa: S608 - of constants
# The passages that match a filter; the planner leaves out what is NULL.
_MATCHING = """
FROM passages WHERE (%(documents)s::bigint[] IS NULL OR document = ANY(%(documents)s))
AND (%(first)s::bigint IS NULL OR page BETWEEN %(first)s AND %(last)s)
AND (%(since)s::text IS NULL OR date >= %(since)s) AND (%(until)s::text IS NULL OR date <= %(until)s)
"""
_COUNT = f"SELECT count(*) FROM (SELECT 1 {_MATCHING} LIMIT %(most)s) AS found"  # noqa: S608 - of constants
# A scan in strict order leaves out what it finds too late: with a filter one of the ten nearest in twenty.
_BY_GRAPH = f"""
WITH found AS MATERIALIZED (
    SELECT id, vector <#> %(vector)s::halfvec AS distance {_MATCHING} ORDER BY distance LIMIT %(count)s
) SELECT id FROM found ORDER BY distance, id
"""  # noqa: S608 - of constants
# + 0 keeps the planner from the graph.
_BY_COMPARISON = f"SELECT id {_MATCHING} ORDER BY (vector <#> %(vector)s::halfvec) + 0, id LIMIT %(count)s"
_WITH_WORDS = f"SELECT id, {{weight}} {_MATCHING} AND words @@ %(words)s::tsquery LIMIT %(left)s"
# With an array of few documents PostgreSQL intersects two indexes before it reads a passage. An array of many it would
# compare one by one with each passage; it hashes a subquery.
_WITH_WORDS_OF_MANY = _WITH_WORDS.replace("= ANY(%(documents)s)", "IN (SELECT unnest(%(documents)s::bigint[]))")
_OF_DOCUMENTS = "SELECT words FROM passages WHERE document = ANY(%s) ORDER BY document, id LIMIT %s"


class Condition:
    """The passages that match a filter, as an SQL condition on their rows."""

    def __init__(self, connection: Connection, filter_: Filter | None, visible: Visible | None) -> None:
        """Translate a filter for the state that the connection reads; only a ``visible`` path's passages match."""
        filter_ = filter_ or Filter()
        documents = None
        self._documents: list[Any] = []
        found: list[Any] = []
        if filter_.sources or visible:
            found = connection.execute("SELECT id, path, passages FROM documents WHERE passages > 0").fetchall()
            documents = matching(((id_, path) for id_, path, _ in found), filter_.sources, visible)
            matched = set(documents)
            self._documents = [one for one in found if one[0] in matched]
        first, last = filter_.pages or (None, None)
        since, until = (day and day.isoformat() for day in (filter_.since, filter_.until))
        self.narrowed = any((first, since, until))  # to some passages of the documents
        self.of_documents = documents is not None
        self.passages = int(sum(passages for _, _, passages in self._documents))
        self.is_selective = _FEW * self.passages <= sum(passages for _, _, passages in found)
        self.parameters = {"documents": documents, "first": first, "last": last, "since": since, "until": until}

    def count(self, connection: Connection, most: int) -> int:
        """Return the number of passages that match; counting stops at ``most`` if the number is not known already."""
        if not self.narrowed:
            return min(most, self.passages) if self.of_documents else count_passages(connection)
        row: Any = connection.execute(_COUNT.encode(), self.parameters | {"most": most}).fetchone()
        return int(row[0])

    def frequencies(self, connection: Connection, words: Sequence[str]) -> dict[str, float]:
        """Return how many passages of the matching documents have each word; the key "" has the number of all of them.

        Other documents do not count: else the ranking would reveal how often they have a word. For many passages the
        numbers are estimated from whole documents, sampled by their paths.
        """
        drawn, size = [], 0
        for id_, _, passages in sorted(self._documents, key=lambda row: (crc32(row[1]), row[1])):
            if size < _DRAWN:
                drawn.append(id_)
                size += passages
        counts = ", ".join(["count(*)", *["count(*) FILTER (WHERE words @@ %s::tsquery)"] * len(words)])
        counting = f"SELECT {counts} FROM ({_OF_DOCUMENTS}) AS drawn"  # noqa: S608 - of constants
        row: Any = connection.execute(counting.encode(), (*(f"'{word}'" for word in words), drawn, _DRAWN)).fetchone()
        each = self.passages / max(1, row[0])
        least = each / 2 if each > 1 else 0.0
        return {"": float(self.passages)} | {
            word: max(least, each * count) for word, count in zip(words, row[1:], strict=True)
        }


class PostgresCandidates:
    """What the searches of one snapshot find for a question; see ``ranking.Candidates``."""

    def __init__(self, connection: Connection, question: str, vector: Vectors, only: Condition) -> None:
        """Search for a question and its vector, of shape (1, dimension), among the passages of a condition."""
        self._connection = connection
        self._words = tokens_of_question(terms_of(question))
        self._vector = halfvec(vector[0])
        self._only = only

    def near(self, count: int) -> list[int]:
        """Return the ids of the nearest passages, found by the graph of the vectors if many passages match.

        If few match, or the graph finds too few of them, all that match are compared with the question.
        """
        parameters = self._only.parameters | {"vector": self._vector, "count": count}
        if self._only.count(self._connection, EXACT + 1) > EXACT:
            self._connection.execute(
                "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), "
                "set_config('hnsw.ef_search', %s, true)",
                (str(min(1_000, max(_BREADTH, 2 * count))),),
            )
            found = [id_ for (id_,) in self._connection.execute(_BY_GRAPH.encode(), parameters)]
            if len(found) == count:
                return found
        return [id_ for (id_,) in self._connection.execute(_BY_COMPARISON.encode(), parameters)]

    def by_words(self, count: int) -> list[tuple[int, float]]:
        """Return the best passages by BM25 of those that have the question's rarest words."""
        if not self._words:
            return []
        tokens = 0
        if self._only.of_documents:
            frequencies = self._only.frequencies(self._connection, self._words)
        else:
            rows = list(self._connection.execute(_FREQUENCIES.encode(), (["", *self._words],)))
            frequencies = {word: float(passages) for word, passages, _ in rows}
            tokens = sum(tokens for word, _, tokens in rows if not word)
        total = frequencies.pop("", 0)
        weights = {word: idf(passages, total) for word, passages in frequencies.items() if passages > 0}
        if not weights or not total:
            return []
        known = sorted((frequencies[word], word) for word in weights)
        scores = self._ranked(self._with_rare_words(known, weights), weights, tokens / total)
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:count]

    def passages(self, ids: Sequence[int]) -> dict[int, Document]:
        return get_passages(self._connection, ids)

    def similarities(self, ids: Sequence[int]) -> dict[int, float]:
        query = "SELECT id, -(vector <#> %s::halfvec) FROM passages WHERE id = ANY(%s)"
        return dict(self._connection.execute(query, (self._vector, list(ids))).fetchall())

    def _with_rare_words(self, known: Sequence[tuple[float, str]], weights: dict[str, float]) -> list[int]:
        """Return the passages with the greatest total weight of rare words; ``known`` has the rarest first."""
        only, left, least = self._only, _LISTED, 1
        if only.of_documents:
            left = max(_RANKED, min(_LISTED_OF_DOCUMENTS, only.passages // _RARE))
            least = _ENOUGH if only.passages <= EXACT else 1
        sums: defaultdict[int, float] = defaultdict(float)
        waiting, estimated = list(known), only.of_documents and only.passages > EXACT
        while waiting and (len(sums) < least or (left > 0 and (only.narrowed or waiting[0][0] <= left))):
            together = [waiting.pop(0)]
            while estimated and waiting and sum(number for number, _ in (*together, waiting[0])) <= left:
                together.append(waiting.pop(0))
            # One query finds what a query for each word finds; for few documents it is faster.
            for words in [together] if only.is_selective else [[one] for one in together]:
                found = self._with_words({word: weights[word] for _, word in words}, left)
                for id_, weight in found:
                    sums[id_] += weight
                left = 0 if estimated else left - len(found)
        return sorted(sums, key=lambda id_: (-sums[id_], id_))[:_RANKED]

    def _with_words(self, weights: dict[str, float], most: int) -> list[tuple[int, float]]:
        """Return the passages that have one of the words, each with the total weight of the words in it."""
        only, words = self._only, [f"'{word}'" for word in weights]
        each = [f"CASE WHEN words @@ %(word{n})s::tsquery THEN %(weight{n})s ELSE 0 END" for n in range(len(words))]
        weight = " + ".join(each) if len(words) > 1 else "%(weight0)s"
        parameters = {
            **only.parameters,
            **{f"word{n}": word for n, word in enumerate(words)},
            **{f"weight{n}": weight for n, weight in enumerate(weights.values())},
            "words": " | ".join(words),
            "left": None if only.of_documents else max(most, 1),
        }
        statement = (_WITH_WORDS if only.is_selective else _WITH_WORDS_OF_MANY).format(weight=f"({weight})::float8")
        return self._connection.execute(statement.encode(), parameters, binary=True).fetchall()

    def _ranked(self, ids: list[int], weights: dict[str, float], average: float) -> dict[int, float]:
        """Return the BM25 scores of passages; ``average`` is the mean length of all, 0 to use the mean of these."""
        scores: defaultdict[int, float] = defaultdict(float)
        # Looking in a tsvector's text takes a tenth of the time in which the server unnests it.
        query = "SELECT id, tokens, words::text FROM passages WHERE id = ANY(%s)"
        rows = self._connection.execute(query, (ids,)).fetchall()
        average = average or sum(tokens for _, tokens, _ in rows) / max(1, len(rows))
        for id_, tokens, words in rows:
            usual = _K1 * (1 - _B + _B * tokens / average)
            for word, weight in weights.items():
                if frequency := frequency_in(words, word):
                    scores[id_] += weight * frequency * (_K1 + 1) / (frequency + usual)
        return scores
