"""The audit log and the quotas of a server."""

import asyncio
import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from fastapi import FastAPI

from app.cli import main
from app.server import audit
from app.server.accounts import Accounts
from app.server.application import create_app
from app.server.asking import ServerOptions
from app.server.audit import Audit, verify_log
from app.server.people import People, Quota
from core.errors import RequestError
from tests.integration.graph.sky import AIR, QUESTION
from tests.integration.mcp_clients import over_http
from tests.integration.server.scripted_server import (
    ANN,
    BOB,
    TOKENS,
    Models,
    client_of,
    ended,
    listening,
    tokens,
    until,
)
from tests.scripted import CALL_TOKENS

ASK = {"question": QUESTION, "mode": "always"}


def entries(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    verify_log(path, found.append)
    return found


@contextmanager
def recording(path: Path, models: Models | None = None, **quotas: Quota) -> Iterator[FastAPI]:
    """A server whose questions are recorded in a log."""
    accounts = Accounts(lambda: People(TOKENS, quotas=quotas), path)
    try:
        yield create_app((models or Models()).rag(), ServerOptions(access=tokens()), accounts=accounts)
    finally:
        accounts.close()


async def test_who_asked_what_what_was_read_and_how_it_ended_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "log" / "audit.jsonl"
    with recording(path) as app, client_of(app) as client:
        id_ = (await client.post("/api/ask", json=ASK, headers=ANN)).headers["X-Run-Id"]
        await client.get(f"/api/runs/{id_}/citations/1", headers=ANN)
        await client.post("/api/checks", json={"text": "Air scatters blue light."}, headers=BOB)
        await ended(app)
    found = [
        {key: one[key] for key in one if key not in ("at", "before", "tokens", "model_calls")} for one in entries(path)
    ]
    read = {"run": id_, "documents": ["/docs/notes.txt", "notes.txt"], "cited": ["/docs/notes.txt"]}
    asked = {"kind": "question", "thread": None, "question": QUESTION}
    assert found[:3] == [
        {"entry": 1, "who": "ann", "what": "asked", "run": id_, **asked},
        {"entry": 2, "who": "ann", "what": "answered", "outcome": "grounded", **read},
        {"entry": 3, "who": "ann", "what": "read", "run": id_, "documents": ["/docs/notes.txt"]},
    ]
    assert [(one["who"], one["what"]) for one in found[3:]] == [("bob", "asked"), ("bob", "answered")]
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("harm", ["word", "line", "order", "end"])
def test_what_was_changed_or_taken_out_is_found(tmp_path: Path, harm: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "audit.jsonl"
    log = Audit(path)
    for question in ("one", "two", "three"):
        log.add("asked", "ann", question=question)
    log.close()
    assert main(["library", "audit", str(path), "--who", "ann"]) == 0
    told = capsys.readouterr()
    assert [json.loads(line)["question"] for line in told.out.splitlines()] == ["one", "two", "three"]
    assert "3 entries, each follows the one before" in told.err
    assert main(["library", "--quiet", "audit", str(path), "--who", "bob"]) == 0
    assert capsys.readouterr().out == ""
    lines = path.read_bytes().splitlines(keepends=True)
    if harm == "word":
        lines[1] = lines[1].replace(b"two", b"six")
    elif harm == "line":
        del lines[1]
    elif harm == "order":
        lines[1:] = lines[:0:-1]
    else:
        lines[2] = lines[2].replace(b'"before": "', b'"before": "0')
    path.write_bytes(b"".join(lines))
    number = 2 if harm in ("line", "order") else 3
    with pytest.raises(RequestError, match=f"Entry {number} of .* does not follow the one before"):
        Audit(path)
    assert main(["library", "audit", str(path)]) == 2


def test_a_line_that_a_kill_tore_is_cut_off_and_the_log_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = Audit(path)
    log.add("asked", "ann", question="one")
    with pytest.raises(RequestError, match="Another server writes"):
        Audit(path)
    log.close()
    with path.open("ab") as file:
        file.write(b'{"entry": 2, "at": "20')
    assert len(entries(path)) == 1
    log = Audit(path)
    log.add("asked", "ann", question="two")
    log.close()
    assert [one["question"] for one in entries(path)] == ["one", "two"]


async def test_a_question_that_cannot_be_recorded_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "append", Mock(side_effect=OSError(errno.EIO, "Input/output error")))
    with recording(tmp_path / "audit.jsonl") as app, client_of(app) as client:
        refused = await client.post("/api/ask", json=ASK, headers=ANN)
        assert (refused.status_code, "nothing is asked without" in refused.text) == (507, True)
        assert (await client.get("/api/runs", headers=ANN)).json() == {"runs": []}
    assert entries(tmp_path / "audit.jsonl") == []


def test_a_line_of_which_a_part_could_be_written_leaves_the_log_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, line: bytes) -> None:
        os.write(descriptor, line[:9])
        raise OSError(errno.ENOSPC, "No space left on device")

    accounts = Accounts(lambda: People(TOKENS, quotas={"ann": Quota(questions=1)}), tmp_path / "audit.jsonl")
    with monkeypatch.context() as disk:
        disk.setattr(audit, "append", full)
        with pytest.raises(RequestError, match="No space left"):
            accounts.record("asked", "ann", question="one")
    accounts.admit("ann")
    accounts.record("asked", "ann", question="two")
    accounts.close()
    assert [one["question"] for one in entries(tmp_path / "audit.jsonl")] == ["two"]


@pytest.mark.parametrize(
    ("quota", "what"), [(Quota(questions=2), "of questions for a day, 2"), (Quota(tokens=1), "of tokens for a day, 1")]
)
async def test_a_person_asks_no_more_than_the_quota_of_the_day_also_after_a_restart(
    tmp_path: Path, quota: Quota, what: str
) -> None:
    path = tmp_path / "audit.jsonl"
    for _ in range(2):
        with recording(path, ann=quota) as app, client_of(app) as client:
            statuses = [(await client.post("/api/ask", json=ASK, headers=ANN)).status_code for _ in range(3)]
            refused = await client.post("/api/checks", json={"text": "Air is blue."}, headers=ANN)
            assert (refused.status_code, what in refused.text) == (429, True)
            left = int(refused.headers["Retry-After"])
            now = datetime.now(UTC)
            assert abs(left - (86_400 - now.hour * 3_600 - now.minute * 60 - now.second)) < 60
            assert (await client.post("/api/ask", json=ASK, headers=BOB)).status_code == 200
            await ended(app)
    assert statuses == [429, 429, 429]
    asked = [one["who"] for one in entries(path) if one["what"] == "asked"]
    assert asked.count("ann") == (quota.questions or 1)


@pytest.mark.parametrize("end", ["stopped", "left", "failed", "check stopped"])
async def test_a_run_without_a_result_counts_what_its_model_calls_cost(tmp_path: Path, end: str) -> None:
    path = tmp_path / "audit.jsonl"
    models = Models(gate=asyncio.Event(), failing="draft" if end == "failed" else "", error=ValueError("a bug"))
    with recording(path, models, ann=Quota(tokens=1)) as app, client_of(app, headers=ANN) as client:
        if end == "check stopped":
            sent = client.post("/api/checks", json={"text": "Air scatters blue light."})
        else:
            sent = client.post("/api/ask" if end == "left" else "/api/runs", json=ASK)
        asking = asyncio.create_task(sent)
        await until(lambda: models.calls)
        run = app.state.service.runs.of("ann")[0]
        if end == "left":
            asking.cancel()
        elif end == "failed":
            await models.open()
        else:
            await client.delete(f"/api/runs/{run.id}")
        await asyncio.gather(asking, run.task, return_exceptions=True)
        assert run.state == ("failed" if end == "failed" else "cancelled")
        told = entries(path)[-1]
        assert (told["what"], told["tokens"]) == ("answered", CALL_TOKENS * len(models.calls))
        assert told["model_calls"] == len(models.calls)
        assert (await client.post("/api/runs", json=ASK)).status_code == 429


async def test_claims_that_an_agent_verifies_at_once_are_no_more_than_its_quota(tmp_path: Path) -> None:
    path, models, claim = tmp_path / "audit.jsonl", Models(gate=asyncio.Event()), {"claim": "Air scatters blue light."}
    with recording(path, models, ann=Quota(questions=2)) as app, listening(app) as address:
        async with over_http(address, ANN) as agent:
            verifying = [asyncio.create_task(agent.call_tool("verify_claim", claim)) for _ in range(12)]
            await until(lambda: len(models.calls) > 1)
            await models.open()
            refused = [result for result in await asyncio.gather(*verifying) if result.is_error]
    assert len(refused) == 10
    assert all("questions for a day, 2," in str(result.content) for result in refused)
    assert [one["what"] for one in entries(path)] == ["asked"] * 2 + ["verified"] * 2
    with recording(path, ann=Quota(questions=3)) as app, listening(app) as address:
        async with over_http(address, ANN) as agent:
            again = [(await agent.call_tool("verify_claim", claim)).is_error for _ in range(2)]
    assert again == [False, True], "what the log has counts once"


@pytest.mark.parametrize("fails", ["", "support"])
@pytest.mark.parametrize("quota", [Quota(questions=1), Quota(tokens=1)])
async def test_what_an_agent_verifies_counts_with_its_tokens_also_if_it_fails_and_after_a_restart(
    tmp_path: Path, quota: Quota, fails: str
) -> None:
    path, models, claim = tmp_path / "audit.jsonl", Models(failing=fails, error=ValueError("a bug")), {"claim": AIR}
    for _ in range(2):
        with recording(path, models, ann=quota) as app, listening(app) as address:
            async with over_http(address, ANN) as agent:
                first = await agent.call_tool("verify_claim", {**claim, "question": QUESTION})
                refused = await agent.call_tool("verify_claim", claim)
                assert (await agent.call_tool("verify_claim", {"claim": " "})).is_error
        assert "for a day, 1," in str(refused.content)
    assert "for a day, 1," in str(first.content)
    asked, found = entries(path)
    assert (asked["what"], asked["kind"], asked["claim"]) == ("asked", "claim", AIR)
    assert (found["what"], found["documents"]) == ("verified", [] if fails else ["/docs/notes.txt"])
    assert (found["model_calls"], found["tokens"]) == (len(models.calls), CALL_TOKENS * len(models.calls))


KILLS = """
import os, signal, sys, time
from pathlib import Path
from app.server.audit import Audit, verify_log

path = Path(sys.argv[1])
path.touch()
for _ in range(8):
    size = path.stat().st_size
    if not (writer := os.fork()):
        log = Audit(path)
        while True:
            log.add("asked", "ann", question="x" * 200)
    while path.stat().st_size < size + 2_000:
        time.sleep(0.001)
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    entries = []
    verify_log(path, entries.append)
    print(len(entries))
"""


def test_kills_leave_the_log_whole(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLS, str(tmp_path / "audit.jsonl")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    counts = [int(line) for line in ended.stdout.splitlines()]
    assert len(counts) == 8
    assert counts == sorted(set(counts)), "each writer adds to the log of the one before"
