"""Read a question set of any known form: which form it is, its content says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from errors import RequestError
from evaluation.datasets_rows import Row, examples_of, rows_of_csv
from evaluation.datasets_squad import is_squad, read_squad
from evaluation.records import Dataset
from retrieval.documents.decode import decode, is_binary
from retrieval.errors import shown

FORMS = "JSONL, a JSON list, SQuAD 2.0 or CSV, with a question in each row"
Paragraphs = tuple[int, int]


def load(path: Path, documents: Path, paragraphs: Paragraphs | None = None) -> Dataset:
    """The examples of a file: SQuAD JSON, JSONL, a JSON list, or a table of separated values.

    Of SQuAD's the paragraphs become text files in the folder ``documents``, and ``paragraphs``, from and to, counting
    from 1, are those whose questions are taken. Raises `RequestError` with file, place and remedy.
    """
    name, text = shown(path.name), _text_of(path)
    rows: list[Row]
    if text.lstrip()[0] in "{[":
        loaded = _json(name, text)
        if is_squad(loaded):
            return Dataset(name_of(path, paragraphs), *read_squad(name, loaded, documents, paragraphs))
        rows = _rows_of_json(name, text, loaded)
    else:
        rows = rows_of_csv(name, text)
    if paragraphs:
        raise RequestError(f"{name} has no paragraphs to choose from: leave --paragraphs out.")
    examples = examples_of(name, rows)
    if not examples:
        raise RequestError(f"{name} holds no question: write {FORMS}.")
    return Dataset(name_of(path, paragraphs), examples)


def name_of(path: Path, paragraphs: Paragraphs | None = None) -> str:
    """The dataset's name: that of its file, and its paragraphs where some were chosen."""
    return path.stem + ("-{}-{}".format(*paragraphs) if paragraphs else "")


def _text_of(path: Path) -> str:
    try:
        text = decode(path.read_bytes())
    except IsADirectoryError as error:
        raise RequestError(f"{shown(path)} is a folder: name a file of questions.") from error
    except FileNotFoundError as error:
        raise RequestError(f"There is no file {shown(path)}: check the path of the question set.") from error
    except OSError as error:
        raise RequestError(f"{shown(path)} cannot be read ({error.strerror}): check its permissions.") from error
    if is_binary(text):
        raise RequestError(f"{shown(path.name)} is not text: write {FORMS}.")
    if not text.strip():
        raise RequestError(f"{shown(path.name)} is empty: write {FORMS}.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _json(name: str, text: str) -> Any:
    """The whole as JSON; None where it is JSON line by line."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise RequestError(f"{name} is nested too deeply: write {FORMS}.") from error
    except json.JSONDecodeError as error:
        first, _, others = text.strip().partition("\n")
        if first.startswith("{") and (_is_json(first) or others.startswith("{")):
            return None
        raise RequestError(
            f"{name}, line {error.lineno}: this is no JSON ({error.msg}): correct it, or write {FORMS}."
        ) from error


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _rows_of_json(name: str, text: str, loaded: Any) -> list[Row]:
    if isinstance(loaded, list):
        return [_row(name, f"entry {number}", entry) for number, entry in enumerate(loaded, 1)]
    if isinstance(loaded, dict):
        return [("line 1", loaded)]
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(_row(name, f"line {number}", json.loads(line)))
        except (ValueError, RecursionError) as error:
            said = getattr(error, "msg", error)
            raise RequestError(
                f"{name}, line {number}: this is no JSON ({said}): write one object a line, on one line."
            ) from error
    return rows


def _row(name: str, place: str, entry: Any) -> Row:
    if not isinstance(entry, dict):
        raise RequestError(f'{name}, {place}: this is no object: write {{"question": "…"}} there.')
    return place, entry
