from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from app.commands import index as module
from retrieval.filters import Filter
from retrieval.sync_report import Advance, Progress, Skipped, Source, SyncReport, VerifyReport

GOOD = Source(Path("/d/good.md"), "indexed", 3, "", "2024-05-01")
SCAN = Source(Path("/d/scan.pdf"), "empty", 0, "scan.pdf holds no text: run it through OCR.")


@dataclass
class Shelf:
    """A library; ``done`` keeps what was asked of it."""

    held: list[Source] = field(default_factory=lambda: [GOOD, SCAN])
    left: list[Skipped] = field(default_factory=lambda: [Skipped(Path("/d/.git"), "hidden")])
    report: SyncReport = field(default_factory=SyncReport)
    found: VerifyReport = field(default_factory=lambda: VerifyReport(3, 2))
    done: list[Any] = field(default_factory=list)
    elsewhere: dict[Path, str] = field(default_factory=dict)
    patterns: dict[str, int] = field(default_factory=dict)  # with the documents that each takes away
    path: Path = GOOD.path  # of the document that is being read

    def add(self, paths: list[Path], *, follow_links: bool | None) -> None:
        links = {None: "", True: " with links", False: " without links"}[follow_links]
        self.done += [f"add {path}{links}" for path in paths]

    def remove(self, path: Path) -> None:
        self.done.append(f"remove {path}")

    def exclude(self, words: list[str]) -> dict[str, int]:
        self.done.append(f"exclude {' '.join(words)}")
        return {word: self.patterns.get(word, 0) for word in words}

    def include(self, words: list[str]) -> None:
        self.done.append(f"include {' '.join(words)}")

    def excluded(self) -> set[str]:
        return set(self.patterns)

    def sync(self, progress: Progress) -> SyncReport:
        self.done.append("sync")
        progress(Advance(0, 1, 0, 0.0, self.path))
        return self.report

    def verify(self, progress: Progress) -> VerifyReport:
        self.done.append("verify")
        progress(Advance(0, 3, 0, 0.0, self.path))
        return self.found

    def require_passages(self, filter: Filter | None = None) -> None:  # noqa: A002
        self.done.append("require")

    def sources(self) -> list[Source]:
        return self.held

    def skipped(self) -> list[Skipped]:
        return self.left

    def roots_elsewhere(self) -> dict[Path, str]:
        return self.elsewhere


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    made = Shelf()

    @contextmanager
    def opened(*_: object) -> Iterator[Shelf]:
        yield made

    monkeypatch.setattr(module, "open_own", opened)
    return made


@pytest.mark.parametrize(
    ("words", "done"),
    [
        ("", ["sync", "require"]),
        ("a b", ["add a", "add b", "sync", "require"]),
        ("--list", []),
        ("--list --verify", ["verify"]),
        ("a --verify", ["add a", "sync", "require", "verify"]),
        ("a --follow-links", ["add a with links", "sync", "require"]),
        ("a --no-follow-links", ["add a without links", "sync", "require"]),
        ("--remove a", ["remove a", "sync"]),
        ("--remove a b", ["remove a", "add b", "sync", "require"]),
        ("--exclude a --exclude ./b/", ["exclude a b", "sync"]),
        ("--exclude a b", ["add b", "exclude a", "sync", "require"]),
        ("--exclude a --list", ["exclude a"]),
        ("--include a --exclude b", ["include a", "exclude b", "sync"]),
        ("--include a --list", ["include a", "sync", "require"]),
    ],
)
def test_what_is_done_and_in_which_order(shelf: Shelf, words: str, done: list[str]) -> None:
    assert main(["index", *words.split()]) == 0
    assert shelf.done == done


def test_damage_that_cannot_be_mended_is_a_failure(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.found.problems += ["The folder is read-only.", "It is\x1b[31m gone."]
    assert main(["index", "--verify", "--list", "--quiet"]) == 2
    out, err = capsys.readouterr()
    assert err == "error: The folder is read-only.\nerror: It is gone.\n"
    assert "good.md" in out


def test_an_empty_library_is_listed_as_such(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.held, shelf.left = [], []
    assert main(["index", "--list"]) == 0
    assert capsys.readouterr() == ("", "note: the library is empty; add to it: python -m app index PATH\n")


def test_the_list_names_the_machine_of_what_is_read_elsewhere(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.elsewhere = {Path("/srv/papers"): "reader-2"}
    for held in ([GOOD], []):
        shelf.held, shelf.left = held, []
        assert main(["index", "--list"]) == 0
        out, err = capsys.readouterr()
        assert ("good.md" in out) is bool(held)
        assert err == "note: /srv/papers belongs to the machine reader-2, which reads it.\n"


def test_it_is_said_what_an_exclusion_took_away_and_that_it_took_nothing(
    shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf.patterns = {"*draft*": 2}
    shelf.left = [Skipped(Path("/d/old.md"), "excluded by 'old*'")]
    assert main(["index", "--exclude", "*draft*", "--exclude", "old*", "--exclude", "*.xyz", "--list"]) == 0
    out, err = capsys.readouterr()
    assert "/d/old.md    excluded by 'old*'" in out
    assert err.splitlines() == [
        "note: 2 documents left the library, excluded by '*draft*'.",
        "note: nothing in the library fits '*.xyz' now; what comes and fits is excluded.",
        "note: '*draft*' is excluded; take it back: python -m app index --include '*draft*'",
    ]
