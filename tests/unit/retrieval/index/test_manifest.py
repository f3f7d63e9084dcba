import os
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

from retrieval.index.manifest import percent_encoded, write_atomically


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("path", [b"/plain name.txt", "/naïve/日本.md".encode(), b"/bad\xff\n%41", b"C:\\x"])
def test_any_path_is_written_as_text_and_back(path: bytes) -> None:
    assert unquote_to_bytes(percent_encoded(path)) == path
    assert percent_encoded(path).isascii()
