"""``index`` over a library that only notes what is asked of it."""

from pathlib import Path
from unittest.mock import ANY, MagicMock, call

import pytest

from app.cli import main
from app.commands import index as module
from retrieval.library.library import Library
from retrieval.sync_report import Skipped, Source, SyncReport, VerifyReport

GOOD = Source(Path("/d/good.md"), "indexed", 3, "", "2024-05-01")
A, B = Path("a"), Path("b")
SYNC, VERIFY, REQUIRE = call.sync(ANY), call.verify(ANY), call.require_passages()
READS = {"sources", "skipped", "excluded", "roots_elsewhere"}


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    made = MagicMock(spec=Library)
    made.sources.return_value = [GOOD]
    made.skipped.return_value = [Skipped(Path("/d/.git"), "hidden")]
    made.excluded.return_value = set()
    made.roots_elsewhere.return_value = {}
    made.sync.return_value, made.verify.return_value = SyncReport(), VerifyReport(3, 2)
    made.__enter__.return_value = made
    monkeypatch.setattr(module, "open_own", lambda *_: made)
    return made


def added(*paths: Path, follow_links: bool | None = None) -> object:
    return call.add(list(paths), follow_links=follow_links)


@pytest.mark.parametrize(
    ("words", "done"),
    [
        ("", [SYNC, REQUIRE]),
        ("a b", [added(A, B), SYNC, REQUIRE]),
        ("--list", []),
        ("--list --verify", [VERIFY]),
        ("a --verify", [added(A), SYNC, REQUIRE, VERIFY]),
        ("a --follow-links", [added(A, follow_links=True), SYNC, REQUIRE]),
        ("a --no-follow-links", [added(A, follow_links=False), SYNC, REQUIRE]),
        ("--remove a", [call.remove(A), SYNC]),
        ("--remove a b", [call.remove(A), added(B), SYNC, REQUIRE]),
        ("--exclude a --exclude ./b/", [call.exclude(["a", "b"]), SYNC]),
        ("--exclude a b", [added(B), call.exclude(["a"]), SYNC, REQUIRE]),
        ("--exclude a --list", [call.exclude(["a"])]),
        ("--include a --exclude b", [call.include(["a"]), call.exclude(["b"]), SYNC]),
        ("--include a --list", [call.include(["a"]), SYNC, REQUIRE]),
    ],
)
def test_what_is_done_and_in_which_order(shelf: MagicMock, words: str, done: list[object]) -> None:
    assert main(["index", *words.split()]) == 0
    assert [one for one in shelf.method_calls if one[0] not in READS] == done


def test_damage_that_cannot_be_mended_is_a_failure(shelf: MagicMock, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.verify.return_value.problems += ["The folder is read-only.", "It is\x1b[31m gone."]
    assert main(["index", "--verify", "--list", "--quiet"]) == 2
    out, err = capsys.readouterr()
    assert err == "error: The folder is read-only.\nerror: It is gone.\n"
    assert "good.md" in out


def test_an_empty_library_is_listed_as_such(shelf: MagicMock, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.sources.return_value, shelf.skipped.return_value = [], []
    assert main(["index", "--list"]) == 0
    assert capsys.readouterr() == ("", "note: the library is empty; add to it: python -m app index PATH\n")


def test_the_list_names_the_machine_of_what_is_read_elsewhere(
    shelf: MagicMock, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf.roots_elsewhere.return_value = {Path("/srv/papers"): "reader-2"}
    for held in ([GOOD], []):
        shelf.sources.return_value, shelf.skipped.return_value = held, []
        assert main(["index", "--list"]) == 0
        out, err = capsys.readouterr()
        assert ("good.md" in out) is bool(held)
        assert err == "note: /srv/papers belongs to the machine reader-2, which reads it.\n"


def test_it_is_said_what_an_exclusion_took_away_and_that_it_took_nothing(
    shelf: MagicMock, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf.exclude.return_value = {"*draft*": 2, "old*": 0, "*.xyz": 0}
    shelf.excluded.return_value = {"*draft*"}
    shelf.skipped.return_value = [Skipped(Path("/d/old.md"), "excluded by 'old*'")]
    assert main(["index", "--exclude", "*draft*", "--exclude", "old*", "--exclude", "*.xyz", "--list"]) == 0
    out, err = capsys.readouterr()
    assert "/d/old.md    excluded by 'old*'" in out
    assert err.splitlines() == [
        "note: 2 documents left the library, excluded by '*draft*'.",
        "note: nothing in the library fits '*.xyz' now; what comes and fits is excluded.",
        "note: '*draft*' is excluded; take it back: python -m app index --include '*draft*'",
    ]
