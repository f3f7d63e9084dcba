"""``worker``, and ``index`` where workers read."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.commands import worker
from tests.command_line import Program

postgres = pytest.mark.postgres


@pytest.fixture(autouse=True)
def sigterm_restored() -> Iterator[None]:
    """The command replaces the handler of this process."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def team(program: Program, postgres_url: str) -> Program:
    """The command line with a library in PostgreSQL."""
    program.environment["SELFRAG_STORE"] = postgres_url
    return program


def test_a_store_without_a_queue_leaves_nothing_to_workers(program: Program, docs: Path) -> None:
    for words in (["worker"], ["index", str(docs), "--no-wait"]):
        ended = program(*words)
        assert (ended.code, ended.out) == (2, "")
        assert "Only a library in PostgreSQL is read by workers" in ended.err


@postgres
def test_a_worker_reads_what_index_leaves(team: Program, docs: Path) -> None:
    ended = team("index", str(docs), "--no-wait", environment={"SELFRAG_MACHINE": "of the documents"})
    assert (ended.code, ended.out) == (0, "2 files wait to be read by a worker.\n")
    ended = team("worker", "--once", environment={"SELFRAG_MACHINE": "another"})
    assert (ended.code, ended.out) == (0, "")
    assert "2 files read" in ended.err
    ended = team("index", environment={"SELFRAG_MACHINE": "of the documents"})
    assert "2 indexed (2 unchanged)" in ended.err
    assert ended.out == "The library holds 2 documents, 2 passages.\n"


@postgres
def test_a_worker_that_waits_for_files_is_ended_by_a_signal(team: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    signalled = SimpleNamespace(sleep=lambda _: signal.raise_signal(signal.SIGTERM), monotonic=time.monotonic)
    monkeypatch.setattr(worker, "time", signalled)
    ended = team("worker", "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
