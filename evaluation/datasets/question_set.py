"""Read a question set in any known format, recognised by its content, and select the questions to ask."""

import json
import os
import random
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from core.errors import RequestError
from core.files import FileTooLargeError, NotRegularFileError, read_regular
from core.fingerprint import digest
from core.text import shown_path
from evaluation.datasets.row_formats import Row, read_rows, rows_of_csv
from evaluation.datasets.squad import is_squad, rows_of_squad
from evaluation.records import Dataset, Example
from retrieval.documents.decode import decode, is_binary

FORMS = "JSONL, a JSON list, SQuAD 2.0 or CSV, with a question in each row"
LARGEST = 100_000_000  # bytes: parsed, they take ten times that in memory
LONGEST_NAME = 255  # bytes of a folder's name
# Control characters, line breaks, characters that change the writing direction, and the path separator.
UNSAFE_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069/]")
REMEDIES = {NotRegularFileError: "name a file of questions", FileTooLargeError: "split it into smaller ones"}
Paragraphs = tuple[int, int]


def load(path: Path, documents: Path, paragraphs: Paragraphs | None = None) -> Dataset:
    """Load the examples of a file: SQuAD JSON, JSONL, a JSON list, or a table of separated values.

    SQuAD paragraphs are written as text files into the folder ``documents``; ``paragraphs`` is the first and the last
    whose questions are asked, counted from 1. The paths in a field ``docs`` are relative to the file's folder.
    Raises `RequestError` with file, place and remedy.
    """
    name, text = shown_path(path.name), _text_of(path)
    loaded = _json(name, text) if text.lstrip()[0] in "{[" else None
    folder: Path | None = None
    if is_squad(loaded):
        rows, folder = rows_of_squad(name, loaded, documents, paragraphs)
    elif paragraphs:
        raise RequestError(f"{name} has no paragraphs to choose from: leave --paragraphs out.")
    elif text.lstrip()[0] in "{[":
        rows = _rows_of_json(name, text, loaded)
    else:
        rows = rows_of_csv(name, text)
    examples, documents_named = read_rows(name, rows)
    if not examples:
        remedy = "choose other paragraphs with --paragraphs" if paragraphs else f"write {FORMS}"
        raise RequestError(f"{name} holds no question: {remedy}.")
    own = (folder,) if folder else tuple(path.parent / one for one in documents_named)
    return Dataset(dataset_name(path, paragraphs), examples, own)


def select_examples(
    examples: Sequence[Example], *, most: int | None = None, balanced: bool = False, seed: int | None = None
) -> list[Example]:
    """Return all examples in their order, or a sample of at most ``most``; ``balanced`` makes half of it unanswerable.

    A sample is shuffled by ``seed``, 0 if None. Samples of one seed are prefixes of each other, so that a larger one
    extends a smaller. Raises `RequestError` if either half would be empty.
    """
    if most is None and not balanced and seed is None:
        return list(examples)
    shuffled = list(examples)
    random.Random(seed or 0).shuffle(shuffled)  # noqa: S311 - sampling, not cryptography
    if not balanced:
        return shuffled[:most]
    answerable = [example for example in shuffled if example.answerable]
    unanswerable = [example for example in shuffled if example.answerable is False]
    if not answerable or not unanswerable:
        missing = "answerable" if not answerable else "unanswerable"
        raise RequestError(f"No question is marked as {missing}: leave --balanced out, or mark some.")
    return list(chain.from_iterable(zip(answerable, unanswerable, strict=False)))[:most]


def dataset_name(path: Path, paragraphs: Paragraphs | None = None) -> str:
    """Return the name of the dataset and of its folder: the file's, with the range of paragraphs if one was chosen.

    A name that cannot be a folder's, or that has control characters, is replaced by a safe one with a hash of it.
    """
    name = path.stem + ("-{}-{}".format(*paragraphs) if paragraphs else "")
    if name not in ("", ".", "..") and not UNSAFE_CHARACTERS.search(name) and len(os.fsencode(name)) <= LONGEST_NAME:
        return name
    plain = UNSAFE_CHARACTERS.sub("", name).strip(".").encode("utf-8", "replace")[:200].decode("utf-8", "ignore")
    return f"{plain or 'questions'}-{digest(name)[:12]}"


def _text_of(path: Path) -> str:
    try:
        text = decode(read_regular(path, LARGEST))
    except IsADirectoryError as error:
        raise RequestError(f"{shown_path(path)} is a folder: name a file of questions.") from error
    except FileNotFoundError as error:
        raise RequestError(f"There is no file {shown_path(path)}: check the path of the question set.") from error
    except OSError as error:
        remedy = REMEDIES.get(type(error), "check its permissions")
        raise RequestError(f"{shown_path(path)} cannot be read ({error.strerror}): {remedy}.") from error
    if is_binary(text):
        raise RequestError(f"{shown_path(path.name)} is not text: write {FORMS}.")
    if not text.strip():
        raise RequestError(f"{shown_path(path.name)} is empty: write {FORMS}.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _json(name: str, text: str) -> Any:
    """Parse the whole text as JSON; return None if it is JSON lines."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("{") and (error.msg == "Extra data" or "\n{" in text):
            return None
        raise RequestError(
            f"{name}, line {error.lineno}: this is not JSON ({error.msg}): correct it, or write {FORMS}."
        ) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or a thousand brackets
        raise RequestError(f"{name} is not JSON that can be read ({error}): write {FORMS}.") from error


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
            reason = getattr(error, "msg", error)
            raise RequestError(
                f"{name}, line {number}: this is not JSON ({reason}): write one object per line."
            ) from error
    return rows


def _row(name: str, place: str, entry: Any) -> Row:
    if not isinstance(entry, dict):
        raise RequestError(f'{name}, {place}: this is not an object: write {{"question": "…"}} there.')
    return place, entry
