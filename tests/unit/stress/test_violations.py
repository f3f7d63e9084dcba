"""What a stress run looks for is reported when it is planted."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from retrieval.library.library import Library
from tests.stress.flips import Answer, Question, lies
from tests.stress.folder import Folder
from tests.stress.inspection import Expected, inspect, lost, records_in
from tests.stress.recorder import Call
from tests.stress.recorder import Expected as ExpectedCalls
from tests.unit.retrieval.fakes import BagOfWords


def call(node: str, prompt: str) -> Call:
    return Call(1, node, prompt, "life-1")


CALLS = ExpectedCalls.of(
    [["decide"], ["retrieve"], ["generate"], ["answer_check", "hallucination_check"], ["generate"]],
    [
        [call("decide", "route")],
        [],
        [call("generate", "draft")],
        [call("answer_check", "use"), call("hallucination_check", "a"), call("hallucination_check", "b")],
        [call("generate", "mend")],
    ],
)


@pytest.mark.parametrize(
    ("made", "done", "violations"),
    [
        ([("decide", "route")], {}, []),
        ([("decide", "route"), ("decide", "route")], {}, ["decide made a call that is in no run without kills"]),
        ([("decide", "route")], {"decide": 1}, ["decide made a call that was paid for already"]),
        ([("generate", "mend")], {"decide": 1, "generate": 1}, []),
        ([("generate", "draft")], {"decide": 1, "generate": 1}, ["generate made a call that was paid for already"]),
        ([("hallucination_check", "a")], {"answer_check": 1}, []),
        ([("select", "?")], {}, ["select made a call that is in no run without kills"]),
    ],
)
def test_a_call_that_belongs_to_no_unfinished_turn(
    made: list[tuple[str, str]], done: dict[str, int], violations: list[str]
) -> None:
    assert CALLS.violations([call(*one) for one in made], done) == violations


RIGHT = Answer("Points are fees.", "/docs/a.pdf", 3, None, 0, "2024-05-06")
OTHER = Answer("Tulips are grown.", "/docs/b.csv", None, 2, 0, "2024-05-06")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([RIGHT, OTHER], ""),
        ([OTHER, RIGHT], "the best passage is number 2"),
        ([], "the best passage is not found"),
        *(
            ([RIGHT, replace(RIGHT, **change)], "is in no document")
            for change in (
                {"text": "Points."},
                {"source": "/b"},
                {"page": 4},
                {"row": 1},
                {"offset": 7},
                {"date": None},
            )
        ),
    ],
)
def test_an_answer_that_is_wrong_in_anything(found: list[Answer], told: str) -> None:
    wrong = lies(Question("fees", "hybrid", RIGHT), found, {RIGHT, OTHER})
    assert told in "".join(wrong)
    assert len(wrong) == bool(told)


@pytest.mark.parametrize(
    ("acknowledged", "after", "told"),
    [
        ({"/a": "0"}, {"/a": "1"}, []),
        ({"/a": "0"}, {"/a": "0"}, []),
        ({"/a": "1"}, {}, ["a was indexed and is not any more"]),
        ({"/a": "1"}, {"/a": "0"}, ["a is indexed as it never was"]),
        ({"/deleted": "1", "/b": "2"}, {}, []),
        ({}, {"/b": "2"}, ["of 2 files that are removed together 1 are left"]),
    ],
)
def test_a_file_that_is_lost_or_half_removed(
    acknowledged: dict[str, str], after: dict[str, str], told: list[str]
) -> None:
    expected = Expected(acknowledged, on_disk={"/a": "1", "/b": "2", "/c": "3"}, removable={"/b", "/c"}, known={})
    assert lost(expected, after) == told


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


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("", ""),
        ("DELETE FROM documents WHERE id = 1", "was indexed and is not any more"),
        ("DELETE FROM vectors WHERE passage = 2", "was damaged"),
        ("DELETE FROM passages WHERE document = 1", "is indexed and is not found"),
    ],
)
def test_an_index_that_lost_something(
    indexed: tuple[Path, Expected], tmp_path: Path, statement: str, told: str
) -> None:
    shutil.copytree(indexed[0], tmp_path / "copy")
    with closing(sqlite3.connect(tmp_path / "copy" / "index.sqlite", isolation_level=None)) as connection:
        connection.executescript(f"PRAGMA foreign_keys = ON; {statement}")
    _, violated = inspect(tmp_path / "copy", indexed[1], Random(1))
    assert told in " ".join(violated)
    assert bool(violated) == bool(told)
