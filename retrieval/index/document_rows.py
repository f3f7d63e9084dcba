"""Write rows, and read them back with their checksums verified: see `retrieval.searching_store.Rows`."""

import sqlite3
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, replace
from typing import Any

import numpy as np
from langchain_core.documents import Document

from core.errors import damaged
from core.words import CJK, pairs_of
from retrieval.index import schema
from retrieval.index.schema import Snapshot
from retrieval.index.schema import remove_root as remove_root
from retrieval.index.schema import set_excluded as set_excluded
from retrieval.index.schema import set_meta as set_meta
from retrieval.index.vector_rows import chunks, drop_spare_vectors, put_vector, vectors_of
from retrieval.index.vector_rows import known_vectors as known_vectors
from retrieval.index.vector_rows import put_spare_vectors as put_spare_vectors
from retrieval.passage_columns import PassageColumns, columns_of, passage_document
from retrieval.splitter import SplitSettings
from retrieval.store import Contents, FileRecord, Made, SplitFile
from retrieval.unit_vectors import Vectors, text_hash

MARK = "?"
AT_PATH = "path = ?"
_PASSAGES = (
    "SELECT passages.id, document, name, text, page, row, offset, passages.date, extra, title, heading, pairs, "
    "passages.seal, path, origin, status, reason, documents.date, documents.seal "
    "FROM passages JOIN documents ON documents.id = document"
)


def made_with(connection: sqlite3.Connection) -> Made:
    """Return the model and settings that the index's passages were made with."""
    return Snapshot.of(connection).made


def record_embedding(connection: sqlite3.Connection, embedding: str, dimension: int) -> None:
    """Record the embedding model of an index without passages, so that its vectors can be added."""
    set_meta(connection, embedding=embedding, dimension=dimension)


def get_records(connection: sqlite3.Connection) -> dict[bytes, FileRecord]:
    """Return every file's record, by path."""
    rows = connection.execute(
        "SELECT path, sha256, size, mtime_ns, status, reason, date, passages, id, seal "
        "FROM documents WHERE origin = 'file' ORDER BY path"
    )
    records = {}
    for *values, seal in rows:
        record = FileRecord(*values)
        if not isinstance(record.path, bytes) or _record_seal(record) != seal:
            raise damaged()
        records[record.path] = record
    return records


def put_files(connection: sqlite3.Connection, files: Sequence[SplitFile], vectors: Mapping[str, Vectors]) -> None:
    """Write files with the vectors of their passages' texts, each in place of its old record."""
    if vectors and not Snapshot.of(connection).dimension:  # a search with vectors of another length set it to 0
        set_meta(connection, dimension=len(next(iter(vectors.values()))))
    remove_documents(connection, [file.record.id for file in files if file.record.id])
    for file in files:
        _put_file(connection, file, vectors)


def remove_documents(connection: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Remove documents with their passages, keywords and vectors."""
    connection.executemany("DELETE FROM documents WHERE id = ?", [(id_,) for id_ in ids])


def clear(connection: sqlite3.Connection, embedding: str, dimension: int, settings: SplitSettings) -> None:
    """Remove all passages, and mark all files to be read again with these settings."""
    connection.execute("DELETE FROM passages")
    connection.execute("UPDATE documents SET passages = 0")
    _read_again(connection)
    drop_spare_vectors(connection)
    # A new index id: vectors in memory or in the file may have the same passage ids but another model.
    set_meta(connection, index=uuid.uuid4().hex, embedding=embedding, dimension=dimension, **asdict(settings))


def _read_again(connection: sqlite3.Connection) -> None:
    """Mark the indexed files to be read again, and keep their passages until then."""
    connection.execute("UPDATE documents SET sha256 = NULL, mtime_ns = -1 WHERE status = 'indexed'")


def migrate(connection: sqlite3.Connection) -> None:
    """Bring an index of the previous format up to date, within the caller's transaction.

    The files are read again at the next sync. Until then their passages have no titles and headings, but can be found.
    Vectors and ids stay. Raises ``IndexDamaged`` if the schema or a checksum is wrong.
    """
    if schema.objects_of(connection) != schema.expected_objects(schema.PREVIOUS_FORMAT):
        raise damaged()
    for statement in schema.UPGRADE:
        connection.execute(statement)
    _index_pairs(connection)
    connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
    _read_again(connection)
    set_meta(connection, format=schema.FORMAT)


def _index_pairs(connection: sqlite3.Connection) -> None:
    """Add to passages in Chinese, Japanese or Korean the pairs of characters that they are found by."""
    ids = [id_ for id_, text in connection.execute("SELECT id, text FROM passages") if CJK.search(str(text))]
    for chunk in chunks(ids):
        for id_, *values, seal in [row[:13] for row in _rows(connection, chunk)]:
            if _passage_seal(*values) != seal:
                raise damaged()
            pairs = pairs_of(values[2])
            new_seal = _passage_seal(*values[:-1], pairs)
            connection.execute("UPDATE passages SET pairs = ?, seal = ? WHERE id = ?", (pairs, new_seal, id_))


def _put_file(connection: sqlite3.Connection, file: SplitFile, vectors: Mapping[str, Vectors]) -> None:
    cursor = connection.execute(
        "INSERT INTO documents (path, sha256, size, mtime_ns, status, reason, date, passages, origin, seal) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'file', ?)",
        (*astuple(replace(file.record, passages=len(file.passages)))[:-1], _record_seal(file.record)),
    )
    document = int(cursor.lastrowid or 0)
    for passage in file.passages:
        columns = columns_of(passage)
        seal = _passage_seal(document, None, *columns)
        hash_ = text_hash(columns.text)
        cursor = connection.execute(
            "INSERT INTO passages (document, text, page, row, offset, date, extra, title, heading, pairs, hash, seal) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (document, *columns, hash_, seal),
        )
        put_vector(connection, int(cursor.lastrowid or 0), hash_, vectors[columns.text])


def get_passages(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, Document]:
    """Return passages by id, each verified against its checksum; unknown ids are left out."""
    found = {}
    for chunk in chunks(ids):
        for id_, *values, seal, path, origin, status, reason, document_day, document_seal in _rows(connection, chunk):
            columns = PassageColumns(*values[2:])
            intact = isinstance(columns.text, str) and isinstance(path, bytes)
            intact = intact and _passage_seal(*values) == seal
            if not intact or _seal(path, origin, status, reason, document_day) != document_seal:
                raise damaged()
            found[id_] = passage_document(id_, path, columns._replace(date=columns.date or document_day))
    return found


def get_contents(connection: sqlite3.Connection, documents: Iterable[int]) -> dict[int, Contents]:
    """Return the passages of documents, in the order of their text, with their vectors, all verified."""
    found, dimension = {}, Snapshot.of(connection).dimension
    for document in documents:
        ids = [
            id_ for (id_,) in connection.execute("SELECT id FROM passages WHERE document = ? ORDER BY id", (document,))
        ]
        if ids:
            passages, vectors = get_passages(connection, ids), vectors_of(connection, ids, dimension)
            found[document] = [passages[id_] for id_ in ids], np.stack([vectors[id_] for id_ in ids])
    return found


def _rows(connection: sqlite3.Connection, ids: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    marks = ",".join("?" * len(ids))
    yield from connection.execute(f"{_PASSAGES} WHERE passages.id IN ({marks})", ids)


def _passage_seal(*values: object) -> int:
    """Return a passage's checksum; the last three values are left out if all are None, as in older indexes."""
    return _seal(*(values if any(value is not None for value in values[-3:]) else values[:-3]))


def _record_seal(record: FileRecord) -> int:
    """Return the checksum of a document's row, which leaves out the passage count."""
    return _seal(record.path, "file", record.status, record.reason, record.date)


def _seal(*values: object) -> int:
    return zlib.crc32(repr(values).encode("utf-8", "backslashreplace"))
