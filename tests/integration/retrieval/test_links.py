"""Links in a folder are followed within it; what lies outside is indexed where that was asked for."""

from pathlib import Path

import pytest

from core.errors import RequestError
from retrieval.index.schema import add_roots
from retrieval.library.discovery import LINK_OUTSIDE, SYSTEM
from retrieval.library.library import Library
from tests.integration.retrieval.conftest import Opener, held, synced

SECRET = "The password is sesame."


@pytest.fixture
def linked(docs: Path, tmp_path: Path) -> Path:
    """A folder with a link out of it, and one that stays in it."""
    (tmp_path / "credentials").write_text(SECRET)
    (docs / "readme.md").symlink_to(tmp_path / "credentials")
    (docs / "deep").mkdir()
    (docs / "deep" / "again.txt").symlink_to("../a.txt")
    return docs


def skipped(library: Library) -> dict[str, str]:
    return {one.path.name: one.reason for one in library.skipped()}


def test_links_are_followed_where_that_was_asked_for_and_remembered(
    open_library: Opener, linked: Path, tmp_path: Path
) -> None:
    library = synced(open_library(), linked, follow_links=True)
    assert held(library) == ["credentials", "a.txt", "b.md", "c.csv"]
    library.add([linked])  # says nothing of links
    (tmp_path / "credentials").write_text(f"{SECRET} It was changed.")
    again = open_library()
    assert [path.name for path in again.sync().updated] == ["credentials"]
    assert skipped(again) == {}
    again.add([linked], follow_links=False)
    report = again.sync()
    assert [path.name for path in report.removed] == ["credentials"]
    assert report.notes == [
        "Documents outside of the library's folders, to which only links lead, were removed (1): add them by name, "
        "or the folder with index --follow-links."
    ]


def test_what_links_led_to_goes_with_the_last_folder_whose_links_are_followed(
    open_at: Opener, url: str, linked: Path
) -> None:
    library = synced(open_at(url), linked, follow_links=True)
    library.remove(linked)
    assert library.sources() == []
    assert library.sync().notes == []


def test_each_folder_has_its_own_answer(open_library: Opener, linked: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "own.txt").write_text("Its own.")
    (other / "out.txt").symlink_to(linked / "b.md")
    (tmp_path / "third.txt").write_text("Elsewhere.")
    (other / "third.txt").symlink_to(tmp_path / "third.txt")
    library = open_library()
    library.add([linked], follow_links=True)
    synced(library, other)
    assert sorted(held(library)) == ["a.txt", "b.md", "c.csv", "credentials", "own.txt"]
    assert skipped(library) == {"out.txt": LINK_OUTSIDE, "third.txt": LINK_OUTSIDE}
    library.remove(linked)
    synced(library, linked)
    assert "credentials" not in held(library)


def test_a_folder_of_nothing_but_links_out_of_it_says_so(open_library: Opener, tmp_path: Path, docs: Path) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "a.txt").symlink_to(docs / "a.txt")
    library = open_library()
    with pytest.raises(RequestError, match=r"^The folder .*links holds only links out of it: .* --follow-links\.$"):
        library.add([folder])
    library.add([folder], follow_links=True)
    assert len(library.sync().added) == 1


def test_a_link_that_is_named_is_followed(open_library: Opener, linked: Path, tmp_path: Path) -> None:
    (tmp_path / "to folder").symlink_to(linked)
    library = synced(open_library(), linked / "readme.md", tmp_path / "to folder")
    assert held(library) == ["credentials", "a.txt", "b.md", "c.csv"]


def test_a_file_that_has_become_a_link_is_not_followed(open_library: Opener, docs: Path, tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(SECRET)
    library = synced(open_library(), docs / "a.txt", docs / "b.md")
    (docs / "a.txt").unlink()
    (docs / "a.txt").symlink_to(tmp_path / "credentials")
    report = library.sync()
    assert held(library) == ["b.md"]
    assert report.notes == [f"{docs / 'a.txt'} has become a link, which is not followed: add what it leads to by name."]
    library.remove(docs / "a.txt")
    assert library.sync().notes == []


def test_a_folder_that_has_become_a_link_is_not_walked(open_library: Opener, docs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "credentials.txt").write_text(SECRET)
    library = synced(open_library(), docs)
    docs.rename(tmp_path / "moved")
    docs.symlink_to(other)
    report = library.sync()
    assert (report.added, report.removed) == ([], [])
    assert report.notes[0].startswith(f"{docs} has become a link")


def test_the_systems_own_files_are_refused_even_behind_a_link(open_library: Opener, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/proc/self/environ")
    library = open_library()
    for path in ("/proc/self/environ", "/proc/self/cwd", "/proc", "/sys", "/dev/stdin", "/dev/fd/0", "/dev/../proc/1"):
        with pytest.raises(RequestError, match=r"is a system path in /proc, /sys or /dev: name a document"):
            library.add([path])
    with pytest.raises(RequestError, match="is a system path"):
        library.add([tmp_path / "link"])


def test_the_systems_own_files_are_never_found(open_library: Opener, docs: Path) -> None:
    for name, target in (("a", "/proc/self/environ"), ("b", "/dev/null"), ("c", "/sys/kernel"), ("d", "/proc/self")):
        (docs / f"{name}.txt").unlink(missing_ok=True)
        (docs / f"{name}.txt").symlink_to(target)
    library = synced(open_library(), docs, follow_links=True)
    assert held(library) == ["b.md", "c.csv"]
    assert skipped(library) == {f"{name}.txt": SYSTEM for name in "abcd"}


def test_the_systems_own_files_are_not_read_for_an_older_index(open_library: Opener, docs: Path) -> None:
    library = open_library()
    library.add([docs])
    with library.store.database.writing() as connection:
        add_roots(connection, {b"/proc/self/environ": "file", b"/proc/self/net": "folder"})
    assert len(library.sync().added) == 3
    assert skipped(library) == {"environ": SYSTEM, "net": SYSTEM}
