"""Threads over HTTP: asked, listed, corrected, exported, deleted, and continued after a restart."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
from fastapi import FastAPI

from app.conversations.answering import ThreadAnswers
from app.conversations.store import Threads
from app.conversations.thread import ThreadStorageError
from app.server import runs
from tests.integration.graph.sky import AIR, GOOD, QUESTION
from tests.integration.server.scripted_server import (
    ANN,
    BOB,
    CALLS,
    FOLLOW_UP,
    Models,
    asked,
    client_of,
    events_of,
    listening,
    scripted_app,
    tokens,
    until,
)


@contextmanager
def app_in(folder: Path, models: Models | None = None, **options: Any) -> Iterator[FastAPI]:
    """An application with threads in a folder; it does not start or shut down unless it is listening."""
    threads = Threads(folder / "threads")
    yield scripted_app(models, threads=threads, **options)
    threads.close()


async def begun(client: httpx.AsyncClient, **given: Any) -> str:
    answer = await client.post("/api/threads", json=given)
    assert answer.status_code == 201
    return str(answer.json()["id"])


async def said(client: httpx.AsyncClient, app: FastAPI, thread: str, question: str = QUESTION, **given: Any) -> str:
    return await asked(client, app, f"/api/threads/{thread}/runs", question=question, **given)


async def turns_of(client: httpx.AsyncClient, thread: str) -> list[dict[str, Any]]:
    return list((await client.get(f"/api/threads/{thread}")).json()["turns"])


async def test_a_conversation_is_kept_corrected_listed_renamed_and_deleted(tmp_path: Path) -> None:
    with app_in(tmp_path) as app, client_of(app) as client:
        assert (await client.get("/api/settings")).json()["threads"] is True
        thread, other = await begun(client), await begun(client, title="Other")
        first = await said(client, app, thread)
        last = await said(client, app, thread, FOLLOW_UP)
        await said(client, app, thread, FOLLOW_UP, standalone="Is the sky blue?", replaces=last)
        late = await client.post(f"/api/threads/{thread}/runs", json={"question": "x", "replaces": first})
        assert (late.status_code, "Only the last question" in late.text) == (409, True)
        listed = (await client.get("/api/threads")).json()["threads"]
        told = [(one["id"], one["title"], one["turns"]) for one in listed]
        assert told == [(thread, QUESTION, 2), (other, "Other", 0)]
        one, *later = await turns_of(client, thread)
        assert one == {
            "run": first, "number": 1, "question": QUESTION, "standalone": QUESTION, "state": "finished",
            "outcome": "grounded", "answer": GOOD, "message": None, "replaced": False, "began": one["began"],
        }  # fmt: skip
        meant = [(turn["replaced"], turn["standalone"]) for turn in later]
        assert meant == [(True, f"{QUESTION} {FOLLOW_UP}"), (False, "Is the sky blue?")]
        renamed = (await client.patch(f"/api/threads/{thread}", json={"title": "The sky"})).json()
        assert (renamed["title"], renamed["turns"]) == ("The sky", 2)
        assert (await client.delete(f"/api/threads/{thread}")).status_code == 204
        for path in (f"/api/threads/{thread}", f"/api/threads/{thread}/export", f"/api/runs/{first}"):
            assert (await client.get(path)).status_code == 404
        assert len((await client.get("/api/threads")).json()["threads"]) == 1


async def test_a_server_without_a_store_says_so() -> None:
    with client_of(scripted_app()) as client:
        assert (await client.get("/api/settings")).json()["threads"] is False
        assert (await client.post("/api/threads", json={})).status_code == 404


async def test_a_second_question_waits_for_the_first_to_end(tmp_path: Path) -> None:
    models = Models(gate=asyncio.Event())
    with app_in(tmp_path, models, at_once=1, queue=1) as app, client_of(app) as client:
        thread, other = await begun(client), await begun(client)
        run = (await client.post(f"/api/threads/{thread}/runs", json={"question": QUESTION})).json()["id"]
        await until(lambda: models.calls)
        busy = await client.post(f"/api/threads/{thread}/runs", json={"question": FOLLOW_UP})
        assert (busy.status_code, busy.json()["error"]["message"]) == (
            409,
            "A question of this thread is being answered: wait for its end, or end it.",
        )
        waiting = (await client.post(f"/api/threads/{other}/runs", json={"question": QUESTION})).json()["id"]
        full = await client.post(f"/api/threads/{await begun(client)}/runs", json={"question": QUESTION})
        assert full.status_code == 429
        assert [one["turns"] for one in (await client.get("/api/threads")).json()["threads"]] == [0, 1, 1]
        assert (await client.get(f"/api/runs/{run}")).json()["thread"] == thread
        states = [(await client.get(f"/api/runs/{one}")).json()["state"] for one in (run, waiting)]
        assert states == ["running", "queued"]
        await client.delete(f"/api/runs/{waiting}")
        assert [one["state"] for one in await turns_of(client, other)] == ["cancelled"]
        await client.post(f"/api/threads/{other}/runs", json={"question": QUESTION})
        assert (await client.delete(f"/api/threads/{other}")).status_code == 204, "which ends its question"
        assert (await client.delete(f"/api/runs/{run}")).json()["state"] == "cancelled"
        assert (await client.get(f"/api/runs/{run}/picture.svg")).status_code == 409
        assert [one["state"] for one in await turns_of(client, thread)] == ["cancelled"]
        assert (app.state.service.runs.count("running"), app.state.service.runs.count("queued")) == (0, 0)
        models.gate.set()
        await said(client, app, thread, FOLLOW_UP)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/threads", {"title": "x" * 10_000}, 400),
        ("PATCH", "/api/threads/{thread}", {"title": "\x00\u202e"}, 400),
        ("PATCH", "/api/threads/nobody", {"title": "x"}, 404),
        ("DELETE", "/api/threads/nobody", None, 404),
        ("GET", "/api/threads/..%2F..%2Fetc/export", None, 404),
        ("POST", "/api/threads/nobody/runs", {"question": QUESTION}, 404),
        ("POST", "/api/threads/{thread}/runs", {"question": QUESTION, "replaces": "nobody"}, 409),
        ("POST", "/api/threads/{thread}/runs", {"question": QUESTION, "conversation": []}, 400),
        ("GET", "/api/threads/{thread}/export?format=exe", None, 400),
    ],
)
async def test_what_cannot_be_is_one_sentence(
    tmp_path: Path, method: str, path: str, body: dict[str, Any] | None, status: int
) -> None:
    with app_in(tmp_path) as app, client_of(app) as client:
        thread = await begun(client)
        answer = await client.request(method, path.format(thread=thread), json=body)
        assert answer.status_code == status, answer.text
        assert "\n" not in answer.json()["error"]["message"]
        assert len(answer.json()["error"]["message"]) < 300
        assert (await client.get(f"/api/threads/{thread}")).json()["turns"] == []


async def test_owners_see_their_own_threads_alone(tmp_path: Path) -> None:
    with (
        app_in(tmp_path, access=tokens()) as app,
        client_of(app, headers=ANN) as ann,
        client_of(app, headers=BOB) as bob,
    ):
        thread = await begun(ann)
        answer = await ann.post(f"/api/threads/{thread}/runs", json={"question": QUESTION})
        run = answer.json()["id"]
        await app.state.service.runs.get(run, "ann").wait()
        assert (await bob.get("/api/threads")).json() == {"threads": []}
        for path in (f"/api/threads/{thread}", f"/api/threads/{thread}/export", f"/api/runs/{run}"):
            assert [(await one.get(path)).status_code for one in (ann, bob)] == [200, 404]
        assert (await bob.delete(f"/api/threads/{thread}")).status_code == 404
        assert (await ann.get(f"/api/threads/{thread}")).status_code == 200


async def test_the_runs_of_a_thread_are_never_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MOST_KEPT", 1)
    with app_in(tmp_path) as app, client_of(app) as client:
        thread = await begun(client)
        run = await said(client, app, thread)
        paths = ("", "/events", "/export", "/picture.svg", "/citations/1")
        before = {path: (await client.get(f"/api/runs/{run}{path}")).text for path in paths}
        await client.post("/api/ask", json={"question": QUESTION})
        with pytest.raises(Exception, match="forgotten"):
            app.state.service.runs.get(run)
        after = {path: (await client.get(f"/api/runs/{run}{path}")).text for path in paths}
        assert [path for path in paths if path != "/events" and before[path] != after[path]] in ([], [""])
        events = [line for line in after["/events"].splitlines() if line.startswith(("event", "data"))]
        drafts = [line for line in before["/events"].splitlines() if line.startswith(("event", "data"))]
        assert Counter(events) == Counter(drafts) - Counter(line for line in drafts if "draft_token" in line)


async def test_a_thread_is_exported_with_the_evidence_of_every_answer(tmp_path: Path) -> None:
    with app_in(tmp_path) as app, client_of(app) as client:
        thread = await begun(client, title="<b>Sky</b>")
        await said(client, app, thread)
        await said(client, app, thread, FOLLOW_UP)
        address, forms = f"/api/threads/{thread}/export", ("markdown", "html", "json")
        answers = {form: await client.get(address, params={"format": form}) for form in forms}
        markdown, page = answers["markdown"].text, answers["html"].text
        parts = (AIR, f"{GOOD} [1]", "fully supported", "Understood as")
        for text in (markdown, page):
            assert "<b>Sky</b>" not in text
            assert [text.count(part) for part in parts] == [2, 2, 2, 1]
        assert not any(outside in page for outside in ("http:", "https:", "<script", "src="))
        told = json.loads(answers["json"].text)
        assert [turn["result"]["citations"][0]["quote"] for turn in told["turns"]] == [AIR, AIR]
        assert answers["html"].headers["content-disposition"] == 'attachment; filename="thread.html"'


async def test_a_result_that_cannot_be_kept_is_given_and_the_client_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Threads, "finish", Mock(side_effect=ThreadStorageError("The disk is full.")))
    with app_in(tmp_path) as app, client_of(app) as client:
        thread = await begun(client)
        run = await said(client, app, thread)
        async with client.stream("GET", f"/api/runs/{run}/events") as response:
            events = {name: json.loads(data) async for _, name, data in events_of(response)}
        assert events["not_kept"] == {"message": "The disk is full."}
        assert events["finished"]["result"]["answer"] == GOOD
        assert [(one["state"], one["answer"]) for one in await turns_of(client, thread)] == [("finished", GOOD)]


def test_a_server_that_ends_in_order_leaves_its_question_to_the_next(tmp_path: Path) -> None:
    """The first is stopped while its critic judges the claims; what it has paid is neither paid nor counted again."""
    models, after = Models(gate=asyncio.Event(), gated="support"), Models()
    threads = Threads(tmp_path / "threads")
    first = scripted_app(models, threads=threads)
    with listening(first) as address, httpx.Client(base_url=address) as client:
        thread = client.post("/api/threads", json={}).json()["id"]
        run = client.post(f"/api/threads/{thread}/runs", json={"question": QUESTION}).json()["id"]
        while "support" not in models.calls:
            time.sleep(0.01)
    assert first.state.service.accounts.untold()[1]["", "tokens"] == 0
    threads = Threads(tmp_path / "threads")
    assert [turn.run for _, turn in ThreadAnswers(threads).unfinished()] == [run]
    with listening(scripted_app(after, threads=threads)) as address, httpx.Client(base_url=address) as client:
        text = client.get(f"/api/runs/{run}/events", timeout=30).text
        assert "event: finished" in text
        assert [one["state"] for one in client.get(f"/api/threads/{thread}").json()["turns"]] == ["finished"]
    paid = Counter(models.calls) + Counter(after.calls)
    assert paid - CALLS in (Counter(support=1), Counter(support=1, usefulness=1))
    assert after.calls.count("draft") == 0


def test_a_server_deletes_old_threads_and_runs_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.server.threads.EXPIRE_SECONDS", 0.01)
    threads = Threads(tmp_path / "threads", keep_days=30)
    old, new = threads.create().id, threads.create().id
    app = scripted_app(threads=threads)
    with listening(app) as address, httpx.Client(base_url=address) as client:
        asked = [client.post("/api/ask", json={"question": QUESTION}).headers["X-Run-Id"] for _ in range(2)]
        app.state.service.runs.get(asked[0]).began = datetime(2020, 1, 1, tzinfo=UTC)
        with threads._writing() as database:
            database.execute("UPDATE threads SET updated = '2020-01-01' WHERE id = ?", (old,))
        for path, kept in (("threads", [new]), ("runs", asked[1:])):
            while len(listed := client.get(f"/api/{path}").json()[path]) > 1:
                pass
            assert [one["id"] for one in listed] == kept


def test_what_was_cut_off_never_meets_a_full_queue_and_only_known_owners_pay(tmp_path: Path) -> None:
    threads = Threads(tmp_path / "threads")
    left = ThreadAnswers(threads)
    runs = [left.begin(threads.create("ann").id, QUESTION, owner="ann") for _ in range(5)]
    gone = left.begin(threads.create("gone").id, QUESTION, owner="gone")
    left.leave()
    for turn in (*runs, gone):
        left.cancel(turn)
    app = scripted_app(threads=threads, access=tokens(), at_once=1, queue=0)
    with listening(app) as address, httpx.Client(base_url=address, headers=ANN) as client:
        for turn in runs:
            assert "event: finished" in client.get(f"/api/runs/{turn.run}/events", timeout=30).text
    threads = Threads(tmp_path / "threads")
    assert [turn.run for _, turn in threads.unfinished()] == [gone.run]
    threads.close()
