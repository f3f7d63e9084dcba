import json
from pathlib import Path

import pytest

from retrieval.index.sqlite_files import lock_holder


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
