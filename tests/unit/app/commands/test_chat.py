import io
import sys
from datetime import date

import pytest

from app.cli import main, parse_options
from app.commands.ask import context_from_options
from app.commands.chat import attempt, typed_lines
from app.terminal.screen import Screen
from core.errors import ModelError, RequestError
from retrieval.filters import Filter
from run.context import Context, Thresholds, Weights


class Typed(io.StringIO):
    """What is written to standard input, by a person if ``terminal``; ``^C`` is an interrupt."""

    def __init__(self, text: str, *, terminal: bool) -> None:
        super().__init__(text)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def readline(self, *_: object) -> str:  # type: ignore[override]
        if (line := super().readline()) == "^C\n":
            raise KeyboardInterrupt
        return line


def written(text: str, monkeypatch: pytest.MonkeyPatch, *, terminal: bool = False) -> list[str]:
    monkeypatch.setattr(sys, "stdin", Typed(text, terminal=terminal))
    return list(typed_lines(Screen()))


def test_blank_lines_are_left_out_and_a_backslash_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(" When?\n\n \nWhy \\\nnot?\n/quit", monkeypatch) == ["When?", "Why \nnot?", "/quit"]
    assert written("Why \\", monkeypatch) == ["Why"]


def test_only_a_terminal_is_prompted_and_never_on_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written("When?\n", monkeypatch)
    assert capsys.readouterr() == ("", "")
    written("When \\\nis it?\n", monkeypatch, terminal=True)
    assert capsys.readouterr() == ("", "> … > ")


def test_an_interrupt_at_the_prompt_ends_the_lines_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written("When?\n^C\nWhy?\n", monkeypatch, terminal=True) == ["When?"]
    with pytest.raises(KeyboardInterrupt):
        written("When?\n^C\n", monkeypatch)


@pytest.mark.parametrize(
    ("error", "told"),
    [(RequestError("No."), "error: No."), (ModelError("Gone."), "error: Gone."), (KeyboardInterrupt(), "note: ")],
)
def test_a_terminal_is_told_what_went_wrong_and_goes_on(
    error: BaseException, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(sys, "stdin", Typed("", terminal=True))
    assert attempt(fail, Screen()) is True
    assert capsys.readouterr().err.startswith(told)
    monkeypatch.setattr(sys, "stdin", Typed("", terminal=False))
    with pytest.raises(type(error)):
        attempt(fail, Screen())


@pytest.mark.parametrize(
    ("options", "context"),
    [
        ("", None),
        ("--mode always --k 8 --explain", Context(mode="always", k=8, explain=True)),
        ("--weights 1,2,0.5", Context(weights=Weights(relevance=1, support=2, usefulness=0.5))),
        ("--caution 0", Context(caution=0)),
        ("--support-threshold 0", Context(thresholds=Thresholds(supported=0, verified=0))),
        (
            "--retrieve-threshold 0.3 --relevance-threshold 0 --scoring support-first --constraints hard",
            Context(thresholds=Thresholds(retrieve=0.3, relevant=0), scoring="support-first", constraints="hard"),
        ),
        (
            "--source *.pdf --source docs/ --page 3-5 --since 2024-02 --until 2024-02",
            Context(
                filter=Filter(sources=("*.pdf", "docs"), pages=(3, 5), since=date(2024, 2, 1), until=date(2024, 2, 29))
            ),
        ),
    ],
)
def test_a_question_keeps_what_the_options_say_and_no_more(options: str, context: Context | None) -> None:
    found = context_from_options(parse_options(["chat", *options.split()]))
    assert found == context
    assert (found and found.model_fields_set) == (context and context.model_fields_set)


def test_one_thread_is_gone_on_with(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chat", "--last", "--thread", "abc"]) == 2
    assert "not allowed with" in capsys.readouterr().err
    assert main(["chat", "--thread", "abc"]) == 2
    assert capsys.readouterr().err == "error: There is no thread 'abc': python -m app threads lists them.\n"
    assert main(["chat", "--last"]) == 2
    assert capsys.readouterr().err == "error: No thread is kept yet: leave --last out to begin one.\n"
