import os
import stat
from pathlib import Path

import pytest

from core.files import (
    FileTooLargeError,
    NotRegularFileError,
    make_contents_private,
    make_private,
    make_private_folder,
    open_private,
    open_regular,
    read_regular,
    replace_private,
    write_private,
)

pytestmark = pytest.mark.usefixtures("readable_by_all")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_and_those_made_above_it_are_for_the_user_alone(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(0o755)
    make_private_folder(tmp_path / "open")
    make_private_folder(tmp_path / "home" / "libraries")
    assert mode(tmp_path / "open") == mode(tmp_path / "home") == mode(tmp_path / "home" / "libraries") == 0o700


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        make_private_folder(tmp_path / "file")


def test_what_only_the_user_may_read_stays_unwritable(tmp_path: Path) -> None:
    (tmp_path / "kept").touch(0o444)
    make_private(tmp_path / "kept")
    assert mode(tmp_path / "kept") == 0o400


def test_a_file_is_written_for_the_user_alone_also_over_one_that_was_open(tmp_path: Path) -> None:
    (tmp_path / "old").touch(0o644)
    for name in ("old", "new"):
        write_private(tmp_path / name, b"secret")
        assert mode(tmp_path / name) == 0o600
        assert (tmp_path / name).read_bytes() == b"secret"


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("mine")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(NotRegularFileError, match="it is a link"):
        write_private(tmp_path / "link", b"theirs")
    assert (tmp_path / "target").read_text() == "mine"


def test_what_is_no_file_is_neither_read_nor_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(NotRegularFileError):
            read_regular(path, 10)
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path, 10)
    with pytest.raises(NotRegularFileError):
        open_regular(pipe)
    with pytest.raises(NotRegularFileError):
        os.close(open_private(pipe, os.O_RDWR))


def test_a_file_is_opened_and_read_whole_up_to_the_most(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    with open_regular(tmp_path / "file") as file:
        assert file.read(4) == b"0123"
    assert read_regular(tmp_path / "file", 10) == b"0123456789"
    with pytest.raises(FileTooLargeError):
        read_regular(tmp_path / "file", 9)


def test_a_file_of_a_system_that_knows_no_sizes_is_read_up_to_the_most() -> None:
    assert read_regular(Path("/proc/self/status"), 1_000_000).startswith(b"Name:")
    with pytest.raises(FileTooLargeError):
        read_regular(Path("/proc/self/status"), 20)


def test_files_take_the_place_of_older_ones_all_or_none(tmp_path: Path) -> None:
    (tmp_path / "a").touch(0o644)
    replace_private({tmp_path / "a": b"1", tmp_path / "b": b"1"})
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"1", b"1"]
    assert mode(tmp_path / "a") == mode(tmp_path / "b") == 0o600
    (tmp_path / "c").mkdir()
    with pytest.raises(IsADirectoryError):
        replace_private({tmp_path / name: b"2" for name in "abc"})
    assert (tmp_path / "a").read_bytes() == b"1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["link", "pipe"])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / "target").write_text("mine")
    (tmp_path / "link").symlink_to("target")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotRegularFileError):
        replace_private({tmp_path / name: b"theirs"})
    assert (tmp_path / "target").read_text() == "mine"
    assert (tmp_path / "link").is_symlink()


def test_what_is_in_a_folder_is_closed_at_any_depth_but_nothing_that_a_link_leads_to(tmp_path: Path) -> None:
    kept, other = tmp_path / "kept", tmp_path / "other"
    (kept / "deep").mkdir(parents=True)
    other.mkdir(0o755)
    (other / "file").touch(0o644)
    (kept / "deep" / "file").touch(0o644)
    (kept / "link").symlink_to(other)
    (kept / "deep" / "link").symlink_to(other / "file")
    make_contents_private(kept)
    make_contents_private(tmp_path / "nowhere")
    assert mode(kept / "deep") == 0o700
    assert mode(kept / "deep" / "file") == 0o600
    assert mode(other) == 0o755
    assert mode(other / "file") == 0o644


@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o555, 0o444), (0o1777, 0o644)], ids=["read-only", "like tmp"])
def test_a_folder_that_is_shared_stays_open(tmp_path: Path, folder_mode: int, file_mode: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "file").touch(file_mode)
    shared.chmod(folder_mode)
    make_private_folder(shared)
    make_contents_private(shared)
    assert (mode(shared), mode(shared / "file")) == (folder_mode, file_mode)
    shared.chmod(0o755)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_what_belongs_to_another_user_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "theirs").touch(0o644)
    os.chown(tmp_path / "theirs", 65534, 65534)
    make_private(tmp_path / "theirs")
    write_private(tmp_path / "theirs", b"x")
    assert mode(tmp_path / "theirs") == 0o644


def test_a_path_that_has_become_a_link_is_not_opened_where_none_is_to_be_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link", 10) == b"text"
    with pytest.raises(OSError, match="link"):
        read_regular(tmp_path / "link", 10, follow_links=False)
