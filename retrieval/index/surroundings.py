"""Read documents back: a quote or a passage in its surroundings, or the text of a page."""

import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from langchain_core.documents import Document

from retrieval.filters import Visible
from retrieval.index.database import Database
from retrieval.index.document_rows import get_passages, ids_of_names
from retrieval.index.vector_rows import text_hash
from retrieval.store import MOST_AROUND, Surroundings

_READ = 20  # passages on each side, as some are short
_READ_OF_DOCUMENT = 1_000
_SENTENCE_END = re.compile(r"""[.!?:;…。！？]["'”’»)\]]*$""")


def surroundings(
    database: Database,
    source: str,
    passage: str,
    start: int,
    end: int,
    *,
    page: int | None = None,
    row: int | None = None,
    most: int = MOST_AROUND,
) -> Surroundings:
    """Return up to ``most`` characters of a document before and after ``passage[start:end]``, from whole words.

    What two passages share is there once, and a blank line stands between pages and rows. If the document no longer has
    the passage, or has it more than once on that page or in that row, there is only the passage itself.
    """
    before, quote, after = passage[:start], passage[start:end], passage[end:]
    path = sha256 = None
    with database.reading() as connection:
        ids = [id_ for (id_,) in connection.execute("SELECT id FROM passages WHERE hash = ?", (text_hash(passage),))]
        found = {
            id_: document
            for id_, document in get_passages(connection, ids).items()
            if (document.metadata["source"], document.metadata["page"], document.metadata["row"]) == (source, page, row)
        }
        documents = {_document(connection, id_) for id_ in found}
        if len(documents) == 1:
            _, path, sha256 = documents.pop()
        if len(found) == 1:
            ((id_, document),) = found.items()
            before = _preceding(connection, id_, document, most - len(before)) + before
            after = after + _following(connection, id_, document, most - len(after))
    return Surroundings(_last(before, most), quote, _first(after, most), path, sha256)


def find_passage(database: Database, name: str, visible: Visible | None = None) -> Document | None:
    """Return the passage with an id; None if there is none, or the path of its document is not ``visible``."""
    with database.reading() as connection:
        for id_ in ids_of_names(connection, [name]).values():
            (path,) = connection.execute(
                "SELECT path FROM documents JOIN passages ON documents.id = document WHERE passages.id = ?", (id_,)
            ).fetchone()
            if visible is None or visible(path):
                return get_passages(connection, [id_])[id_]
    return None


def text_of(database: Database, path: bytes, page: int | None, most: int) -> tuple[str, bool]:
    """Return up to ``most`` characters of a file or of one of its pages, from its beginning, and whether that is all.

    What two passages share is there once, and a blank line stands between pages and rows. Without passages it is "".
    """
    with database.reading() as connection:
        rows = connection.execute(
            "SELECT passages.id FROM passages JOIN documents ON documents.id = document "
            "WHERE path = ?1 AND origin = 'file' AND (?2 IS NULL OR page = ?2) ORDER BY passages.id LIMIT ?3",
            (path, page, _READ_OF_DOCUMENT + 1),
        )
        ids = [id_ for (id_,) in rows]
        passages = get_passages(connection, ids[:_READ_OF_DOCUMENT])
    text = ""
    end: Document | None = None
    for passage in (passages[id_] for id_ in ids[:_READ_OF_DOCUMENT]):
        text, end = _extended(text, end, passage) if end else (passage.page_content, passage)
    return _first(text, most), len(ids) <= _READ_OF_DOCUMENT and len(text) <= most


def _document(connection: sqlite3.Connection, passage: int) -> tuple[int, Path | None, str | None]:
    """Return the id of a passage's document, and the path and the hash of its file, if it is of one."""
    id_, path, origin, sha256 = connection.execute(
        "SELECT documents.id, path, origin, sha256 FROM documents "
        "JOIN passages ON documents.id = document WHERE passages.id = ?",
        (passage,),
    ).fetchone()
    return (id_, Path(os.fsdecode(path)), sha256) if origin == "file" else (id_, None, None)


def _preceding(connection: sqlite3.Connection, id_: int, passage: Document, most: int) -> str:
    """Return the text of the document that ends where a passage begins."""
    text, begin = "", passage
    for earlier in _neighbours(connection, id_, "< ? ORDER BY id DESC"):
        if len(text) >= most or not _is_split(begin):
            break
        if _section(earlier) == _section(begin):
            offset = begin.metadata["offset"]
            text = earlier.page_content[: max(0, offset - earlier.metadata["offset"])] + _gap(earlier, begin) + text
            begin = earlier if earlier.metadata["offset"] < offset else begin
        else:
            text, begin = f"{earlier.page_content}\n\n{text}", earlier
    return text


def _following(connection: sqlite3.Connection, id_: int, passage: Document, most: int) -> str:
    """Return the text of the document that begins where a passage ends."""
    text, end = "", passage
    for later in _neighbours(connection, id_, "> ? ORDER BY id"):
        if len(text) >= most or not _is_split(end):
            break
        text, end = _extended(text, end, later)
    return text


def _extended(text: str, end: Document, later: Document) -> tuple[str, Document]:
    """Return a text that ends where a passage does with what a later one adds, and the passage that it ends with."""
    if _section(later) != _section(end):
        return f"{text}\n\n{later.page_content}", later
    known = max(0, _end(end) - later.metadata["offset"])
    return text + _gap(end, later) + later.page_content[known:], later if _end(later) > _end(end) else end


def _neighbours(connection: sqlite3.Connection, id_: int, which: str) -> Iterator[Document]:
    """Yield the nearest passages of the same document, the nearest first: ids are in the order of the text."""
    rows = connection.execute(
        f"SELECT id FROM passages WHERE document = (SELECT document FROM passages WHERE id = ?) AND id {which} LIMIT ?",  # noqa: S608
        (id_, id_, _READ),
    )
    ids = [one for (one,) in rows]
    passages = get_passages(connection, ids)
    yield from (passages[one] for one in ids if _is_split(passages[one]))


def _is_split(passage: Document) -> bool:
    """True if a passage was split from a longer text: others that were added to a source need not belong together."""
    return passage.metadata["offset"] is not None


def _section(passage: Document) -> tuple[int | None, int | None]:
    return passage.metadata["page"], passage.metadata["row"]


def _end(passage: Document) -> int:
    return int(passage.metadata["offset"]) + len(passage.page_content)


def _gap(one: Document, other: Document) -> str:
    """Return white space for what lies between two passages of a section, of which the index knows the length only."""
    length = other.metadata["offset"] - _end(one)
    if length <= 0:
        return ""
    if length > 1:
        return "\n\n"
    return " " if _SENTENCE_END.search(one.page_content) or other.page_content[:1].islower() else "\n"


def _last(text: str, most: int) -> str:
    return text if len(text) <= most else re.sub(r"^\S{1,40}\s", "", text[-most:])


def _first(text: str, most: int) -> str:
    return text if len(text) <= most else re.sub(r"\s\S{1,40}$", "", text[:most])
