"""Each line of JSON gives its text and what it says of it; lines that do not are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.documents import load
from core.errors import UnreadableDocument
from retrieval.documents.load import Loaded, parse
from retrieval.documents.loaded import CELLS


def read(*lines: Any, name: str = "a.jsonl") -> Loaded:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return parse(Path(name), text.encode())


def extra_of(metadata: dict[str, Any]) -> dict[str, Any] | None:
    return read({"text": "Text.", "metadata": metadata}).sections[0].extra


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson"])
def test_each_line_is_a_document_with_what_it_says_of_itself(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    record = {"text": "A.", "metadata": {"page": 4, "date": "2024-05-06T07:08:09Z", "author": "Ada", "tags": ["x"]}}
    path.write_text(json.dumps(record) + '\r\n\r\n{"text": "B."}\r\n')
    assert [(document.page_content, document.metadata) for document in load(path)] == [
        ("A.", {"source": str(path), "page": 4, "row": 1, "date": "2024-05-06", "author": "Ada", "tags": ["x"]}),
        ("B.", {"source": str(path), "page": None, "row": 3, "date": None}),
    ]


def test_bad_lines_are_named() -> None:
    good = {"text": "Good."}
    assert read(good, "nonsense").note == "a.jsonl: line 2 is not an object with a text."
    bad = [
        "{",
        "[]",
        '{"text": 3}',
        '{"txt": "x"}',
        '{"text": NaN}',
        "[" * 100_000,
        '"text"',
        "null",
        "1",
        "{}",
        "2",
        "3",
    ]
    assert read(good, *bad).note == (
        "a.jsonl: lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more are not objects with a text."
    )
    assert read(good, good).note == ""


def test_bad_lines_only_are_unreadable() -> None:
    with pytest.raises(UnreadableDocument, match=r'^a.jsonl has no line like {"text": "…"}: write one JSON object'):
        read("plain", "lines")


@pytest.mark.parametrize("ours", ["source", "page", "row", "offset", "date", CELLS])
def test_what_is_said_of_every_passage_is_not_overwritten(tmp_path: Path, ours: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "A.", "metadata": {ours: "forged"}}))
    assert load(path)[0].metadata == {"source": str(path), "page": None, "row": 1, "date": None}


@pytest.mark.parametrize("page", [True, -1, 2.5, "7", 10**9])
def test_a_page_that_is_none_is_left_out(page: object) -> None:
    assert read({"text": "A.", "metadata": {"page": page}}).sections[0].page is None


def test_metadata_are_bounded_and_hold_nothing_hidden() -> None:
    assert extra_of({"a\u200bb": "c\u202ed", "list": [{"k\u200b": "v\u200b"}]}) == {"ab": "cd", "list": [{"k": "v"}]}
    assert extra_of({"long": "x" * 1_001, "k" * 65: 1, "": 1, "kept": 1}) == {"kept": 1}
    assert len(extra_of({f"key {number}": number for number in range(100)}) or {}) == 32
    assert read('{"text": "A.", "metadata": {"much": 1e999, "none": NaN}}').sections[0].extra is None
    assert read('{"text": "A.", "metadata": "none"}').sections[0].extra is None


def test_a_separator_within_a_string_ends_no_line() -> None:
    sections = read('{"text": "one\u2028two\u0085three"}', {"text": "B."}).sections
    assert [(section.row, section.text) for section in sections] == [(1, "one\ntwo\nthree"), (2, "B.")]
