"""Texts checked over HTTP: events, results, quotes, exports, and what is refused."""

from contextlib import AbstractContextManager
from typing import Any

import httpx
import pytest

from tests.integration.server.scripted_server import Models, client_of, events_of, scripted_app
from tests.scripted import ScriptedCritic
from tests.unit.retrieval.documents.pdfs import pdf

TRUE = "Air scatters blue light more than red light."
TEXT = f"# Light\n\n{TRUE} Moss grows on 40 roofs. Why?"


def client(**options: Any) -> AbstractContextManager[httpx.AsyncClient]:
    models = Models(judge=ScriptedCritic(otherwise={"support": "fully supported"}))
    return client_of(scripted_app(models, **options))


async def kinds_of(asking: httpx.AsyncClient, id_: str) -> list[str]:
    return [kind async for _, kind, _ in events_of(await asking.get(f"/api/runs/{id_}/events"))]


async def test_a_text_is_checked_event_by_event_and_exported() -> None:
    with client() as asking:
        started = await asking.post("/api/checks", json={"text": TEXT, "name": "essay"})
        assert started.status_code == 202
        id_ = started.json()["id"]
        assert await kinds_of(asking, id_) == ["queued", "running", *3 * ["claim_checked"], "finished"]
        run = (await asking.get(f"/api/runs/{id_}")).json()
        assert (run["kind"], run["question"], run["state"]) == ("check", "essay", "finished")
        assert [one["label"] for one in run["result"]["claims"]] == ["fully supported", "no support", "no claim"]
        cited = (await asking.get(f"/api/runs/{id_}/citations/1")).json()
        assert cited["quote"] == run["result"]["citations"][0]["quote"]
        page = await asking.get(f"/api/runs/{id_}/export", params={"format": "html"})
        assert 'class="no-support"' in page.text
        assert 'filename="claims.html"' in page.headers["Content-Disposition"]
        markdown = (await asking.get(f"/api/runs/{id_}/export")).text
        assert f"{TRUE} [1] Moss grows on 40 roofs. [not supported by the documents] Why?" in markdown
        assert (await asking.get(f"/api/runs/{id_}/export", params={"format": "json"})).json() == run["result"]
        assert (await asking.get(f"/api/runs/{id_}/picture.svg")).status_code == 409
        assert (await asking.get("/api/runs")).json()["runs"][0]["kind"] == "check"


async def test_a_file_is_read_by_what_its_name_says() -> None:
    with client() as asking:
        started = await asking.post("/api/checks/essay.pdf", content=pdf([TRUE]))
        await kinds_of(asking, started.json()["id"])
        run = (await asking.get(f"/api/runs/{started.json()['id']}")).json()
    assert (run["question"], [one["text"] for one in run["result"]["claims"]]) == ("essay.pdf", [TRUE])


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/api/checks", {"json": {}}, "text"),
        ("/api/checks", {"json": {"text": "a", "more": 1}}, "more"),
        ("/api/checks/essay.pdf", {"content": b"no PDF"}, "the text.pdf"),
        ("/api/checks/essay.md", {"content": b""}, "is empty"),
        ("/api/checks/essay.%00%0a", {"content": b""}, "is empty"),
    ],
)
async def test_what_cannot_be_checked_is_refused(path: str, body: dict[str, Any], said: str) -> None:
    with client() as asking:
        refused = await asking.post(path, **body)
    assert refused.status_code == 400
    assert said in refused.json()["error"]["message"]


async def test_a_text_without_a_sentence_fails_as_a_run() -> None:
    with client() as asking:
        started = await asking.post("/api/checks", json={"text": " \n"})
        assert (await kinds_of(asking, started.json()["id"]))[-1] == "failed"
        run = (await asking.get(f"/api/runs/{started.json()['id']}")).json()
    assert (run["state"], "no sentence to check" in run["error"]) == ("failed", True)
