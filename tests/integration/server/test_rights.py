"""Who may read what: what a person may not read is never found, listed, counted, named or hinted at."""

import json
import os
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.server import people
from app.server.access import Access
from app.server.people import TokensFile
from tests.integration.graph.sky import AIR, QUESTION
from tests.integration.mcp_clients import called, over_http
from tests.integration.server.scripted_server import (
    ANN,
    BOB,
    app_with_documents,
    client_of,
    found,
    listed,
    listening,
    written,
)

TOKENS = "ann ann-has-a-long-token staff\nbob bob-has-another-token staff board\n"
RULES = "only secret board\nonly 'plan b.txt' bob\n"
SECRET = "Air scatters blue light, the board says of the sky: blue, blue is the sky, says the board, and so its flag."
# What differs from one run to the next.
CHANGING = re.compile(r'/runs/[\w-]+|127.0.0.1:\d+|"(seconds|began|created|id|X-Run-Id|run_id)": ?("[^"]*"|[\d.e-]+)')


def served(folder: Path, rules: str = RULES, *, secret: bool = True) -> tuple[FastAPI, Path]:
    """A server of two open documents and perhaps two that not everybody may read, and its tokens file."""
    texts = {"sky.txt": AIR, "wood.txt": "Wood floats on water, whatever its colour."}
    if secret:
        texts |= {
            "secret/minutes.txt": SECRET,
            "plan b.txt": f"{SECRET} Again.",
            "secret/wood.txt": "Of wood and blue light nothing is said.",
        }
    written(folder / "shared", texts)
    tokens = folder / "tokens"
    tokens.write_text(TOKENS + rules)
    roots = [f"shared/{name}" for name in ("sky.txt", "wood.txt", "secret/wood.txt") if name in texts]
    read = TokensFile(tokens)
    return app_with_documents(folder, *roots, "shared", people=read, access=Access(read)), tokens


async def all_that_ann_is_told(folder: Path, *, secret: bool) -> list[str]:
    """Every answer that could show a document, without what differs from run to run, and without the folder's name."""
    app, _ = served(folder, secret=secret)
    options: list[dict[str, Any]] = [{}, {"sources": ["sky.txt"], "mode": "always"}, {"mode": "always", "k": 50}]
    options += [{"sources": [name]} for name in ("secret", "minutes.txt", "nothing.txt")]
    asked = {"model": "self-rag", "messages": [{"role": "user", "content": QUESTION}]}
    with listening(app) as address:
        async with httpx.AsyncClient(base_url=address, headers=ANN, timeout=60) as client:
            told = [await client.post("/api/ask", json={"question": QUESTION, **given}) for given in options]
            told += [await client.get(f"/api/{name}") for name in ("documents", "settings", "runs", "graph")]
            told.append(await client.post("/v1/chat/completions", json=asked))
        texts = [f"{one.status_code} {one.text}" for one in told]
        assert all(one.status_code == 200 for one in [*told[:3], *told[6:]]), texts
        async with over_http(address, ANN) as agent:
            tools = {"search": {"query": SECRET, "k": 20}, "list_documents": {}, "verify_claim": {"claim": SECRET}}
            texts += [json.dumps(await called(agent, tool, **given)) for tool, given in tools.items()]
            for wanted in ({"source": "minutes.txt", "page": 9}, {"source": "plan b.txt"}, {"passage_id": "3"}):
                texts.append(str((await agent.call_tool("fetch", wanted)).content))
        async with httpx.AsyncClient(base_url=address, headers=ANN, timeout=60) as client:
            own = await client.put("/api/documents/minutes.txt", content=b"Minutes of my own.")
            other = await client.delete("/api/documents/plan%20b.txt")
        texts += [own.text, f"{other.status_code} {other.text}"]
    return [CHANGING.sub("", text).replace(str(folder), "") for text in texts]


async def test_byte_by_byte_nothing_tells_whether_there_is_what_one_may_not_read(tmp_path: Path) -> None:
    with_secret = await all_that_ann_is_told(tmp_path / "one" / "world", secret=True)
    without = await all_that_ann_is_told(tmp_path / "two" / "world", secret=False)
    assert with_secret == without
    assert not any(name in text for name in ("minutes", "plan b") for text in [*with_secret[:3], *with_secret[6:10]])
    app, _ = served(tmp_path / "three")
    with client_of(app, headers=BOB) as client:
        assert {"minutes.txt", "plan b.txt", "sky.txt"} <= (await listed(client)).keys()
        assert "minutes.txt" in await found(client, sources=["secret"])


async def test_a_change_of_the_tokens_file_holds_without_a_restart_and_a_wrong_one_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(people, "LOOK_SECONDS", 0)
    app, tokens = served(tmp_path)
    with client_of(app) as client:
        assert "minutes.txt" not in await listed(client, ANN)
        run = (await client.post("/api/ask", json={"question": QUESTION}, headers=BOB)).headers
        cited = f"/api/runs/{run['X-Run-Id']}/citations/1"
        assert (await client.get(cited, headers=BOB)).status_code == 200
        tokens.write_text(f"{TOKENS}only secret ann\nonly\n")
        assert (await client.get("/api/runs", headers=BOB)).status_code == 200
        assert "minutes.txt" not in await listed(client, ANN)
        assert "Line 4 of" in caplog.text
        assert "Until then" in caplog.text
        tokens.write_text(
            "ann ann-has-a-new-long-token\nbob bob-has-another-token\nonly secret ann\nonly sky.txt ann\n"
        )
        assert (await client.get("/api/runs", headers=ANN)).status_code == 401
        assert "minutes.txt" in await listed(client, {"Authorization": "Bearer ann-has-a-new-long-token"})
        assert "minutes.txt" not in await listed(client, BOB)
        assert "minutes.txt" not in await found(client, BOB, k=50)
        gone = await client.get(cited, headers=BOB)
        assert (gone.status_code, "no longer read" in gone.text) == (404, True)
        tokens.unlink()
        assert (await client.get("/api/runs", headers=BOB)).status_code == 200


def test_each_rule_that_fits_must_name_the_reader_but_of_own_uploads_and_one_that_fits_nothing_is_told(
    tmp_path: Path,
) -> None:
    app, _ = served(tmp_path, f"{RULES}only minutes.txt ann\nonly mine.txt bob\n")
    documents = app.state.service.documents
    assert documents.unmatched() == ["mine.txt"]
    shared, own = tmp_path / "shared", documents.folder_of("ann")
    paths = [os.fsencode(one) for one in (shared / "secret/minutes.txt", shared / "plan b.txt", own / "mine.txt")]
    readers = {name: list(map(documents.visible_to(name), paths)) for name in ("ann", "bob")}
    assert readers == {"ann": [False, False, True], "bob": [False, True, False]}
