"""Who writes an index can be told, and what cannot be read is no reason to fail."""

import json
import os
from pathlib import Path

import pytest

from retrieval.index.sqlite_files import clear_lock_holder, lock_holder, record_lock_holder


def test_a_writer_is_named_while_it_writes(tmp_path: Path) -> None:
    record_lock_holder(tmp_path)
    assert lock_holder(tmp_path).startswith(f"Process {os.getpid()} (")
    clear_lock_holder(tmp_path)
    assert lock_holder(tmp_path) == "Another process"
    assert list(tmp_path.iterdir()) == []
    clear_lock_holder(tmp_path)


@pytest.mark.parametrize(
    "word", ["", "[]", "{}", '{"process": "x", "command": 1, "since": 2}', "\x00", '{"process": 1}', "[" * 9_999]
)
def test_a_word_that_is_none_is_not_believed(tmp_path: Path, word: str) -> None:
    (tmp_path / "writer.json").write_text(word)
    assert lock_holder(tmp_path) == "Another process"


def test_a_command_cannot_steer_the_terminal(tmp_path: Path) -> None:
    word = {"process": 1, "command": "\x1b[31mapp\n" + "x" * 1_000, "since": 0}
    (tmp_path / "writer.json").write_text(json.dumps(word))
    assert "\x1b" not in lock_holder(tmp_path)
    assert "\n" not in lock_holder(tmp_path)
    assert len(lock_holder(tmp_path)) < 300


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    record_lock_holder(tmp_path / "nowhere")
    clear_lock_holder(tmp_path / "nowhere")


@pytest.mark.timeout(30)
def test_what_is_no_file_is_neither_read_nor_written(tmp_path: Path) -> None:
    word = tmp_path / "writer.json"
    for put in (lambda: os.mkfifo(word), lambda: word.symlink_to("/dev/zero"), lambda: word.write_bytes(b"1" * 20_000)):
        put()
        assert lock_holder(tmp_path) == "Another process"
        word.unlink()
    os.mkfifo(word)
    record_lock_holder(tmp_path)
    clear_lock_holder(tmp_path)
    assert list(tmp_path.iterdir()) == []
