"""A planted loss is reported: files, passages, vectors, and processes that outlive their parent."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from multiprocessing import Pipe
from pathlib import Path
from random import Random

import pytest

from retrieval.library.library import Library
from tests.stress.folder import Folder
from tests.stress.index_kills import Listener, Teller, children
from tests.stress.inspection import Expected, Inspected, inspect, lost, records_in, torn
from tests.unit.retrieval.fakes import BagOfWords

Planter = Callable[[str], Inspected]


@pytest.mark.parametrize(
    ("acknowledged", "after", "told"),
    [
        ({"/a": "1"}, {"/a": "1"}, []),
        ({"/a": "0"}, {"/a": "1"}, []),
        ({"/a": "0"}, {"/a": "0"}, []),
        ({"/a": "1"}, {}, ["a was indexed and is not any more"]),
        ({"/a": "1"}, {"/a": "0"}, ["a is indexed as it never was"]),
        ({"/deleted": "1"}, {}, []),
        ({"/b": "2"}, {}, []),
    ],
)
def test_a_file_that_was_acknowledged_is_there_as_it_was_or_as_it_is(
    acknowledged: dict[str, str], after: dict[str, str], told: list[str]
) -> None:
    expected = Expected(acknowledged, on_disk={"/a": "1", "/b": "2"}, removable={"/b"}, known={})
    assert lost(expected, after) == told


@pytest.mark.parametrize(("after", "left"), [({"a", "b", "c"}, 0), ({"c"}, 0), ({"a", "c"}, 1)])
def test_what_is_removed_together_is_gone_together(after: set[str], left: int) -> None:
    assert len(torn({"a", "b"}, after)) == left


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Expected]:
    """An index of three documents, and what is expected of it."""
    place = tmp_path_factory.mktemp("kills")
    folder = Folder(place / "documents", "a")
    for number in (7, 8, 9):
        folder.add(number)
    with Library.open(place / "index", BagOfWords(), embedding_name="bow") as library:
        library.add([folder.path])
        library.sync()
    records = records_in(place / "index" / "index.sqlite")
    return place / "index", Expected(records, folder.hashes(), frozenset(), folder.known())


@pytest.fixture
def planted(indexed: tuple[Path, Expected], tmp_path: Path) -> Planter:
    """What is found after a statement in the index's database."""

    def plant(statement: str) -> Inspected:
        home = tmp_path / "copy"
        shutil.copytree(indexed[0], home)
        connection = sqlite3.connect(home / "index.sqlite", isolation_level=None)
        connection.executescript(statement)
        connection.close()
        return inspect(home, indexed[1], Random(1), removing=False, whole=False)

    return plant


def test_a_lost_file_is_reported(planted: Planter) -> None:
    told = planted("PRAGMA foreign_keys = ON; DELETE FROM documents WHERE id = 1").violations
    assert any("was indexed and is not any more" in text for text in told)


def test_a_lost_vector_is_reported(planted: Planter) -> None:
    assert (
        "passages and vectors in the database are not the same"
        in planted("DELETE FROM vectors WHERE passage = 2").violations
    )


def test_lost_passages_are_reported(planted: Planter) -> None:
    told = planted("PRAGMA foreign_keys = ON; DELETE FROM passages WHERE document = 1").violations
    assert any(text.endswith("are counted") for text in told)
    assert any("is indexed and is not found" in text for text in told)


def test_a_phase_within_another_is_told_with_it() -> None:
    ours, theirs = Pipe(duplex=False)
    teller = Teller(theirs)
    with teller.within("sync"), teller.within("save"):
        pass
    theirs.close()
    listener = Listener(ours)
    listener.run()
    assert listener.phases == ["sync", "sync save", "sync", "between"]
    assert 0 < listener.took["save"] < listener.took["sync"]


def test_children_are_seen() -> None:
    process = os.posix_spawn("/bin/sleep", ["sleep", "60"], {})
    assert process in children()
    os.kill(process, 9)
    os.waitpid(process, 0)
    assert process not in children()
