"""Threads are kept, found again by their owner alone, and gone when they are deleted."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.result import Result, result_of
from app.threads.store import NAME, Threads
from app.threads.thread import (
    NotLastTurnError,
    ThreadBusyError,
    ThreadStorageError,
    ThreadTurn,
    UnknownThreadError,
)
from core.errors import RequestError
from tests.scripted import candidate_of, claim, draft, state

QUESTION = "Why is the sky blue?"


@pytest.fixture
def threads(tmp_path: Path) -> Threads:
    return Threads(tmp_path / "threads")


def result(question: str = QUESTION, answer: str = "Air scatters blue light.") -> Result:
    best = candidate_of(draft(answer, [answer]), [claim(answer, within=answer)])
    return result_of(state(question, best=best, outcome="grounded", stop_reason="accepted", answer=answer, seconds=1.0))


def asked(threads: Threads, thread: str, question: str = QUESTION, replaces: str | None = None) -> ThreadTurn:
    return threads.begin(thread, question, replaces=replaces)


def answered(
    threads: Threads, thread: str, question: str = QUESTION, answer: str = "So.", replaces: str | None = None
) -> ThreadTurn:
    turn = asked(threads, thread, question, replaces)
    threads.finish(turn, result(question, answer), f"{answer} [1]")
    return turn


def questions_before(threads: Threads, thread: str, number: int | None = None) -> list[str]:
    return [turn["question"] for turn in threads.conversation(thread, before=number)]


def test_a_result_is_read_as_it_was_kept(threads: Threads) -> None:
    thread, given = threads.create(), result()
    turn = asked(threads, thread.id)
    assert (turn.state, turn.result) == ("unfinished", None)
    threads.finish(turn, given, "Numbered [1]")
    kept = threads.turn(turn.run)
    assert (kept.state, kept.numbered, kept.number) == ("finished", "Numbered [1]", 1)
    assert kept.result
    assert kept.result.model_dump(mode="json") == given.model_dump(mode="json")


def test_threads_are_still_there_when_they_are_opened_again(threads: Threads, tmp_path: Path) -> None:
    thread = threads.create(title="Sky")
    answered(threads, thread.id)
    threads.close()
    with closing(Threads(tmp_path / "threads")) as again:
        assert [(one.id, one.title, one.turns) for one in again.list()] == [(thread.id, "Sky", 1)]
        assert questions_before(again, thread.id) == [QUESTION]


def test_the_last_changed_thread_comes_first_and_is_named_after_its_question(threads: Threads) -> None:
    first, second = threads.create(), threads.create()
    asked(threads, first.id, "How long?\n" * 50)
    assert [one.id for one in threads.list()] == [first.id, second.id]
    title = threads.get(first.id).title
    assert (len(title), title[:19]) == (80, "How long? How long?")


def test_another_owner_sees_nothing(threads: Threads) -> None:
    thread = threads.create("ann")
    turn = threads.begin(thread.id, QUESTION, "ann")
    assert threads.list("bob") == []
    for use in (
        lambda: threads.get(thread.id, "bob"),
        lambda: threads.turns(thread.id, "bob"),
        lambda: threads.turn(turn.run, "bob"),
        lambda: threads.conversation(thread.id, "bob"),
        lambda: threads.rename(thread.id, "mine", "bob"),
        lambda: threads.delete(thread.id, "bob"),
        lambda: threads.begin(thread.id, QUESTION, "bob"),
    ):
        with pytest.raises(UnknownThreadError):
            use()
    assert threads.get(thread.id, "ann").turns == 1


def test_the_conversation_is_what_was_finished_and_not_replaced(threads: Threads) -> None:
    thread = threads.create().id
    answered(threads, thread, "One?")
    threads.end(asked(threads, thread, "Failed?"), "failed", "The model is gone.")
    wrong = answered(threads, thread, "Two?")
    answered(threads, thread, "Two, rather?", replaces=wrong.run)
    asked(threads, thread, "Being answered?")
    assert questions_before(threads, thread) == ["One?", "Two, rather?"]
    assert questions_before(threads, thread, 4) == ["One?"], "what a question corrects is not said before it"
    assert [turn.replaced for turn in threads.turns(thread)] == [False, False, True, False, False]


def test_a_correction_that_failed_and_is_asked_again_replaces_the_first_question(threads: Threads) -> None:
    thread = threads.create().id
    first = answered(threads, thread, "Two?")
    second = asked(threads, thread, "Two, rather?", first.run)
    threads.end(second, "failed", "The model is gone.")
    assert questions_before(threads, thread) == ["Two?"]
    answered(threads, thread, "Two, rather?", replaces=second.run)
    assert questions_before(threads, thread) == ["Two, rather?"]
    assert threads.get(thread).turns == 1


def test_what_is_finished_cannot_be_ended(threads: Threads) -> None:
    """As by a person who ends it while its result is being stored."""
    turn = answered(threads, threads.create().id)
    threads.end(turn, "cancelled")
    assert threads.turn(turn.run).state == "finished"


def test_only_the_last_question_can_be_corrected(threads: Threads) -> None:
    thread = threads.create().id
    first = answered(threads, thread)
    answered(threads, thread)
    with pytest.raises(NotLastTurnError):
        asked(threads, thread, replaces=first.run)


def test_a_conversation_of_a_thousand_turns_gives_the_last_ones(threads: Threads) -> None:
    thread = threads.create().id
    for number in range(1, 1001):
        answered(threads, thread, f"Question {number}?")
    assert questions_before(threads, thread) == [f"Question {number}?" for number in range(981, 1001)]


@pytest.mark.parametrize("title", ["x" * 10_000_000, "a\x1b[31mb\x00\u202ec", "  two \n lines  "])
def test_a_title_is_a_short_line(threads: Threads, title: str) -> None:
    kept = threads.rename(threads.create().id, title).title
    assert len(kept) <= 80
    assert kept.isprintable()
    assert kept in {"x" * 79 + "…", "abc", "two lines"}


def test_an_empty_title_is_refused(threads: Threads) -> None:
    with pytest.raises(RequestError, match="title is empty"):
        threads.rename(threads.create().id, "\u200b \n")


def test_what_is_deleted_is_in_no_file_any_more(threads: Threads, tmp_path: Path) -> None:
    thread, other = threads.create().id, threads.create().id
    turn = answered(threads, thread, "Who is SECRETPERSON?", "SECRETANSWER")
    answered(threads, other)
    threads.checkpoints(turn.run).write_bytes(b"SECRETPERSON")
    threads.delete(thread)
    assert [one.id for one in threads.list()] == [other]
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"SECRET" not in path.read_bytes()
        assert thread not in path.name


def test_a_thread_whose_lock_is_held_cannot_be_deleted(threads: Threads, tmp_path: Path) -> None:
    thread = threads.create().id
    with threads.lock(thread), closing(Threads(tmp_path / "threads")) as other, pytest.raises(ThreadBusyError):
        other.delete(thread)
    threads.delete(thread)
    assert threads.list() == []


def test_old_threads_are_deleted_but_not_what_is_being_answered(threads: Threads, tmp_path: Path) -> None:
    old, busy, new = threads.create().id, threads.create().id, threads.create().id
    answered(threads, old, "Who is SECRETPERSON?")
    with sqlite3.connect(tmp_path / "threads" / NAME) as database:
        database.execute("UPDATE threads SET updated = '2020-01-01' WHERE id != ?", (new,))
    database.close()
    with threads.lock(busy), closing(Threads(tmp_path / "threads", keep_days=30)) as again:
        assert {one.id for one in again.list()} == {busy, new}
    assert b"SECRETPERSON" not in (tmp_path / "threads" / NAME).read_bytes()


def test_checkpoints_that_a_kill_left_are_removed(threads: Threads, tmp_path: Path) -> None:
    done, cut_off = answered(threads, threads.create().id), asked(threads, threads.create().id)
    for turn in (done, cut_off):
        threads.checkpoints(turn.run).touch()
    Threads(tmp_path / "threads").close()
    assert [threads.checkpoints(turn.run).exists() for turn in (done, cut_off)] == [False, True]


def test_the_files_are_private(threads: Threads, tmp_path: Path) -> None:
    for path in (tmp_path / "threads", *(tmp_path / "threads").rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("harm", ["not json", '{"question": "Why?"}', "", "[]", "9" * 5000])
def test_a_result_that_cannot_be_read_is_one_failed_turn(threads: Threads, tmp_path: Path, harm: str) -> None:
    thread = threads.create().id
    harmed = answered(threads, thread, "One?")
    answered(threads, thread, "Two?")
    with sqlite3.connect(tmp_path / "threads" / NAME) as database:
        database.execute("UPDATE turns SET result = ? WHERE run = ?", (harm, harmed.run))
    database.close()
    first, second = threads.turns(thread)
    assert (first.state, first.question, second.state) == ("failed", "One?", "finished")
    assert first.message
    assert "cannot be read" in first.message
    assert questions_before(threads, thread) == ["Two?"]


def test_a_newer_version_is_refused(threads: Threads, tmp_path: Path) -> None:
    threads.close()
    with sqlite3.connect(tmp_path / "threads" / NAME) as database:
        database.execute("PRAGMA user_version = 2")
    database.close()
    before = (tmp_path / "threads" / NAME).read_bytes()
    with pytest.raises(ThreadStorageError, match="newer version"):
        Threads(tmp_path / "threads")
    assert (tmp_path / "threads" / NAME).read_bytes() == before


@pytest.mark.parametrize("harm", [b"not a database, but long enough to be one" * 100, None])
def test_a_damaged_file_is_told_and_left(threads: Threads, tmp_path: Path, harm: bytes | None) -> None:
    answered(threads, threads.create().id)
    threads.close()
    path = tmp_path / "threads" / NAME
    damaged = harm or path.read_bytes()[:4096] + os.urandom(8192)
    path.write_bytes(damaged)
    with pytest.raises(ThreadStorageError, match=r"are damaged \(.*\): move threads.sqlite away"):
        list(Threads(tmp_path / "threads").list())
    assert len(path.read_bytes()) == len(damaged)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(ThreadStorageError, match="make the folder writable"):
        Threads(tmp_path / "locked" / "threads")


def test_a_file_in_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "threads").touch()
    with pytest.raises(ThreadStorageError, match="cannot be kept or read"):
        Threads(tmp_path / "threads")


def test_a_disk_that_is_full_is_told_and_leaves_what_was_there(threads: Threads) -> None:
    thread = threads.create().id
    turn = asked(threads, thread)
    threads._connection.execute("PRAGMA max_page_count = 1")  # which is the pages that there are
    with pytest.raises(ThreadStorageError, match=r"cannot be kept or read \(.*full\): make room on its disk"):
        threads.finish(turn, result(answer="long " * 10_000), "")
    assert threads.turn(turn.run) == turn
    threads.rename(thread, "Still there")


def test_a_file_that_another_process_writes_for_long_is_told(
    threads: Threads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.threads.store.WAIT", 0.01)
    with closing(Threads(tmp_path / "threads")) as other, threads._writing():
        with pytest.raises(ThreadStorageError, match="another process writes them, so try again"):
            other.create()
        assert other.list() == []


WRITER = """
import sys
from pathlib import Path
from app.threads.store import Threads
threads = Threads(Path(sys.argv[1]))
for number in range(20):
    threads.create(title=f"{sys.argv[2]} {number}")
"""


def test_processes_write_side_by_side(threads: Threads, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "threads")]
    writers = [subprocess.Popen([*command, str(number)]) for number in range(3)]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert len({one.title for one in threads.list()}) == 60
