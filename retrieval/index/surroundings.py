"""Read documents back: a quote or a passage in its surroundings, or the text of a page."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from langchain_core.documents import Document

from retrieval.adjoining import READ, READ_OF_DOCUMENT, first, following, joined, last, preceding
from retrieval.filters import Visible
from retrieval.index.database import Database
from retrieval.index.document_rows import get_passages
from retrieval.passage_columns import row_id
from retrieval.store import MOST_AROUND, Surroundings
from retrieval.unit_vectors import text_hash


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
        files = {_file(connection, id_) for id_ in found}
        if len(files) == 1:
            _, name, sha256 = files.pop()
            path = Path(os.fsdecode(name))
        if len(found) == 1:
            ((id_, document),) = found.items()
            earlier = _neighbours(connection, id_, "< ? ORDER BY id DESC")
            later = _neighbours(connection, id_, "> ? ORDER BY id")
            before = preceding(document, earlier, most - len(before)) + before
            after = after + following(document, later, most - len(after))
    return Surroundings(last(before, most), quote, first(after, most), path, sha256)


def find_passage(database: Database, name: str, visible: Visible | None = None) -> Document | None:
    """Return the passage with an id; None if there is none, or the path of its document is not ``visible``."""
    if (id_ := row_id(name)) is None:
        return None
    with database.reading() as connection:
        found = get_passages(connection, [id_]).get(id_)
        return found if found and (visible is None or visible(_file(connection, id_)[1])) else None


def text_of(database: Database, path: bytes, page: int | None, most: int) -> tuple[str, bool]:
    """Return up to ``most`` characters of a file or of one of its pages, from its beginning, and whether that is all.

    What two passages share is there once, and a blank line stands between pages and rows. Without passages it is "".
    """
    with database.reading() as connection:
        rows = connection.execute(
            "SELECT passages.id FROM passages JOIN documents ON documents.id = document "
            "WHERE path = ?1 AND (?2 IS NULL OR page = ?2) ORDER BY passages.id LIMIT ?3",
            (path, page, READ_OF_DOCUMENT + 1),
        )
        ids = [id_ for (id_,) in rows]
        passages = get_passages(connection, ids[:READ_OF_DOCUMENT])
    text = joined(passages[id_] for id_ in ids[:READ_OF_DOCUMENT])
    return first(text, most), len(ids) <= READ_OF_DOCUMENT and len(text) <= most


def _file(connection: sqlite3.Connection, passage: int) -> tuple[int, bytes, str | None]:
    """Return the id, path and hash of a passage's file."""
    row: tuple[int, bytes, str | None] = connection.execute(
        "SELECT documents.id, path, sha256 FROM documents JOIN passages ON documents.id = document "
        "WHERE passages.id = ?",
        (passage,),
    ).fetchone()
    return row


def _neighbours(connection: sqlite3.Connection, id_: int, which: str) -> Iterator[Document]:
    """Yield the nearest passages of the same document, the nearest first: ids are in the order of the text."""
    rows = connection.execute(
        f"SELECT id FROM passages WHERE document = (SELECT document FROM passages WHERE id = ?) AND id {which} LIMIT ?",  # noqa: S608
        (id_, id_, READ),
    )
    ids = [one for (one,) in rows]
    passages = get_passages(connection, ids)
    yield from (passages[one] for one in ids)
