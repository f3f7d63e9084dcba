from pathlib import Path
from typing import Any

import pytest

from app.terminal.progress import asking, describe_tally, print_table, show_routes, timed
from app.terminal.screen import Screen
from core.types import Usage
from evaluation.reporting.routes import Routed
from evaluation.run import Tally
from retrieval.sync_report import Advance
from tests.unit.app.terminal.screens import screen_of


def tally(asked: int, **changes: Any) -> Tally:
    usage = Usage(
        model_calls=7 * asked, input_tokens=1000 * asked, cached_input_tokens=0, output_tokens=asked, estimated=False
    )
    return Tally(**{"total": 100, "kept": 10, "asked": asked, "usage": usage, "started": 0.0, **changes})


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Any:
    clock = {"seconds": 1000.0}
    monkeypatch.setattr("time.monotonic", lambda: clock["seconds"])
    return clock


def test_what_is_described(now: Any) -> None:
    now["seconds"] = 600.0
    spent = "3.0 a minute · 23 min left · 210 calls, 30,030 tokens"
    assert describe_tally(tally(30, failed=2, kept=0)) == f"2 failed · {spent}"
    assert describe_tally(tally(0)) == "10 kept from before · 0 calls, 0 tokens"
    assert describe_tally(tally(90)) == "10 kept from before · 9.0 a minute · 630 calls, 90,090 tokens"
    estimated = Usage(model_calls=1, input_tokens=5, cached_input_tokens=0, output_tokens=5, estimated=True)
    assert describe_tally(tally(1, kept=0, usage=estimated)).endswith("1 calls, about 10 tokens")


def test_on_a_terminal_there_is_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    screen = screen_of(120)
    with asking(screen) as show:
        show(tally(30))
    with timed(screen, "judging", "judgements") as tell:
        tell(1, 3)
    shown = capsys.readouterr().err
    assert all(part in shown for part in ("40/100", "210 calls", "1/3"))


def at(files: int) -> Advance:
    left = 0.5 * (100 - files) if files else None
    return Advance(files, 100, 20 * files, 0.5 * files, Path("/docs/lease.md"), left)


def test_indexing_in_a_pipe_is_told_now_and_then(now: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with Screen().working("indexing", "files") as advance:
        for files in range(101):
            now["seconds"] += 0.5
            advance(at(files))
        advance(at(100))
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0] == "indexing: 0 of 100 files"
    assert lines[1] == "indexing: 20 of 100 files · 400 passages · 40/s · 40 s left"
    assert lines[-1] == "indexing: 100 of 100 files · 2,000 passages · 40/s"
    assert len(lines) == 6


@pytest.mark.parametrize("width", [0, 80])
def test_nothing_to_index_shows_nothing(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    with screen_of(width).working("indexing", "files"):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_bar_is_taken_away_when_indexing_fails(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        with screen_of(80).working("indexing", "files") as advance:
            advance(at(1))
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert capsys.readouterr().err.endswith("\x1b[2K")


def test_a_table_is_aligned_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([["", "self-rag", "plain"], ["Answer F1 [x]", "0.5", "–"], ["租金", "0.25"]], Screen())
    assert capsys.readouterr().out == (
        "               self-rag  plain\nAnswer F1 [x]  0.5       –\n租金           0.25\n"
    )


@pytest.mark.parametrize("width", [120, 40, 0])
def test_the_routes_of_a_set_stand_on_one_line_or_two(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    path = "decide→retrieve → grade 2/4 → generate → supported"
    lines = [Routed("天空为什么是蓝色的？", True, path), Routed("a\x1b[2J\nself-rag: 9 of 9", False, path)]
    show_routes({"self-rag": [*lines, *lines * 50]}, screen_of(width))
    out = capsys.readouterr().out
    printed = out.splitlines()
    assert printed[1] == "self-rag: 51 of 102 questions routed as expected"
    assert printed[2] == "✓ 天空为什么是蓝色的？" + (f"  {path}" if width != 40 else "")
    assert printed[3] == (f"    {path}" if width == 40 else f"✗ a self-rag: 9 of 9    {path}")
    assert "\x1b" not in out
    assert not any(line.startswith("self-rag: 9") for line in printed)
    assert printed[-1] == "2 more are in report.html"
