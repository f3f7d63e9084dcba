"""A comparison on the terminal: two columns where there is room, stacked where there is not, and nothing forged."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from app.terminal.screen import Screen
from app.terminal.show_comparison import show_comparison
from evaluation.comparison.compared_set import ComparedSet
from evaluation.comparison.comparison import Comparison
from evaluation.records import Example
from tests.unit.evaluation.sample_comparisons import comparison, opinions
from tests.unit.evaluation.sample_records import seen

FORGED = "What the chat model says (gpt)"
HOSTILE = f"</svg></script>\x1b[2J\u202e\n{FORGED}\r{FORGED}"


def printed(compared: ComparedSet, width: int) -> str:
    """What a terminal of this width gets; 0 is a pipe."""
    screen = Screen()
    file = io.StringIO()
    screen.out = Console(file=file, width=width or 80, force_terminal=bool(width), color_system=None, soft_wrap=True)
    show_comparison(compared, screen)
    return file.getvalue()


def single(**changes: object) -> ComparedSet:
    return ComparedSet(None, "gpt", [comparison(judged=opinions("plain", "plain"), **changes)])  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [40, 20, 0])
def test_one_below_the_other_where_there_is_not(width: int) -> None:
    text = printed(single(), width)
    lines = [line.rstrip() for line in text.splitlines()]
    assert not width or max(map(len, lines)) <= width
    assert lines.index("Answer · self-rag") < lines.index("Answer · plain")
    assert "Air scatters" in text


def test_a_single_question_shows_the_passages_and_a_set_does_not() -> None:
    assert "Whales sing." in printed(single(), 80)
    one = comparison()
    text = printed(ComparedSet("colours", "gpt", [one], opinions("self-rag", "plain")), 80)
    assert "Whales sing." not in text
    assert "1 of 2 passages found" in text


@pytest.mark.parametrize("width", [100, 40, 0])
def test_no_text_of_others_forges_a_line_or_controls_the_terminal(width: int) -> None:
    example = Example(id="e1", question=HOSTILE, references=(HOSTILE,))
    one = comparison(HOSTILE, "Blue.", example=example, seen=[seen(HOSTILE, 0.9, HOSTILE)])
    judged = opinions("plain", "plain", reason=HOSTILE)
    found = ComparedSet(HOSTILE, "gpt", [Comparison(example, one.ours, one.plain, judged)], judged)
    text = printed(found, width)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert [line.rstrip() for line in text.split("\n")].count(FORGED) == 1
