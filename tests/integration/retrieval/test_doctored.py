"""An index folder that somebody else has filled: what is no file is not opened, what is no table is not read."""

import os
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from core.errors import RequestError
from retrieval.library import sync
from retrieval.library.discovery import DiscoveredFiles, find_documents
from tests.integration.retrieval.conftest import ANSWER, Opener, best, run_sql
from tests.unit.retrieval.fakes import BagOfWords

pytestmark = pytest.mark.timeout(30)  # what is not refused has no end

DATABASE = ["index.sqlite", "writer.lock", "index.sqlite-wal", "index.sqlite-shm"]
ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("put", [os.mkfifo, device, huge])
@pytest.mark.parametrize("name", ["manifest.json", "vectors.faiss", "writer.json"])
def test_what_is_no_file_of_the_index_is_made_anew(
    indexed: Path, open_library: Opener, docs: Path, name: str, put: Callable[[Path], None]
) -> None:
    (indexed / name).unlink(missing_ok=True)
    put(indexed / name)
    (docs / "new.txt").write_text("Something new.")
    library = open_library()
    assert len(library.sync().added) == 1
    assert best(library) == ANSWER
    assert library.verify().problems == []
    for path in indexed.iterdir():
        assert path.is_file()
        assert path.stat().st_size < 1 << 20


@pytest.mark.parametrize(
    ("name", "put"),
    [
        *product(DATABASE, [os.mkfifo, device, Path.mkdir]),
        *product(["manifest.json", "vectors.faiss"], [Path.mkdir]),
    ],
)
def test_what_is_no_file_of_the_index_and_cannot_be_replaced_is_named(
    indexed: Path, open_library: Opener, docs: Path, name: str, put: Callable[[Path], None]
) -> None:
    (indexed / name).unlink(missing_ok=True)
    put(indexed / name)
    (docs / "new.txt").write_text("Something new.")
    with pytest.raises(RequestError) as caught:
        open_library().sync()
    assert str(caught.value) == (
        f"{name} in the index folder {indexed} is not a regular file: remove it, then try again."
    )


DOCTORED = {
    "passages that have no end": """
        DROP TABLE passages;
        CREATE VIEW passages AS ENDLESS SELECT x AS id, 1 AS document, NULL AS name, 'a' AS text, NULL AS page,
            NULL AS row, NULL AS "offset", NULL AS date, NULL AS extra, x'00' AS hash, 0 AS seal FROM n
    """,
    "a description that has no end": """
        DROP TABLE meta;
        CREATE VIEW meta AS ENDLESS SELECT 'index' AS key, x AS value FROM n
    """,
    "a view of nothing else": "CREATE VIEW more AS SELECT 1",
    "a table more": "CREATE TABLE more (x)",
    "a trigger more": "CREATE TRIGGER more AFTER INSERT ON documents BEGIN DELETE FROM roots; END",
    "an index that computes": "CREATE INDEX more ON passages (length(text))",
    "a column that computes": "ALTER TABLE removed ADD COLUMN more AS (zeroblob(250000000))",
    "a default that computes": "ALTER TABLE documents ADD COLUMN more DEFAULT 1",
    "a check more": """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_master SET sql = replace(sql, 'text TEXT NOT NULL', 'text TEXT NOT NULL CHECK (text != 0)')
    """,
    "a view that is said to be a table": """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_master SET rootpage = 0, sql =
            'CREATE VIEW spare_vectors AS ENDLESS SELECT x AS hash, x AS vector, x AS seal FROM n'
            WHERE name = 'spare_vectors'
    """,
}


@pytest.mark.parametrize(
    ("doctored", "version"),
    [*((name, 3) for name in DOCTORED), *((name, 2) for name in DOCTORED if name.endswith("no end"))],
)
def test_an_index_whose_tables_are_not_those_that_are_made_is_begun_again(
    indexed: Path, open_library: Opener, doctored: str, version: int
) -> None:
    run_sql(indexed, f"UPDATE meta SET value = '{version}' WHERE key = 'format'")  # noqa: S608
    run_sql(indexed, DOCTORED[doctored].replace("ENDLESS", ENDLESS))
    library = open_library()
    report = library.sync()
    assert "was damaged" in report.notes[0]
    assert (len(report.added), report.passages) == (3, 4)
    assert best(library) == ANSWER
    assert open_library().sync().unchanged == 3


def test_an_index_that_another_program_has_tidied_is_kept(indexed: Path, open_library: Opener) -> None:
    run_sql(indexed, "VACUUM; REINDEX; PRAGMA wal_checkpoint")
    report = open_library().sync()
    assert (report.unchanged, report.notes) == (3, [])


def test_a_count_of_passages_that_is_made_up_takes_no_memory(indexed: Path, open_library: Opener) -> None:
    run_sql(indexed, "UPDATE documents SET passages = 1 << 60 WHERE id = 1")
    (indexed / "vectors.faiss").unlink()
    assert best(open_library()) == ANSWER


@pytest.mark.parametrize(
    ("key", "value"),
    [("dimension", "-1"), ("dimension", str(1 << 40)), ("dimension", str(1 << 70)), ("format", "9" * 5_000)],
)
def test_a_number_that_is_made_up_is_damage(indexed: Path, open_library: Opener, key: str, value: str) -> None:
    run_sql(indexed, f"UPDATE meta SET value = '{value}' WHERE key = '{key}'")  # noqa: S608
    library = open_library()
    assert "was damaged" in library.sync().notes[0]
    assert best(library) == ANSWER


def test_a_document_that_is_exchanged_for_a_fifo_is_not_waited_for(
    indexed: Path, open_library: Opener, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, text = docs / "a.txt", (docs / "a.txt").read_bytes()

    def exchanged(*arguments: Any) -> DiscoveredFiles:
        path.unlink()
        path.write_bytes(text)
        found = find_documents(*arguments)
        path.unlink()
        os.mkfifo(path)
        return found

    monkeypatch.setattr(sync, "find_documents", exchanged)
    assert [failure.reason for failure in open_library().sync().failed] == [
        "a.txt is not a regular file: name a document."
    ]


MOMENTS = ("opened", "added", "embedding a document", "synced", "embedding a question", "asked")


@pytest.mark.parametrize("away", MOMENTS)
@pytest.mark.parametrize("harm", ["moved", "a file"])
def test_an_index_folder_that_is_moved_away_is_named(
    open_library: Opener, docs: Path, home: Path, away: str, harm: str
) -> None:
    def at(moment: str) -> None:
        if moment == away:
            shutil.move(home, home.with_name("elsewhere"))
            if harm == "a file":
                home.write_text("")

    class Model(BagOfWords):
        def embed_query(self, text: str) -> list[float]:
            at("embedding a question")
            return super().embed_query(text)

    library = open_library(Model(before=lambda _: at("embedding a document")))

    def use() -> None:
        at("opened")
        library.add([docs])
        at("added")
        library.sync()
        at("synced")
        best(library)
        at("asked")
        (docs / "new.txt").write_text("Something new.")
        library.sync()
        library.verify()

    with pytest.raises(RequestError) as caught:
        use()
    assert str(caught.value) == (
        f"The index folder {home} cannot be found any more: put it back, or index its documents again."
    )
