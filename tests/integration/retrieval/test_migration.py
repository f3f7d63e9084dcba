"""A library of the format before this one is brought up to date in place, whenever the process is killed."""

import re
import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from langchain_core.documents import Document

from core.errors import RequestError
from retrieval.index import database as module
from retrieval.index.database import Database
from retrieval.index.manifest import read_manifest
from retrieval.index.schema import create, expected_objects, objects_of
from retrieval.library.library import Library
from tests.integration.retrieval.conftest import ANSWER, Opener, run_sql, synced
from tests.unit.retrieval.fakes import BagOfWords

TEXT = "第三条 房东应当在三十天内退还押金。"
_COLUMNS = 'id, document, name, text, page, row, "offset", date, extra, hash, seal'
_TABLES = ("meta", "roots", "documents", "vectors", "removed", "spare_vectors", "sqlite_sequence")


def made_older(home: Path) -> None:
    """Replace an index by the one that format 2 would be."""
    new, old = home / "index.sqlite", home / "old.sqlite"
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        create(connection, 2)
        connection.execute("ATTACH ? AS new", (str(new),))
        connection.execute("PRAGMA foreign_keys = OFF")
        for table in _TABLES:
            connection.execute(f"INSERT INTO main.{table} SELECT * FROM new.{table}")  # noqa: S608
        rows = connection.execute(f"SELECT {_COLUMNS} FROM new.passages").fetchall()  # noqa: S608
        for id_, *values, hash_, _ in rows:
            seal = zlib.crc32(repr(tuple(values)).encode("utf-8", "backslashreplace"))
            row = (id_, *values, hash_, seal)
            connection.execute(f"INSERT INTO passages ({_COLUMNS}) VALUES ({', '.join('?' * 11)})", row)  # noqa: S608
        connection.execute("UPDATE meta SET value = '2' WHERE key = 'format'")
        connection.execute("DETACH new")
        connection.execute("PRAGMA journal_mode = WAL")
    for suffix in ("", "-wal", "-shm"):
        new.with_name(f"index.sqlite{suffix}").unlink(missing_ok=True)
    old.rename(new)
    manifest = home / "manifest.json"
    older = manifest.read_text().replace('"format": 3', '"format": 2').replace('"excluded": [],', "")
    manifest.write_text(re.sub(r'"size": \d+,', "", older))
    assert read_manifest(home)


@pytest.fixture
def older(open_library: Opener, docs: Path, home: Path) -> Path:
    """An index folder of format 2."""
    (docs / "zh.txt").write_text(TEXT)
    synced(open_library(), docs).close()
    made_older(home)
    return home


def best(library: Library, question: str) -> Document:
    return library.store.similarity_search(question, k=1, search="bm25")[0]


def test_it_can_be_searched_at_once_and_gains_headings_at_the_next_sync_without_embedding_anything(
    older: Path, open_library: Opener, model: BagOfWords
) -> None:
    model.texts.clear()
    library = open_library()
    with library.store.database.reading() as connection:
        assert objects_of(connection) == expected_objects()
    assert best(library, "mortgage").page_content == ANSWER
    assert best(library, "押金什么时候退还?").page_content == TEXT
    assert "title" not in best(library, "Aspirin weight").metadata
    report = library.sync()
    assert (len(report.updated), report.notes, model.texts) == (4, [], [])
    assert best(library, "Aspirin weight").metadata["title"] == "Aspirin"
    assert library.verify().repairs == []
    assert library.sync().unchanged == 4


def test_a_migration_that_is_killed_leaves_the_index_whole(
    older: Path, open_library: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def killed(connection: sqlite3.Connection) -> None:
        migrate(connection)
        raise KilledError

    migrate = module.migrate
    monkeypatch.setattr(module, "migrate", killed)
    with pytest.raises(KilledError):
        open_library()
    monkeypatch.undo()
    copy = tmp_path / "copy"
    shutil.copytree(older, copy)
    with closing(sqlite3.connect(copy / "index.sqlite")) as connection:
        assert objects_of(connection) == expected_objects(2)
    library = open_library()
    assert best(library, "mortgage").page_content == ANSWER
    assert library.sync().notes == []


def test_one_that_is_damaged_is_made_anew_with_what_is_whole(
    older: Path, open_library: Opener, model: BagOfWords
) -> None:
    run_sql(older, "UPDATE passages SET text = '坏了' WHERE text LIKE '%房东%'")
    model.texts.clear()
    library = open_library()
    report = library.sync()
    assert "was damaged" in report.notes[0]
    assert best(library, "退还").page_content == TEXT
    assert model.texts == []


def test_one_in_a_folder_that_cannot_be_written_says_so(
    older: Path, open_library: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Database, "_prepare", lambda self: False)
    with pytest.raises(RequestError, match=r"made by an older version, and the folder is read-only: make it writable"):
        open_library()
