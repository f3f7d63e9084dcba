import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from app.conversations.store import NAME, Threads
from app.conversations.thread import ThreadStorageError
from tests.turns import answered, asked, result


@pytest.fixture
def threads(tmp_path: Path) -> Threads:
    return Threads(tmp_path / "threads")


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
    assert "cannot be read" in first.message
    assert [turn["question"] for turn in threads.conversation(thread)] == ["Two?"]


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
    monkeypatch.setattr("app.conversations.store.WAIT", 0.01)
    with closing(Threads(tmp_path / "threads")) as other, threads._writing():
        with pytest.raises(ThreadStorageError, match="another process writes them, so try again"):
            other.create()
        assert other.list() == []


def test_connections_write_side_by_side(threads: Threads, tmp_path: Path) -> None:
    def write(name: str) -> None:
        with closing(Threads(tmp_path / "threads")) as own:
            for number in range(20):
                own.create(title=f"{name} {number}")

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, "ab"))
    assert len({one.title for one in threads.list()}) == 40
