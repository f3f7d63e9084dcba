"""Questions and runs over the JSON API."""

import asyncio
import json
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from app.results.result import Result
from app.server.runs import INTERNAL
from tests.integration.graph.sky import AIR, GOOD, QUESTION
from tests.integration.server.scripted_server import Models, client_of, ended, events_of, listening, scripted_app, until


async def test_an_answer_is_the_public_result() -> None:
    with client_of(scripted_app()) as client:
        answer = await client.post("/api/ask", json={"question": QUESTION})
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        result = answer.json()
        assert result.keys() == Result.model_fields.keys()
        assert (result["answer"], result["outcome"], result["citations"][0]["quote"]) == (GOOD, "grounded", AIR)
        run = (await client.get(f"/api/runs/{answer.headers['x-run-id']}")).json()
        assert (run["state"], run["result"]) == ("finished", result)


async def test_a_question_may_choose_how_it_is_answered() -> None:
    models = Models()
    with client_of(scripted_app(models)) as client:
        answer = await client.post("/api/ask", json={"question": QUESTION, "mode": "never"})
        assert (answer.json()["outcome"], models.searches) == ("direct", [])
        chosen = (await client.get("/api/settings")).json()
        assert chosen["choices"]["mode"] == ["adaptive", "always", "never"]
        assert chosen["choices"]["length"] == ["short", "long"]
        assert chosen["defaults"] == {
            "mode": "adaptive",
            "length": None,
            "strategy": "combined",
            "fallback": "abstain",
            "constraints": "soft",
            "k": 4,
        }
        assert chosen["models"]["chat"] == "scripted"


async def test_a_question_may_follow_others() -> None:
    models, follow_up = Models(), "And at night?"
    joined = f"{QUESTION} {follow_up}"
    with client_of(app := scripted_app(models)) as client:
        first = (await client.post("/api/ask", json={"question": QUESTION})).json()
        earlier = {"question": QUESTION, "answer": first["answer"]}
        answer = (await client.post("/api/ask", json={"question": follow_up, "conversation": [earlier]})).json()
        assert (answer["question"], answer["standalone"], answer["queries"]) == (follow_up, joined, [follow_up])
        assert models.searches == [QUESTION, follow_up, joined]
        turns = [Result(**first).turn(), Result(**answer).turn()]
        body = {"question": "And in winter?", "conversation": turns, "standalone": "Is the sky blue in winter?"}
        run = (await client.post("/api/runs", json=body)).json()["id"]
        await app.state.service.runs.get(run).wait()
        result = (await client.get(f"/api/runs/{run}")).json()["result"]
        assert (result["standalone"], result["queries"]) == (body["standalone"], [body["standalone"]])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"question": ""}, "The question is empty"),
        ({"question": "\u200b\0\ufffd"}, "The question is empty"),
        ({"question": "x" * 9_000}, "The question has 9,000 characters"),
        ({"question": "why", "k": 51}, "k is wrong"),
        ({"question": "why", "model": "gpt"}, "model is wrong"),
        ({"question": "why", "pages": [5, 3]}, "pages must be the first and the last page"),
        ({"question": "why", "pages": [5, 2**63]}, "pages.1 is wrong"),
        ({"question": "why", "standalone": " "}, "The standalone question is empty"),
        ({"question": "why", "conversation": [{"answer": "So."}]}, "conversation.0.question is wrong"),
        ({"question": "why", "conversation": [{"question": "why", "role": "user"}]}, "conversation.0.role is wrong"),
        ({"question": "why", "conversation": [{"question": "why"}] * 1_001}, "conversation is wrong"),
        ({}, "question is wrong"),
        ([], "the body is wrong"),
    ],
)
async def test_a_wrong_question_is_refused_in_a_sentence(body: object, told: str) -> None:
    models = Models()
    with client_of(scripted_app(models)) as client:
        content = json.dumps(body)
        for path in ("/api/ask", "/api/runs"):
            refused = await client.post(path, content=content, headers={"Content-Type": "application/json"})
            assert refused.status_code == 400
            assert told in refused.json()["error"]["message"]
        assert (await client.get("/api/runs")).json() == {"runs": []}
    assert models.calls == []


@pytest.mark.parametrize(
    ("body", "declared", "told"),
    [
        ('{"question": "why"', "application/json", "The body is not JSON at character 19 (Expecting ',' delimiter)"),
        ('{"question": "why"}', "text/plain", "There is no body in JSON: send an object with Content-Type"),
        ("", "application/json", "There is no body in JSON: send an object with Content-Type"),
    ],
)
async def test_a_body_that_is_no_json_is_named_with_the_place(body: str, declared: str, told: str) -> None:
    with client_of(scripted_app()) as client:
        refused = await client.post("/api/ask", content=body, headers={"Content-Type": declared})
    error = refused.json()["error"]
    assert (refused.status_code, error["param"]) == (400, None)
    assert error["message"].startswith(told)


async def test_a_run_outlives_its_client_and_keeps_its_events() -> None:
    app = scripted_app()
    with client_of(app) as client:
        started = await client.post("/api/runs", json={"question": QUESTION})
        assert started.status_code == 202
        id_ = started.json()["id"]
        assert started.headers["location"] == f"/api/runs/{id_}"
        await app.state.service.runs.get(id_).wait()
        assert (await client.get(f"/api/runs/{id_}")).json()["state"] == "finished"
        response = await client.get(f"/api/runs/{id_}/events")
        assert response.headers["content-type"].startswith("text/event-stream")
        events = [event async for event in events_of(response)]
        assert [int(number) for number, _, _ in events] == list(range(1, len(events) + 1))
        names = [name for _, name, _ in events]
        assert (names[:3], names[-1]) == (["queued", "running", "node_started"], "finished")
        assert json.loads(events[-1][2])["result"]["answer"] == GOOD
        for last, after in (("5", 5), ("10000", 0)):  # more than there are: all are told
            rest = await client.get(f"/api/runs/{id_}/events", headers={"Last-Event-ID": last})
            assert [event async for event in events_of(rest)] == events[after:]
        listed = (await client.get("/api/runs")).json()["runs"]
        assert [(run["id"], run["question"], run["outcome"]) for run in listed] == [(id_, QUESTION, "grounded")]


@pytest.mark.parametrize(("strategy", "streamed"), [("combined", True), ("per-passage", False)])
async def test_drafts_are_streamed_where_they_would_not_be_mixed(strategy: str, streamed: bool) -> None:
    app = scripted_app()
    asked: list[bool] = []
    stream = app.state.service.rag.astream_state

    def astream_state(*given: Any, tokens: bool, **more: Any) -> Any:
        asked.append(tokens)
        return stream(*given, tokens=tokens, **more)

    app.state.service.rag.astream_state = astream_state
    with client_of(app) as client:
        for path in ("/api/runs", "/api/ask"):
            await client.post(path, json={"question": QUESTION, "strategy": strategy})
        await until(lambda: len(asked) == 2)
        await ended(app)
    assert asked == [streamed, False]


async def test_a_client_that_goes_away_ends_its_question_unless_it_was_started_to_outlive_it() -> None:
    models = Models(gate=asyncio.Event())
    app = scripted_app(models)
    runs = app.state.service.runs
    with listening(app) as address:
        async with httpx.AsyncClient(base_url=address) as client:
            await client.post("/api/runs", json={"question": "outlives"})
            chat = {"model": "self-rag", "messages": [{"role": "user", "content": QUESTION}]}
            for path, body in (
                ("/api/ask", {"question": QUESTION}),
                ("/v1/chat/completions", chat),
                ("/v1/chat/completions", {**chat, "stream": True}),
            ):
                with pytest.raises(httpx.ReadTimeout):
                    async with client.stream("POST", path, json=body, timeout=0.2) as response:
                        await response.aread()
                await until(lambda: runs.of()[0].state == "cancelled")
            assert [run.state for run in runs.of()] == ["cancelled"] * 3 + ["running"]


async def test_one_more_than_the_queue_holds_is_told_when_to_come_again() -> None:
    models = Models(gate=asyncio.Event())
    app = scripted_app(models, at_once=2, queue=3)
    with client_of(app) as client:
        for _ in range(5):
            assert (await client.post("/api/runs", json={"question": QUESTION})).status_code == 202
        for path, body in (
            ("/api/ask", {"question": QUESTION}),
            ("/v1/chat/completions", {"model": "self-rag", "messages": [{"role": "user", "content": QUESTION}]}),
        ):
            refused = await client.post(path, json=body)
            assert (refused.status_code, refused.json()["error"]["type"]) == (429, "rate_limit_error")
            assert int(refused.headers["retry-after"]) >= 1
        await until(lambda: app.state.service.runs.count("running") == 2)
        assert (await client.get("/healthz")).json() == {"status": "ok", "running": 2, "queued": 3}
        counted = (await client.get("/metrics")).text
        assert ("selfrag_runs_running 2.0" in counted, QUESTION in counted) == (True, False)
        await ended(app)


async def test_what_goes_wrong_inside_is_told_without_insides(caplog: pytest.LogCaptureFixture) -> None:
    app = scripted_app()
    app.state.service.rag.astream_state = app.state.service.drift = Mock(side_effect=KeyError("inside"))
    with client_of(app) as client:
        for answer in (await client.post("/api/ask", json={"question": QUESTION}), await client.get("/api/settings")):
            assert (answer.status_code, answer.json()["error"]["message"]) == (500, INTERNAL)
    assert caplog.text.count("KeyError: 'inside'") == 2


async def test_an_answer_can_be_exported_with_its_evidence_and_drawn() -> None:
    with client_of(scripted_app()) as client:
        id_ = (await client.post("/api/ask", json={"question": "Why is <script>alert(1)</script> blue?"})).headers[
            "x-run-id"
        ]
        forms = {
            form: await client.get(f"/api/runs/{id_}/export?format={form}") for form in ("markdown", "json", "html")
        }
        for form in ("markdown", "html"):
            assert AIR in forms[form].text
            assert "<script" not in forms[form].text
            assert "grounded (accepted)" in forms[form].text
        assert "://" not in forms["html"].text.replace("http://www.w3.org/", "")
        assert forms["json"].json()["citations"][0]["quote"] == AIR
        assert 'filename="answer.md"' in forms["markdown"].headers["content-disposition"]
        picture = await client.get(f"/api/runs/{id_}/picture.svg")
        assert picture.headers["content-type"] == "image/svg+xml"
        assert picture.text.startswith("<svg")
        assert (await client.get(f"/api/runs/{id_}/export?format=exe")).status_code == 400


async def test_the_api_is_described_on_a_page_of_the_servers_own_files() -> None:
    with client_of(scripted_app()) as client:
        described = (await client.get("/openapi.json")).json()
        assert {"/api/ask", "/api/runs/{id_}/events", "/v1/chat/completions"} <= described["paths"].keys()
        for path in ("/", "/docs", "/static/api.js", "/static/api.css"):
            page = await client.get(path)
            assert page.status_code == 200
            assert "//" not in page.text.replace("// Lists", "").replace("// Replaces", "")
            assert "<script>" not in page.text
