"""A citation is shown in the text around it and on the page of its PDF; nothing is marked when unsure."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx

from tests.integration.graph.sky import AIR, QUESTION, critic
from tests.integration.server.scripted_server import Models, app_with_documents, client_of, scripted_app, written
from tests.unit.retrieval.documents.pdfs import pdf


async def cited(client: httpx.AsyncClient, *sources: str) -> tuple[str, dict[str, Any]]:
    """The address of the quote of a question, perhaps about one document, and what is told of its place."""
    asked = await client.post("/api/ask", json={"question": QUESTION, "mode": "always", "sources": sources})
    address = f"/api/runs/{asked.headers['x-run-id']}/citations/1"
    return address, (await client.get(address)).json()


async def test_a_quote_is_shown_on_the_page_of_its_pdf_unless_that_has_changed(tmp_path: Path) -> None:
    written(tmp_path, {"docs/air.pdf": pdf(["Another page.", AIR]), "docs/air.md": f"# Before\n\n{AIR}\n\nAfter."})
    app = app_with_documents(tmp_path, "docs", models=Models(judge=critic(relevance="relevant")))
    with client_of(app) as client:
        address, place = await cited(client, "air.pdf")
        assert (place["kind"], place["quote"], place["page"], place["citations"]) == ("page", AIR, 2, 1)
        assert (len(place["rectangles"]), len(place["rectangles"][0])) == (1, 4)
        assert place["height"] > place["width"] > 0
        picture = await client.get(f"{place['page_image']}?width=800")
        assert (picture.headers["content-type"], picture.content[:4]) == ("image/png", b"\x89PNG")
        assert int.from_bytes(picture.content[16:20]) == 800
        for width in ("1", "100000", "wide"):
            assert (await client.get(f"{place['page_image']}?width={width}")).status_code == 400
        written(tmp_path, {"docs/air.pdf": pdf(["Another page.", f"{AIR} It has changed."])})
        for address_, told in ((address, (await client.get(address)).json()), await cited(client, "air.md")):
            assert (told["kind"], told["quote"], "rectangles" in told) == ("text", AIR, False)
            assert (await client.get(f"{address_}/page.png")).status_code == 404
        assert "After." in told["after"]
    app.state.service.sources.pages.close = closed = Mock(wraps=app.state.service.sources.pages.close)
    async with app.router.lifespan_context(app):
        pass
    closed.assert_called_once_with()


async def test_a_citation_stands_in_its_passage_where_nothing_else_is_known() -> None:
    with client_of(scripted_app()) as client:
        address, place = await cited(client)
        assert (place["kind"], place["before"], place["quote"], place["after"]) == ("text", "", AIR, "")
        assert (place["place"], place["page"]) == ("notes.txt p. 3", 3)
        for number in ("0", "2", "x"):
            for path in ("", "/page.png"):
                told = await client.get(f"{address[:-1]}{number}{path}")
                assert told.status_code in (400, 404)
