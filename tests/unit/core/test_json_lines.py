"""Nothing but what a kill left of this program's own line is ever cut off."""

import os
import stat
from pathlib import Path

import pytest

from core import json_lines
from core.files import FileTooLargeError
from core.json_lines import open_lines

START = b'{"key": "'


def opened(path: Path) -> tuple[list[bytes], int]:
    taken: list[bytes] = []

    def take(line: bytes) -> bool:
        if line.startswith(START) and line.strip().endswith(b"}"):
            taken.append(line.strip())
            return True
        return False

    descriptor, refused = open_lines(path, START, take)
    os.close(descriptor)
    return taken, refused


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        (b"", b"", 0),
        (b'{"key": "a"}\n', b'{"key": "a"}\n', 0),
        (b'{"key": "a"}', b'{"key": "a"}\n', 0),
        (b'{"key": "a"}\n\n  ', b'{"key": "a"}\n\n  \n', 0),
        (b'{"key": "a"}\n{"key": "b', b'{"key": "a"}\n', 0),
        (b'{"ke', b"", 0),
        (b'{"key": "a"}\nmy last words', b'{"key": "a"}\nmy last words\n', 1),
        (b"mine\nmy last words", b"mine\nmy last words\n", 2),
        (b'{"question": "mine"}', b'{"question": "mine"}\n', 1),
    ],
)
def test_a_last_line_without_an_end(tmp_path: Path, before: bytes, after: bytes, refused: int) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(before)
    assert opened(path)[1] == refused
    assert path.read_bytes() == after


def test_a_file_is_made_and_mended_for_the_user_alone(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("")
    (tmp_path / "old").chmod(0o644)
    for name in ("old", "new"):
        opened(tmp_path / name)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_a_file_that_would_fill_the_memory_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(json_lines.LARGEST + 1)
    with pytest.raises(FileTooLargeError):
        opened(tmp_path / "huge")
