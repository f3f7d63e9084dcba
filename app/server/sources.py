"""Where a quote stands: in the text around it and, for a PDF, on a picture of its page."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.server.errors import NotFoundError
from core.passages import section_of
from core.text import location
from core.types import Citation
from retrieval.sandbox.pages import PageReader
from retrieval.store import Surroundings

Around = Callable[[Citation], Surroundings]


def in_passage(citation: Citation) -> Surroundings:
    """Return the text around a citation as far as its passage goes: for use where the document is not known."""
    passage, start, end = citation["passage"], citation["start"], citation["end"]
    return Surroundings(passage[:start], passage[start:end], passage[end:])


class Sources:
    """Shows citations in their documents; ``around`` finds the text around a citation, ``pages`` reads PDFs."""

    def __init__(self, around: Around = in_passage, pages: PageReader | None = None) -> None:
        self.pages = pages
        self._around = around
        self._reading = asyncio.Lock()  # one page at a time, and no thread that waits for its turn

    async def place(self, citation: Citation, address: str) -> dict[str, Any]:
        """Return a quote, the text around it and, for a PDF, its place on the page, whose picture is at ``address``."""
        around = await asyncio.to_thread(self._around, citation)
        told: dict[str, Any] = {
            "kind": "text",
            "before": around.before,
            "quote": around.quote,
            "after": around.after,
            "section": section_of(citation),
            "place": location(citation["source"], citation["page"], citation["row"]),
            **{key: citation.get(key) for key in ("source", "page", "row", "date")},
        }
        if self.pages and (indexed := _page_of(citation, around)):
            path, page, checksum = indexed
            near = in_passage(citation)
            rest = {"before": near.before, "after": near.after}
            async with self._reading:
                placed = await asyncio.to_thread(self.pages.place_quote, path, page, around.quote, checksum, **rest)
            if placed:
                rectangles = [list(rectangle) for rectangle in placed.rectangles]
                told |= {"kind": "page", "page_image": address, "rectangles": rectangles}
                told |= {"width": placed.width, "height": placed.height}
        return told

    async def picture(self, citation: Citation, width: int) -> bytes:
        """Draw the page of a citation. Raises `NotFoundError` where there is none, or the file has changed."""
        around = await asyncio.to_thread(self._around, citation)
        drawn = None
        if self.pages and (indexed := _page_of(citation, around)):
            path, page, checksum = indexed
            async with self._reading:
                drawn = await asyncio.to_thread(self.pages.render_page, path, page, checksum, width)
        if drawn is None:
            raise NotFoundError("There is no picture of the page: the file is no PDF, or not the one that was indexed.")
        return drawn


def _page_of(citation: Citation, around: Surroundings) -> tuple[Path, int, str] | None:
    """Return the file, the page and the SHA-256 of what was indexed; None if the citation is not from a PDF."""
    path, page, checksum = around.path, citation["page"], around.sha256
    return (path, page, checksum) if path and page and checksum else None
