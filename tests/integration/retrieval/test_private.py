"""What an index keeps is for its user alone, however open the umask is, and whatever made it."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.retrieval.conftest import Opener, synced


@pytest.fixture(autouse=True)
def _readable_by_all() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Return what others than its owner may do anything with, in a folder and below it."""
    return [path.name for path in (folder, *folder.rglob("*")) if path.lstat().st_mode & 0o077]


def test_no_file_is_open_to_others_even_before_it_is_filled(
    docs: Path, home: Path, open_library: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[str, int]] = []
    really_open = os.open

    def watched(path: str, flags: int, mode: int = 0o777, **more: int) -> int:
        descriptor = really_open(path, flags, mode, **more)
        if Path(path).parent == home:
            made.append((Path(path).name, stat.S_IMODE(os.fstat(descriptor).st_mode)))
        return descriptor

    monkeypatch.setattr(os, "open", watched)
    synced(open_library(), docs)
    partial = {"manifest.json.partial", "vectors.faiss.partial"}
    assert {name for name, _ in made} >= {"index.sqlite", "writer.lock", "writer.json", *partial}
    assert {mode for _, mode in made} == {0o600}
    assert (home / "index.sqlite-wal").exists()
    assert open_to_others(home) == []


def test_an_index_that_was_open_to_others_is_closed_when_it_is_opened(indexed: Path, open_library: Opener) -> None:
    (indexed / "index.sqlite.damaged-1").touch()
    for path in (indexed, *indexed.rglob("*")):
        path.chmod(0o777)
    open_library()
    assert open_to_others(indexed) == []


def test_a_file_is_not_written_through_a_link_that_lies_in_its_place(
    indexed: Path, open_library: Opener, docs: Path, tmp_path: Path
) -> None:
    (tmp_path / "target").write_text("mine")
    names = ("writer.json", "manifest.json.partial", "vectors.faiss.partial")
    for name in names:
        (indexed / name).symlink_to(tmp_path / "target")
    (docs / "new.txt").write_text("Something new.")
    assert len(open_library().sync().added) == 1
    assert (tmp_path / "target").read_text() == "mine"
