"""Read lines of JSON, each an object with a text and what is known about it, as one text for each line."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from retrieval.clean import clean
from retrieval.documents.load_date import stated_day
from retrieval.documents.load_note import numbered

_OURS = frozenset({"source", "page", "row", "offset", "date"})  # what the index itself says of a passage
_KEYS = 32  # of metadata for each line
_KEY_LENGTH = 64  # characters
_VALUE_LENGTH = 1_000  # characters as JSON
_LARGEST_PAGE = 1_000_000


@dataclass(frozen=True)
class Line:
    """What one line says; ``row`` counts all lines of the file from 1."""

    row: int
    text: str
    page: int | None
    date: str | None
    extra: dict[str, Any] | None


def read_jsonl(text: str) -> tuple[list[Line], str]:
    """Return the lines with a text, and a note on those that are not objects with one.

    Blank lines are passed over but counted. Raises ``ValueError`` with the rest of a sentence that
    begins with the file's name when no line can be read.
    """
    lines, bad = [], []
    for row, source in _numbered(text):
        line = _line(row, source)
        if line is None:
            bad.append(row)
        else:
            lines.append(line)
    if bad and not lines:
        raise ValueError('has no line like {"text": "…"}: write one JSON object with a text on each line')
    if not bad:
        return lines, ""
    verb = "is not an object" if len(bad) == 1 else "are not objects"
    return lines, f"{numbered('line', bad)} {verb} with a text"


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    for row, source in enumerate(text.split("\n"), 1):
        if source.strip():
            yield row, source


def _line(row: int, source: str) -> Line | None:
    try:
        record = json.loads(source, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        return None
    metadata = record.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return Line(
        row,
        clean(record["text"]),
        _page(metadata.get("page")),
        stated_day(metadata.get("date")),
        _extra(metadata) or None,
    )


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _page(page: object) -> int | None:
    if isinstance(page, bool) or not isinstance(page, int):
        return None
    return page if 0 <= page <= _LARGEST_PAGE else None


def _extra(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that are not the index's own, without hidden characters, oversize ones left out."""
    extra: dict[str, Any] = {}
    for key, value in metadata.items():
        name = clean(key).strip()
        if 0 < len(name) <= _KEY_LENGTH and name not in _OURS and len(extra) < _KEYS and _fits(value):
            extra[name] = _cleaned(value)
    return extra


def _fits(value: object) -> bool:
    try:
        return len(json.dumps(value, ensure_ascii=False, allow_nan=False)) <= _VALUE_LENGTH
    except (ValueError, RecursionError):  # 1e999 is read as a number that JSON does not have
        return False


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    return value
