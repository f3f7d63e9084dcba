"""Documents, passages and vectors as rows: what is written in one transaction, and read back."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, astuple, replace
from typing import Any

import numpy as np
from langchain_core.documents import Document
from psycopg import sql

from core.errors import RequestError
from retrieval.passage_columns import PassageColumns, columns_of, passage_document
from retrieval.postgres.database import Connection
from retrieval.postgres.lexemes import tsvector_of
from retrieval.splitter import SplitSettings
from retrieval.store import Contents, FileRecord, Made, SplitFile, made_of
from retrieval.unit_vectors import Vectors, text_hash

MARK = "%s"
AT_PATH = "sha256(path) = sha256(?)"
EXACT = 10_000  # passages up to which every vector is compared: some ten milliseconds
_LONGEST_INDEXED = 4_000  # numbers of a halfvec in an HNSW index
_LONGEST_KEPT = 16_000
_COPY = (
    'COPY passages (document, text, page, row, "offset", date, extra, title, heading, hash, tokens, words, vector) '
    "FROM STDIN"
)
_PASSAGES = """
SELECT passages.id, path, text, page, row, "offset", passages.date, extra, title, heading
FROM passages JOIN documents ON documents.id = document
"""
# What documents add to the frequencies of words, or take from them.
_COUNT = """
INSERT INTO frequency_changes
SELECT lexeme, %(sign)s * count(*), 0 FROM passages, unnest(words) WHERE document = ANY(%(documents)s) GROUP BY lexeme
UNION ALL
SELECT '', %(sign)s * count(*), %(sign)s * sum(tokens) FROM passages WHERE document = ANY(%(documents)s)
HAVING count(*) > 0
"""
_FOLD = """
WITH changes AS (DELETE FROM frequency_changes RETURNING word, passages, tokens)
INSERT INTO frequencies SELECT word, sum(passages), sum(tokens) FROM changes GROUP BY word
ON CONFLICT (word) DO UPDATE
SET passages = frequencies.passages + excluded.passages, tokens = frequencies.tokens + excluded.tokens
"""
FREQUENCIES = "(SELECT * FROM frequencies UNION ALL SELECT * FROM frequency_changes) AS kept"
_ALL_PASSAGES = f"SELECT coalesce(sum(passages), 0)::bigint FROM {FREQUENCIES} WHERE word = ''"  # noqa: S608


def made_with(connection: Connection) -> Made:
    """Return the model and settings that the library's passages were made with."""
    return made_of(dict(connection.execute("SELECT key, value FROM meta").fetchall()))


def set_meta(connection: Connection, **values: object) -> None:
    """Set some of the library's metadata."""
    for key, value in values.items():
        connection.execute(
            "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, str(value))
        )


def get_roots(connection: Connection) -> list[tuple[bytes, str, bool, str]]:
    """Return the path of each root, its kind, whether links are followed, and its machine."""
    return connection.execute("SELECT path, kind, followed, machine FROM roots ORDER BY path").fetchall()


def remove_root(connection: Connection, root: bytes) -> None:
    """Remove a root, and its files from the queue; the next sync queues those that another root covers."""
    connection.execute("DELETE FROM roots WHERE path = %s", (root,))
    connection.execute(
        "DELETE FROM queue WHERE path = %(root)s OR substring(path FOR length(%(below)s)) = %(below)s",
        {"root": root, "below": root.rstrip(b"/") + b"/"},
    )


def set_excluded(connection: Connection, patterns: Collection[str]) -> None:
    """Replace the patterns of files that are left out."""
    set_meta(connection, excluded=json.dumps(sorted(patterns)))


def get_excluded(connection: Connection) -> set[str]:
    """Return the patterns of files that are left out."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'excluded'").fetchone()
    return set(json.loads(row[0])) if row else set()


def get_records(connection: Connection) -> dict[bytes, FileRecord]:
    """Return every file's record, by path."""
    rows = connection.execute(
        "SELECT path, sha256, size, mtime_ns, status, reason, date, passages, id FROM documents ORDER BY path"
    )
    return {row[0]: FileRecord(*row) for row in rows}


def put_files(connection: Connection, files: Sequence[SplitFile], vectors: Mapping[str, Vectors]) -> None:
    """Write files with the vectors of their passages' texts, each in place of its old record."""
    remove_documents(connection, [file.record.id for file in files if file.record.id])
    documents = [_put_record(connection, file.record, len(file.passages)) for file in files]
    with connection.cursor().copy(_COPY) as copy:
        for document, file in zip(documents, files, strict=True):
            for passage in file.passages:
                columns = columns_of(passage)
                words, tokens = tsvector_of(columns)
                hash_ = text_hash(columns.text)
                date = columns.date or file.record.date
                kept = columns._replace(date=date)[:-1]  # the pairs are among the words
                copy.write_row((document, *kept, hash_, tokens, words, halfvec(vectors[columns.text])))
    connection.execute(_COUNT, {"sign": 1, "documents": documents})


def remove_documents(connection: Connection, ids: Collection[int]) -> None:
    """Remove documents by id, with their passages."""
    if ids:
        connection.execute(_COUNT, {"sign": -1, "documents": list(ids)})
        connection.execute("DELETE FROM documents WHERE id = ANY(%s)", (list(ids),))


def documents_at(connection: Connection, paths: Sequence[bytes]) -> dict[bytes, int]:
    """Return the ids of documents by path."""
    found = connection.execute(
        "SELECT path, id FROM documents WHERE sha256(path) = ANY(SELECT sha256(one) FROM unnest(%s::bytea[]) AS one)",
        (list(paths),),
    )
    return dict(found.fetchall())


def fold_frequencies(connection: Connection) -> None:
    """Add up the changes of the words' frequencies, so that not every search must add them up."""
    connection.execute(_FOLD)


def get_passages(connection: Connection, ids: Sequence[int]) -> dict[int, Document]:
    """Return passages by id; unknown ids are left out."""
    rows = connection.execute(f"{_PASSAGES} WHERE passages.id = ANY(%s)".encode(), (list(ids),))
    return {id_: passage_document(id_, path, PassageColumns(*columns)) for id_, path, *columns in rows}


def get_contents(connection: Connection, documents: Collection[int]) -> dict[int, Contents]:
    """Return the passages of documents, in the order of their text, with their vectors."""
    found = connection.execute(
        "SELECT document, id, vector::real[] FROM passages WHERE document = ANY(%s) ORDER BY document, id",
        (list(documents),),
    ).fetchall()
    passages = get_passages(connection, [id_ for _, id_, _ in found])
    rows: dict[int, tuple[list[Document], list[Any]]] = {}
    for document, id_, vector in found:
        texts, vectors = rows.setdefault(document, ([], []))
        texts.append(passages[id_])
        vectors.append(vector)
    return {document: (texts, np.asarray(vectors, dtype=np.float32)) for document, (texts, vectors) in rows.items()}


def known_vectors(connection: Connection, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
    """Return the vectors of texts that were embedded before, by text hash."""
    rows = connection.execute(
        "SELECT hash, vector::real[] FROM passages WHERE hash = ANY(%(hashes)s) "
        "UNION ALL SELECT hash, vector::real[] FROM spare_vectors WHERE hash = ANY(%(hashes)s)",
        {"hashes": list(hashes)},
    )
    return {hash_: np.asarray(vector, dtype=np.float32) for hash_, vector in rows}


def put_spare_vectors(connection: Connection, vectors: Mapping[bytes, Vectors]) -> None:
    """Save vectors of passages that are not written yet, by text hash."""
    rows = [(hash_, halfvec(vector)) for hash_, vector in vectors.items()]
    connection.cursor().executemany("INSERT INTO spare_vectors VALUES (%s, %s) ON CONFLICT DO NOTHING", rows)


def record_embedding(connection: Connection, embedding: str, dimension: int) -> None:
    """Record the embedding model of a library without passages, and set the length of its column of vectors."""
    if dimension > _LONGEST_KEPT:
        raise RequestError(f"PostgreSQL keeps vectors of up to {_LONGEST_KEPT:,} numbers, not {dimension:,}.")
    connection.execute("DROP INDEX IF EXISTS passages_by_vector")
    column = sql.SQL("ALTER TABLE passages ALTER vector TYPE halfvec({})").format(sql.Literal(dimension))
    connection.execute(column)
    connection.execute("ALTER TABLE passages ALTER vector SET STORAGE MAIN")  # read in every exact search
    set_meta(connection, embedding=embedding, dimension=dimension)


def count_passages(connection: Connection) -> int:
    """Return the number of all passages, without reading them."""
    row: Any = connection.execute(_ALL_PASSAGES.encode()).fetchone()
    return int(row[0])


def lacks_index(connection: Connection) -> bool:
    """Return True if the library should have an index of its vectors, and has none.

    It needs none for few passages, and can have none for vectors that are too long: these are compared one by one.
    """
    if count_passages(connection) <= EXACT or not 0 < made_with(connection).dimension <= _LONGEST_INDEXED:
        return False
    return connection.execute("SELECT to_regclass('passages_by_vector')").fetchone() == (None,)


def make_index(connection: Connection) -> None:
    """Index the vectors: all at once takes a tenth of the time that adding one passage after another takes."""
    connection.execute("SET LOCAL statement_timeout = 0")
    connection.execute("CREATE INDEX passages_by_vector ON passages USING hnsw (vector halfvec_ip_ops)")


def clear(connection: Connection, embedding: str, dimension: int, settings: SplitSettings) -> None:
    """Remove all passages, and mark all files to be read again with these settings."""
    connection.execute("TRUNCATE passages, spare_vectors, frequencies, frequency_changes, queue")
    connection.execute("UPDATE documents SET passages = 0")
    read_again(connection, None)
    record_embedding(connection, embedding, dimension)
    set_meta(connection, **asdict(settings))


def read_again(connection: Connection, documents: Collection[int] | None) -> None:
    """Mark indexed files to be read again: these documents, or all."""
    connection.execute(
        "UPDATE documents SET sha256 = NULL, mtime_ns = -1 "
        "WHERE status = 'indexed' AND (%(ids)s::bigint[] IS NULL OR id = ANY(%(ids)s))",
        {"ids": None if documents is None else list(documents)},
    )


def halfvec(vector: Vectors) -> str:
    """Return a vector as text for pgvector, which keeps 11 significant bits of each number."""
    return f"[{','.join(map(str, vector.tolist()))}]"


def _put_record(connection: Connection, record: FileRecord, passages: int) -> int:
    row: Any = connection.execute(
        "INSERT INTO documents (path, sha256, size, mtime_ns, status, reason, date, passages) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING id",
        astuple(replace(record, passages=passages))[:-1],  # all but the old id
    ).fetchone()
    return int(row[0])
