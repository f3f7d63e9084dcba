"""Check an index for damage, and repair it."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from core.errors import IndexDamaged, damaged
from core.text import shown_path
from retrieval.index.database import Database
from retrieval.index.document_rows import get_passages, get_records
from retrieval.index.schema import Snapshot
from retrieval.index.sqlite_files import translated
from retrieval.index.vector_file import VectorIndex, save_derived
from retrieval.index.vector_rows import vectors_after
from retrieval.sync_report import Progress, SyncReport, TimeEstimate, VerifyReport
from retrieval.unit_vectors import text_hash

_MANY = 500  # passages at a time
_MISCOUNTED = (
    "SELECT id FROM documents WHERE passages != (SELECT count(*) FROM passages WHERE document = documents.id) LIMIT 1"
)
_WITHOUT_VECTOR = "SELECT id FROM passages WHERE id NOT IN (SELECT passage FROM vectors) LIMIT 1"


def verify(
    database: Database,
    vectors: VectorIndex,
    sync: Callable[[Progress | None], SyncReport],
    progress: Progress | None,
) -> VerifyReport:
    """Check an index and repair it, with ``sync`` where it must be rebuilt; see ``Library.verify``."""
    repairs: list[str] = []
    problems: list[str] = []
    try:
        with database.reading() as connection:
            _check_rows(connection, database.folder, progress)
    except IndexDamaged:
        database.start_over()
        report = sync(progress)
        repairs += report.notes
        repairs.append(f"The index was made anew from its documents: {report.passages:,} passages.")
    if not _check_keyword_index(database):
        with database.only_writer():
            save_derived(database, vectors, keywords_changed=True)
        repairs.append("The keyword index did not match the passages: it was made anew.")
    with database.reading() as connection:
        snapshot = Snapshot.of(connection)
        intact = not snapshot.dimension or vectors.is_intact(snapshot)
        documents = len(get_records(connection))
    fault = "The vector file was missing or damaged"
    if not intact and database.writable:
        with translated(database.folder), database.only_writer():
            vectors.discard()
            save_derived(database, vectors)
        repairs.append(f"{fault}: it was made anew from the vectors in the database.")
    elif not intact:
        problems.append(f"{fault}, and the folder is read-only: make {shown_path(database.folder)} writable.")
    return VerifyReport(snapshot.passages, documents, repairs, problems)


def _check_rows(connection: sqlite3.Connection, folder: Path, progress: Progress | None) -> None:
    """Raise ``IndexDamaged`` unless every row has its checksum and all rows are consistent."""
    for statement in ("PRAGMA integrity_check(1)", "PRAGMA foreign_key_check", _MISCOUNTED, _WITHOUT_VECTOR):
        for result, *_ in connection.execute(statement):
            if result != "ok":
                raise damaged()
    get_records(connection)
    snapshot = Snapshot.of(connection)
    ids = [id_ for (id_,) in connection.execute("SELECT id FROM passages ORDER BY id")]
    estimate = TimeEstimate([(folder, 0)] * len(ids), progress)
    for start in range(0, len(ids), _MANY):
        estimate.update(start)
        some = ids[start : start + _MANY]
        of_some = "SELECT id, hash FROM passages WHERE id BETWEEN ? AND ?"
        hashes = dict(connection.execute(of_some, (some[0], some[-1])).fetchall())
        passages = get_passages(connection, some)
        if any(hashes.get(id_) != text_hash(passage.page_content) for id_, passage in passages.items()):
            raise damaged()
        estimate.passages += len(some)
    for _ in vectors_after(connection, 0, snapshot.dimension):
        pass
    estimate.update(len(ids))


def _check_keyword_index(database: Database) -> bool:
    """Return True if the keyword index is right, or read-only and so not checked; else rebuild it and return False."""
    if not database.writable:
        return True
    with database.only_writer():
        try:
            with database.writing() as connection:
                connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
        except IndexDamaged:
            with database.writing() as connection:
                connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
            return False
    return True
