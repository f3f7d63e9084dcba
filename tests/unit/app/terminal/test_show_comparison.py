from __future__ import annotations

import pytest

from app.terminal.show_comparison import show_comparison
from evaluation.comparison.compared_set import ComparedSet
from evaluation.comparison.comparison import Comparison
from evaluation.records import Example
from tests.unit.app.terminal.screens import screen_of
from tests.unit.evaluation.sample_comparisons import comparison, opinions
from tests.unit.evaluation.sample_records import seen

FORGED = "What the chat model says (gpt)"
HOSTILE = f"</svg></script>\x1b[2J\u202e\n{FORGED}\r{FORGED}"
SINGLE = ComparedSet(None, "gpt", [comparison(judged=opinions("plain", "plain"))])


@pytest.mark.parametrize("width", [40, 20, 0])
def test_one_below_the_other_where_there_is_not(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    show_comparison(SINGLE, screen_of(width))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert not width or max(map(len, lines)) <= width
    assert lines.index("Answer · self-rag") < lines.index("Answer · plain")
    assert any("Air scatters" in line for line in lines)


def test_a_single_question_shows_the_passages_and_a_set_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    show_comparison(SINGLE, screen_of(80))
    assert "Whales sing." in capsys.readouterr().out
    show_comparison(ComparedSet("colours", "gpt", [comparison()], opinions("self-rag", "plain")), screen_of(80))
    text = capsys.readouterr().out
    assert "Whales sing." not in text
    assert "1 of 2 passages found" in text


@pytest.mark.parametrize("width", [100, 40, 0])
def test_no_text_of_others_forges_a_line_or_controls_the_terminal(
    width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    example = Example(id="e1", question=HOSTILE, references=(HOSTILE,))
    one = comparison(HOSTILE, "Blue.", example=example, seen=[seen(HOSTILE, 0.9, HOSTILE)])
    judged = opinions("plain", "plain", reason=HOSTILE)
    found = ComparedSet(HOSTILE, "gpt", [Comparison(example, one.ours, one.plain, judged)], judged)
    show_comparison(found, screen_of(width))
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert [line.rstrip() for line in text.split("\n")].count(FORGED) == 1
