"""Turn a passage into the columns in which a store keeps it, and back."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from langchain_core.documents import Document

from core.passages import LONGEST_HEADING, LONGEST_TITLE
from core.text import shortened_in_the_middle
from core.words import pairs_of

_OWN = ("source", "page", "row", "offset", "date")
_ABOVE = {"title": LONGEST_TITLE, "heading": LONGEST_HEADING}  # what stands above a passage, and its most characters


class PassageColumns(NamedTuple):
    """A passage; ``extra`` is the rest of its metadata as JSON, ``pairs`` its pairs of CJK characters."""

    text: str
    page: int | None
    row: int | None
    offset: int | None
    date: str | None
    extra: str | None
    title: str | None
    heading: str | None
    pairs: str | None = None


def columns_of(passage: Document) -> PassageColumns:
    """Return the columns of a passage; a page, row, offset or date of a wrong type becomes None."""
    metadata = passage.metadata
    page, row, offset = (
        value if isinstance(value, int) else None for value in (metadata.get(key) for key in ("page", "row", "offset"))
    )
    day = metadata.get("date")
    above = {key: _above(metadata, key) for key in _ABOVE}
    rest = {
        key: value for key, value in metadata.items() if key not in _OWN and (key not in _ABOVE or value != above[key])
    }
    return PassageColumns(
        passage.page_content,
        page,
        row,
        offset,
        day if isinstance(day, str) else None,
        json.dumps(rest, default=str) if rest else None,
        above["title"],
        above["heading"],
        pairs_of(passage.page_content, *above.values()),
    )


def passage_document(id_: int, path: bytes, columns: PassageColumns) -> Document:
    """Return a passage as searches return it; ``path`` and perhaps ``columns.date`` are those of its document."""
    kept = columns._asdict()
    above = {key: kept[key] for key in _ABOVE if kept[key]}
    own = {"source": path.decode("utf-8", "replace")} | {key: kept[key] for key in _OWN[1:]}
    metadata = above | (json.loads(columns.extra) if columns.extra else {}) | own
    return Document(columns.text, id=str(id_), metadata=metadata)


def row_id(id_: str) -> int | None:
    """Return the row id for a passage's id; None if the text cannot be an id."""
    return int(id_) if id_.isdecimal() and id_.isascii() and len(id_) < 19 else None


def _above(metadata: Mapping[str, Any], key: str) -> str | None:
    """Return the title or heading on one line, shortened if it is long; None if there is none."""
    value = metadata.get(key)
    return shortened_in_the_middle(value, _ABOVE[key]) or None if isinstance(value, str) else None
