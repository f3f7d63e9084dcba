"""What is excluded leaves the library, stays out in every process and copy, and comes back when it is included."""

import os
import shlex
from functools import partial
from pathlib import Path

import pytest

from core.errors import RequestError
from retrieval.library.backup import Backup, write_backup
from retrieval.library.copying import copy_library
from retrieval.library.library import Library
from retrieval.library.worker import Worker
from tests.integration.retrieval.conftest import Opener, held, run_sql, synced


@pytest.fixture
def opened(open_at: Opener, url: str) -> Opener:
    return partial(open_at, url)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "contracts"
    (made / "drafts").mkdir(parents=True)
    (made / "rent.md").write_text("The rent is 500 euros.")
    (made / "rent-draft.md").write_text("The draft says 700 euros.")
    (made / "drafts" / "new.txt").write_text("A new draft of the deposit.")
    return made


@pytest.fixture
def library(opened: Opener, folder: Path) -> Library:
    return synced(opened(), folder)


@pytest.mark.parametrize(
    ("word", "left"),
    [
        ("{folder}/rent-draft.md", ["new.txt", "rent.md"]),
        ("{folder}/drafts", ["rent-draft.md", "rent.md"]),
        ("*draft*", ["rent.md"]),
        ("drafts/*.txt", ["rent-draft.md", "rent.md"]),
        ("contracts/*.md", ["new.txt"]),
    ],
)
def test_what_fits_leaves_at_once_stays_out_and_comes_back(
    opened: Opener, library: Library, folder: Path, word: str, left: list[str]
) -> None:
    word, removed = word.format(folder=folder), 3 - len(left)
    assert library.exclude([word]) == {word: removed}
    assert held(library) == left
    other = opened()  # as another process does before a question
    report = other.sync()
    assert (report.added, report.removed, report.failed, held(other)) == ([], [], [], left)
    other.add([folder])
    assert other.sync().added == []
    assert {one.reason for one in other.skipped()} == {f"excluded by {shlex.quote(word)}"}
    assert other.excluded() == {word}
    other.include([word])
    assert len(other.sync().added) == removed
    assert sorted(held(opened())) == ["new.txt", "rent-draft.md", "rent.md"]
    assert library.excluded() == set()


def test_neither_a_root_nor_what_is_above_it_fits_a_pattern(library: Library, folder: Path) -> None:
    for word in ("contracts/*.txt", "contract*", f"*{folder.parent.name}*", "*.pdf"):
        assert library.exclude([word]) == {word: 0}
    report = library.sync()
    assert (report.added, report.removed, report.failed, report.skipped) == ([], [], [], [])
    assert held(library) == ["new.txt", "rent-draft.md", "rent.md"]


def test_a_path_of_the_library_is_meant_alone_and_any_other_word_is_a_pattern(
    library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "drafts" / "rent.md").write_text("Another rent.")
    (folder / "[1].md").write_text("One.")
    (folder / "1.md").write_text("Another one.")
    library.sync()
    (folder.parent / "drafts").mkdir()  # not of the library
    monkeypatch.chdir(folder)
    library.exclude(["rent.md", "[1].md"])
    assert sorted(held(library)) == ["1.md", "new.txt", "rent-draft.md", "rent.md"]
    library.include(["rent.md", "[1].md"])
    monkeypatch.chdir(folder.parent)
    assert library.exclude(["drafts"]) == {"drafts": 2}


def test_a_name_that_is_no_text_can_be_excluded(library: Library, folder: Path) -> None:
    odd = os.fsencode(folder) + b"/caf\xe9.md"
    Path(os.fsdecode(odd)).write_text("Coffee.")
    library.sync()
    library.exclude([os.fsdecode(odd)])
    assert len(held(library)) == 3
    library.include([os.fsdecode(odd)])
    assert len(library.sync().added) == 1


def test_a_file_that_was_added_by_name_and_the_target_of_a_link_can_be_excluded(
    library: Library, folder: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "alone-draft.md"
    alone.write_text("Alone.")
    (folder / "link.md").symlink_to(folder / "rent-draft.md")
    synced(library, alone)
    library.exclude(["*-draft.md"])
    assert library.sync().added == []
    assert held(library) == ["new.txt", "rent.md"]


def test_a_folder_is_excluded_with_all_within_it_that_was_added(library: Library, folder: Path) -> None:
    library.exclude(["drafts"])
    assert [one.path for one in library.skipped()] == [folder / "drafts"]
    library.add([folder / "drafts"])
    assert library.sync().added == []
    assert {one.path for one in library.skipped()} == {folder / "drafts", folder / "drafts" / "new.txt"}
    library.remove(folder)
    assert [path.name for path in library.sync().added] == ["new.txt"]  # nothing above it counts


def test_what_is_excluded_leaves_also_while_its_folder_is_away(library: Library, folder: Path) -> None:
    folder.rename(folder.with_name("away"))
    library.exclude(["*draft*"])
    library.sync()
    assert held(library) == ["rent.md"]


def test_what_is_not_excluded_cannot_be_included(library: Library, folder: Path) -> None:
    library.exclude(["*draft*"])
    with pytest.raises(RequestError, match=r"rent-draft.md is excluded by '\*draft\*': name that pattern\.$"):
        library.include([str(folder / "rent-draft.md")])
    with pytest.raises(RequestError, match=r"^No pattern 'x y' is excluded: index --list names those that are\.$"):
        library.include(["*draft*", "x y"])
    assert library.excluded() == {"*draft*"}


def test_patterns_of_any_length_are_kept(opened: Opener, library: Library) -> None:
    patterns = {"/" + "x/" * 2_000, "'; DROP TABLE meta; --\n", "é\ufffd"}
    library.exclude(patterns)
    assert opened().excluded() == patterns


def test_copies_and_backups_have_the_patterns(
    open_at: Opener, opened: Opener, library: Library, tmp_path: Path
) -> None:
    library.exclude(["*draft*"])
    copy = open_at(f"sqlite:///{tmp_path}/copy")
    copy.exclude(["*.tmp"])
    copy_library(library.store, copy.store)
    assert copy.excluded() == {"*draft*", "*.tmp"}
    write_backup(library.store, tmp_path / "saved.zip", [])
    restored = opened(name="restored")
    with Backup(tmp_path / "saved.zip") as saved:
        copy_library(saved, restored.store)
    assert restored.excluded() == {"*draft*"}
    assert restored.sync().added == []
    assert held(restored) == ["rent.md"]


def test_uploads_are_removed_and_not_excluded(library: Library) -> None:
    with pytest.raises(RequestError, match=r"^uploads:/x\.md is an upload: index --remove deletes it\.$"):
        library.exclude(["uploads:/x.md"])
    with pytest.raises(RequestError, match=r"^Nothing was uploaded to uploads:: index --list shows what was\.$"):
        library.remove(Path("uploads:/"))


@pytest.mark.parametrize(
    ("manifest", "harm"),
    [
        (True, "DROP TABLE words"),
        (False, "DROP TABLE words"),
        (True, ""),  # the whole database is gone
        (True, "UPDATE meta SET value = '1' WHERE key GLOB 'exclude *'"),
        (True, "UPDATE meta SET key = 'exclude x' WHERE key GLOB 'exclude *'"),
        (True, "UPDATE meta SET value = '1' WHERE key GLOB 'follow_links *'"),
        (True, "UPDATE meta SET key = 'follow_links x' WHERE key GLOB 'follow_links *'"),
    ],
)
def test_patterns_and_followed_links_outlive_damage_of_an_embedded_index(
    open_at: Opener, folder: Path, tmp_path: Path, manifest: bool, harm: str
) -> None:
    url = f"sqlite:///{tmp_path}/store"
    library = open_at(url)
    library.add([folder], follow_links=True)
    library.exclude(["*draft*"])
    library.sync()
    library.close()
    home = tmp_path / "store" / "library"
    if not manifest:
        (home / "manifest.json").unlink()
    if harm:
        run_sql(home, harm)
    else:
        (home / "index.sqlite").unlink()
    again = open_at(url)
    assert ("was damaged" if harm else "had to be created again") in again.sync().notes[0]
    assert again.excluded() == {"*draft*"}
    assert again.roots() == {folder: True}
    assert held(again) == ["rent.md"]


@pytest.mark.postgres
def test_what_waits_in_the_queue_and_is_excluded_is_read_by_no_machine(
    open_at: Opener, folder: Path, postgres_url: str
) -> None:
    library, other = open_at(postgres_url), open_at(postgres_url, machine="b")
    library.add([folder])
    library.enqueue()
    other.exclude(["*draft*"])
    with Worker(other.store, other.require_queue(), other.settings, "w") as worker:
        while worker.step():
            pass
        assert worker.passages == 1
    assert held(library) == ["rent.md"]
    assert library.require_queue().waiting(everywhere=True) == 0
    report = library.sync()
    assert (report.added, report.removed) == ([], [])


@pytest.mark.postgres
def test_documents_of_another_machine_leave_at_once_and_uploads_when_they_are_removed(
    open_at: Opener, folder: Path, postgres_url: str
) -> None:
    library, other = open_at(postgres_url), open_at(postgres_url, machine="b")
    uploads = library.store.uploads
    assert uploads is not None
    library.add([folder])
    for name in (b"draft.md", b"bob/draft.md", b"bob/rent.md"):
        uploads.put(b"uploads:/" + name, name)
    library.sync()
    assert other.exclude(["*draft*"]) == {"*draft*": 2}
    uploads.put(b"uploads:/bob/new draft.md", b"It came later.")
    other.sync()
    assert sorted(held(other)) == ["draft.md", "draft.md", "new draft.md", "rent.md", "rent.md"]
    other.remove(Path("uploads:/bob/draft.md"))
    assert sorted(held(library)) == ["draft.md", "new draft.md", "rent.md", "rent.md"]
    other.remove("uploads:/")
    assert (held(library), uploads.stored()) == (["rent.md"], {})
