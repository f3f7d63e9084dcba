"""A citation is shown in the text around it and on the page of its PDF; nothing is marked when unsure."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.server.sources import Sources
from retrieval.documents.loaded import PageQuote
from retrieval.store import Surroundings
from tests.integration.graph.sky import AIR, QUESTION
from tests.integration.server.scripted_server import client_of, scripted_app

LINES = ((0.1, 0.2, 0.9, 0.25), (0.1, 0.25, 0.4, 0.3))
AROUND = Surroundings("Before. ", AIR, " After.", Path("/docs/notes.pdf"), "1" * 64)


@dataclass
class PageReader:
    """Finds the quote of one file, as long as its hash is that of what was indexed."""

    closed: bool = False
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def place_quote(self, path: Path, page: int, quote: str, checksum: str, *, before: str, after: str) -> Any:
        self.asked.append((path, page, quote, before, after))
        return PageQuote(595.0, 842.0, LINES) if checksum == AROUND.sha256 else None

    def render_page(self, path: Path, page: int, checksum: str, width: int) -> bytes | None:
        return b"\x89PNG %d" % width if checksum == AROUND.sha256 else None

    def close(self) -> None:
        self.closed = True


async def asked(client: httpx.AsyncClient) -> str:
    return str((await client.post("/api/ask", json={"question": QUESTION})).headers["x-run-id"])


async def test_a_quote_is_shown_on_the_page_of_its_pdf() -> None:
    reader = PageReader()
    app = scripted_app(sources=Sources(lambda citation: AROUND, reader))
    with client_of(app) as client:
        id_ = await asked(client)
        place = (await client.get(f"/api/runs/{id_}/citations/1")).json()
        assert (place["kind"], place["before"], place["quote"], place["after"]) == ("page", "Before. ", AIR, " After.")
        assert (place["rectangles"], place["width"], place["height"]) == ([list(one) for one in LINES], 595.0, 842.0)
        assert reader.asked == [(Path("/docs/notes.pdf"), 3, AIR, "", "")]
        picture = await client.get(f"{place['page_image']}?width=800")
        assert (picture.headers["content-type"], picture.content) == ("image/png", b"\x89PNG 800")
        for width in ("1", "100000", "wide"):
            assert (await client.get(f"{place['page_image']}?width={width}")).status_code == 400
    async with app.router.lifespan_context(app):
        pass
    assert reader.closed


@pytest.mark.parametrize(
    ("around", "reader"),
    [
        (replace(AROUND, sha256="2" * 64), PageReader()),  # the file has changed
        (replace(AROUND, path=None, sha256=None), PageReader()),
        (replace(AROUND, path=Path("/docs/notes.md")), PageReader()),
        (AROUND, None),
    ],
)
async def test_nothing_is_marked_when_unsure(around: Surroundings, reader: PageReader | None) -> None:
    with client_of(scripted_app(sources=Sources(lambda citation: around, reader))) as client:
        id_ = await asked(client)
        place = (await client.get(f"/api/runs/{id_}/citations/1")).json()
        assert (place["kind"], place["before"], "rectangles" in place) == ("text", "Before. ", False)
        assert (await client.get(f"/api/runs/{id_}/citations/1/page.png")).status_code == 404


async def test_a_citation_stands_in_its_passage_where_nothing_else_is_known() -> None:
    with client_of(scripted_app()) as client:
        id_ = await asked(client)
        place = (await client.get(f"/api/runs/{id_}/citations/1")).json()
        assert (place["kind"], place["before"], place["quote"], place["after"]) == ("text", "", AIR, "")
        assert (place["place"], place["page"]) == ("notes.txt p. 3", 3)
        for number in ("0", "2", "x"):
            for path in ("", "/page.png"):
                assert (await client.get(f"/api/runs/{id_}/citations/{number}{path}")).status_code in (400, 404)
