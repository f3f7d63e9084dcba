"""A folder that cannot be written says so; with an index in it, it can still be asked."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import RequestError
from retrieval.library.library import Library
from tests.integration.retrieval.conftest import ANSWER, Opener, best, held, somebody_else, synced
from tests.unit.retrieval.fakes import BagOfWords


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that every user can look into, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)
    shutil.rmtree(folder)


def open_at(home: Path) -> Library:
    return Library.open(home, BagOfWords(), embedding_name="bow")


def ask(home: Path, docs: Path) -> tuple[str, int]:
    """Return the best passage and how many documents were unchanged."""
    with somebody_else(), open_at(home) as library:
        library.add([docs])
        unchanged = library.sync().unchanged
        return best(library), unchanged


@pytest.fixture
def read_only(open_folder: Path) -> tuple[Path, Path]:
    """Give an index folder that is complete and read-only, and its documents."""
    docs, home = open_folder / "docs", open_folder / "index"
    docs.mkdir()
    (docs / "a.txt").write_text(ANSWER)
    with open_at(home) as library:
        synced(library, docs)
    with open_at(home) as library:
        library.store.similarity_search("import what is imported late while that is allowed")
    for path in home.iterdir():
        path.chmod(0o444)
    home.chmod(0o555)
    return home, docs


def test_a_read_only_index_that_is_up_to_date_is_asked_even_while_its_owner_has_it_open(
    read_only: tuple[Path, Path],
) -> None:
    home, docs = read_only
    before = sorted(path.name for path in home.iterdir())
    assert ask(home, docs) == (ANSWER, 1)
    assert sorted(path.name for path in home.iterdir()) == before
    with open_at(home) as library:
        (docs / "b.txt").write_text("New.")
        library.sync()  # not checkpointed yet
        assert ask(home, docs) == (ANSWER, 2)


def test_a_read_only_index_is_checked_and_what_cannot_be_mended_said(read_only: tuple[Path, Path]) -> None:
    home, _ = read_only
    with somebody_else(), open_at(home) as library:
        report = library.verify()
    assert (report.repairs, report.problems) == ([], [])
    (home / "vectors.faiss").write_bytes(b"x" * 500)
    with somebody_else(), open_at(home) as library:
        report = library.verify()
    assert report.repairs == []
    assert report.problems == [
        f"The vector file was missing or damaged, and the folder is read-only: make {home} writable."
    ]


def test_a_read_only_index_that_must_change_says_so(read_only: tuple[Path, Path]) -> None:
    home, docs = read_only
    (docs / "b.txt").write_text("New.")
    with pytest.raises(RequestError) as caught:
        ask(home, docs)
    assert str(caught.value) == (
        f"The index folder {home} cannot be written (it is read-only): "
        "free some space on its disk, or make the folder writable."
    )


def test_an_index_cannot_be_begun_in_a_read_only_folder(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    for home in (open_folder, open_folder / "new" / "index"):
        with pytest.raises(RequestError) as caught:
            ask(home, open_folder)
        assert str(caught.value).startswith(f"The index folder {home} cannot be written (permission denied)")


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match=r"^The index folder .*file cannot be written \("):
        open_at(tmp_path / "file")


def test_a_full_disk_is_named_and_nothing_is_lost(open_library: Opener, docs: Path) -> None:
    library = synced(open_library(), docs)
    (docs / "large.txt").write_text("\n\n".join(f"Paragraph {number} of many. " * 10 for number in range(500)))
    with library.store.database.reading() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(RequestError, match=r"cannot be written \(database or disk is full\): free some space"):
        library.sync()
    assert best(library) == ANSWER
    assert held(library) == ["a.txt", "b.md", "c.csv"]
    assert len(open_library().sync().added) == 1
