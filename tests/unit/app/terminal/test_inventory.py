from pathlib import Path

import pytest

from app.terminal.inventory import MOST_LINES, inventory_rows, left_out_lines, sync_summary
from retrieval.sync_report import Failure, Skipped, Source, SyncReport

GOOD = Source(Path("/d/good.md"), "indexed", 3, "", "2024-05-01")
SCAN = Source(Path("/d/scan.pdf"), "empty", 0, "scan.pdf holds no text: run it through OCR.", "2023-01-01")
LOST = Source(Path("/d/lost.txt"), "failed", 0, "It cannot be opened: check its permissions.")
PICTURE = Skipped(Path("/d/a.png"), "not a supported file type")


@pytest.mark.parametrize(
    ("report", "sources", "said"),
    [
        (SyncReport(added=[GOOD.path]), [GOOD], "1 indexed (1 added)"),
        (SyncReport(unchanged=1), [GOOD], "1 indexed (1 unchanged)"),
        (SyncReport(removed=[GOOD.path]), [], "0 indexed, 1 removed"),
        (
            SyncReport(updated=[GOOD.path], failed=[Failure(LOST.path, LOST.reason)], skipped=[PICTURE] * 1200),
            [GOOD, GOOD, SCAN, LOST, LOST],
            "2 indexed (1 updated, 1 unchanged), 1 empty, 2 failed, 1,200 skipped",
        ),
    ],
)
def test_a_sync_is_summed_up(report: SyncReport, sources: list[Source], said: str) -> None:
    assert sync_summary(report, sources) == said


def test_what_is_not_indexed_is_told_with_its_reason() -> None:
    assert left_out_lines([GOOD, SCAN, LOST], [PICTURE]) == [
        "empty: /d/scan.pdf holds no text: run it through OCR.",
        "failed: /d/lost.txt: It cannot be opened: check its permissions.",
        "skipped: /d/a.png: not a supported file type",
    ]


@pytest.mark.parametrize(
    ("count", "lines", "last"), [(20, 20, "empty: /d/19/scan.pdf"), (54, 21, "and 34 more: index")]
)
def test_of_many_the_first_are_told(count: int, lines: int, last: str) -> None:
    said = left_out_lines([SCAN._replace(path=Path(f"/d/{number:02}/scan.pdf")) for number in range(count)], [])
    assert len(said) == lines
    assert said[-1].startswith(last)


def test_many_skipped_for_one_reason_are_summed_up_and_others_are_not() -> None:
    hidden = [Skipped(Path(f"/d/.{number}"), "hidden") for number in range(MOST_LINES + 1)]
    said = left_out_lines([], [*hidden[:9], PICTURE, *hidden[9:]])
    assert said == ["skipped: 21 files: hidden (see index --list)", "skipped: /d/a.png: not a supported file type"]
    assert len(left_out_lines([], hidden[:MOST_LINES])) == MOST_LINES


def test_the_list_has_a_row_for_everything() -> None:
    assert inventory_rows([GOOD, SCAN, LOST], [PICTURE] * 30)[:5] == [
        ["status", "passages", "date", "path", "reason"],
        ["indexed", "3", "2024-05-01", "/d/good.md", ""],
        ["empty", "0", "2023-01-01", "/d/scan.pdf", "holds no text: run it through OCR."],
        ["failed", "0", "", "/d/lost.txt", "It cannot be opened: check its permissions."],
        ["skipped", "", "", "/d/a.png", "not a supported file type"],
    ]
    assert len(inventory_rows([GOOD], [PICTURE] * 30)) == 32
