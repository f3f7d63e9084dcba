import json
import stat
from pathlib import Path

import pytest

from core.errors import RequestError
from evaluation.folder import MARKER, claim, require_own
from evaluation.record_store import NAME
from tests.unit.evaluation.sample_records import record

pytestmark = pytest.mark.usefixtures("readable_by_all")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((NAME, text) for text in ("", "not ours", json.dumps(record("1")) + "\n")),
        *((MARKER, text) for text in ("", "{}x", "[]", '{"paragraphs": "2"}', "[" * 1000)),
    ],
)
def test_a_foreign_file_makes_no_folder_its_own(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(RequestError, match=r"holds files that eval did not write: name a new folder.* --out"):
        require_own(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for check in (require_own, claim):
        with pytest.raises(RequestError, match=r"file cannot be written .*--out"):
            check(tmp_path / "file")


def test_a_folder_is_made_for_the_user_alone_and_an_older_one_is_closed(tmp_path: Path) -> None:
    claim(tmp_path / "eval" / "set")
    assert [mode(tmp_path / "eval"), mode(tmp_path / "eval" / "set")] == [0o700, 0o700]
    old = tmp_path / "old"
    old.mkdir()
    for name in (NAME, "report.html", "notes.md"):
        (old / name).write_text("")
    claim(old)
    assert {path.name: mode(path) for path in (old, *old.iterdir())} == {
        "old": 0o700,
        NAME: 0o600,
        "report.html": 0o600,
        MARKER: 0o600,
        "notes.md": 0o644,
    }


@pytest.mark.parametrize("noted", ["7", "null"])
def test_a_folder_that_an_earlier_version_claimed_is_its_own(tmp_path: Path, noted: str) -> None:
    (tmp_path / MARKER).write_text(f'{{"paragraphs": {noted}}}')
    claim(tmp_path)
    assert (tmp_path / MARKER).read_text() == f'{{"paragraphs": {noted}}}'
    require_own(tmp_path)
