"""Read documents back: a quote or a passage in its surroundings, or the text of a page."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from langchain_core.documents import Document

from retrieval.adjoining import READ, READ_OF_DOCUMENT, first, following, joined, last, preceding
from retrieval.filters import Visible
from retrieval.index.database import Database
from retrieval.index.document_rows import get_passages, ids_of_names
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
        documents = {_document(connection, id_) for id_ in found}
        if len(documents) == 1:
            _, path, sha256 = documents.pop()
        if len(found) == 1:
            ((id_, document),) = found.items()
            earlier = _neighbours(connection, id_, "< ? ORDER BY id DESC")
            later = _neighbours(connection, id_, "> ? ORDER BY id")
            before = preceding(document, earlier, most - len(before)) + before
            after = after + following(document, later, most - len(after))
    return Surroundings(last(before, most), quote, first(after, most), path, sha256)


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
            (path, page, READ_OF_DOCUMENT + 1),
        )
        ids = [id_ for (id_,) in rows]
        passages = get_passages(connection, ids[:READ_OF_DOCUMENT])
    text = joined(passages[id_] for id_ in ids[:READ_OF_DOCUMENT])
    return first(text, most), len(ids) <= READ_OF_DOCUMENT and len(text) <= most


def _document(connection: sqlite3.Connection, passage: int) -> tuple[int, Path | None, str | None]:
    """Return the id of a passage's document, and the path and the hash of its file, if it is of one."""
    id_, path, origin, sha256 = connection.execute(
        "SELECT documents.id, path, origin, sha256 FROM documents "
        "JOIN passages ON documents.id = document WHERE passages.id = ?",
        (passage,),
    ).fetchone()
    return (id_, Path(os.fsdecode(path)), sha256) if origin == "file" else (id_, None, None)


def _neighbours(connection: sqlite3.Connection, id_: int, which: str) -> Iterator[Document]:
    """Yield the nearest passages of the same document, the nearest first: ids are in the order of the text."""
    rows = connection.execute(
        f"SELECT id FROM passages WHERE document = (SELECT document FROM passages WHERE id = ?) AND id {which} LIMIT ?",  # noqa: S608
        (id_, id_, READ),
    )
    ids = [one for (one,) in rows]
    passages = get_passages(connection, ids)
    yield from (passages[one] for one in ids)
