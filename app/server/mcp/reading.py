"""Read from the library what a caller may see of it: a passage, a page, the list of documents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from app.server.mcp.results import FetchResult
from app.server.names import named
from core.errors import RequestError
from core.text import path_text, shortened

if TYPE_CHECKING:
    from retrieval.filters import Visible
    from retrieval.library.library import Library
    from retrieval.sync_report import Source

AROUND = 2_000  # characters before a passage, and after it
LONGEST_TEXT = 20_000  # characters of a page or a document


def listed(library: Library, visible: Visible | None) -> list[Source]:
    """Return the documents that the caller may see."""
    return [one for one in library.sources() if visible is None or visible(os.fsencode(one.path))]


def read_passage(library: Library, id_: str, visible: Visible | None) -> FetchResult:
    """Return a passage with what surrounds it. Raises `RequestError` for an id that is none of the caller's."""
    passage = library.store.passage(id_, visible)
    if passage is None:
        raise RequestError(
            f"There is no passage {shortened(id_, 60)}: search again, for ids change with the documents."
        )
    about, text = passage.metadata, passage.page_content
    source, page, row = about["source"], about["page"], about["row"]
    around = library.store.surroundings(source, text, 0, len(text), page=page, row=row, most=AROUND)
    return FetchResult(
        source=source,
        title=about.get("title"),
        heading=about.get("heading"),
        page=page,
        row=row,
        date=about["date"],
        before=around.before,
        text=text,
        after=around.after,
    )


def read_page(library: Library, source: str, page: int | None, visible: Visible | None) -> FetchResult:
    """Return the text of a page, or of a document from its beginning. Raises `RequestError` where there is none."""
    known = listed(library, visible)
    wanted = path_text(source)
    found = [one for one in known if wanted in (path := path_text(one.path), named(path, "source"))]
    found = found or [one for one in known if path_text(one.path.name) == wanted]
    told = shortened(source, 200)
    if not found:
        raise RequestError(f"There is no document {told}: list_documents names those there are.")
    if len(found) > 1:
        raise RequestError(f"{len(found)} documents have the name {told}: give the path of one.")
    (document,) = found
    text, complete = library.store.text_of(os.fsencode(document.path), page, LONGEST_TEXT)
    if not text:
        where = f"{told} has no page {page}" if page and document.passages else f"{told} has no text"
        raise RequestError(f"{where}: {document.reason or 'search names the pages that there are.'}")
    return FetchResult(source=path_text(document.path), page=page, date=document.date, text=text, complete=complete)
