"""Every file has one fate, and one that has none is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.index.bad_files import write_bad_files
from benchmarks.index.bag_of_words import NAME, BagOfWords
from benchmarks.index.collection import SAME, UNSEEN, account, entries, kind_of, settled, surprises
from retrieval.library.library import Library

THERE = {b"/r/a.txt": b"/r/a.txt", b"/r/b.png": b"/r/b.png"}


def test_files_in_the_index_and_files_passed_over_add_up() -> None:
    found = settled(THERE, {b"/r/a.txt": ("failed", "a.txt is damaged.")}, {b"/r/b.png": "of no kind"})
    assert found.fates == {b"/r/a.txt": "failed", b"/r/b.png": "skipped"}
    assert found.reasons == {b"/r/a.txt": "a.txt is damaged.", b"/r/b.png": "of no kind"}
    assert found.wrong == []


@pytest.mark.parametrize(
    ("sources", "skipped", "wrong"),
    [
        ({b"/r/a.txt": ("indexed", "")}, {}, "b.png is neither indexed nor skipped"),
        ({b"/r/a.txt": ("indexed", "")}, {b"/r/a.txt": "hidden", b"/r/b.png": "of no kind"}, "a.txt is indexed and sk"),
        ({b"/r/c.txt": ("indexed", "")}, {b"/r/a.txt": "x", b"/r/b.png": "x"}, "c.txt is indexed and not there"),
        ({}, {b"/r/a.txt": "x", b"/r/b.png": "x", b"/r/c.png": "x"}, "c.png is skipped and not there"),
    ],
)
def test_what_does_not_add_up_is_reported(
    sources: dict[bytes, tuple[str, str]], skipped: dict[bytes, str], wrong: str
) -> None:
    (told,) = settled(THERE, sources, skipped).wrong
    assert told.startswith(wrong)


def test_links_and_hidden_folders_have_fates_of_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config.txt").write_text("Hidden.")
    (folder / "a.txt").write_text("A kettle is blue.")
    (folder / "b.txt").symlink_to(folder / "a.txt")
    (tmp_path / "elsewhere.txt").write_text("A kettle is red.")
    (folder / "c.txt").symlink_to(tmp_path / "elsewhere.txt")
    (folder / "loop").symlink_to(folder)
    with Library.open(tmp_path / "index", BagOfWords(), embedding_name=NAME) as library:
        library.add([folder])
        library.sync()
        found = account(folder, library)
    assert {Path(path.decode()).name: fate for path, fate in found.fates.items()} == {
        "config.txt": UNSEEN,
        "a.txt": "indexed",
        "b.txt": SAME,
        "c.txt": "skipped",
        "loop": "skipped",
    }
    assert found.wrong == []


def test_bad_input_that_fares_otherwise_is_reported(tmp_path: Path) -> None:
    expected = write_bad_files(tmp_path / "bad")
    (tmp_path / "bad" / "closed").chmod(0o755)
    there = dict(entries(str(tmp_path / "bad").encode()))
    assert {path.rpartition(b"/")[2] for path in there} >= set(expected) - {b"inside.txt"}
    found = settled({b"/r/a.txt": b"/r/a.txt"}, {b"/r/a.txt": ("indexed", "")}, {})
    assert surprises(found, {b"a.txt": "indexed"}) == []
    assert surprises(found, {b"a.txt": "failed", b"b.txt": "empty"}) == [
        "a.txt is indexed, not failed",
        "b.txt is not seen, not empty",
    ]


def test_reasons_of_a_kind_are_counted_together() -> None:
    assert kind_of("a b.pdf is larger than 200 MB: split it.") == kind_of("other.pdf is larger than 300 MB: split it.")
