import re
import shlex
from pathlib import Path

import pytest

from app import cli
from app.cli import PARSERS, main, parse_options
from app.commands.ask import filter_of
from core.errors import ModelError, RequestError


@pytest.mark.parametrize(
    ("words", "question"),
    [
        (["Why is the sky blue?"], "Why is the sky blue?"),
        (["ask", "graph"], "graph"),
        (["ask", "ask"], "ask"),
        (["graphs"], "graphs"),
        (["index the files"], "index the files"),
        (["--json", "graph"], "graph"),
        (["--docs", "a.txt", "why"], "why"),
        (["--", "-5 + 3?"], "-5 + 3?"),
    ],
)
def test_what_is_no_command_is_a_question(words: list[str], question: str) -> None:
    options = parse_options(words)
    assert (options.command, options.question) == ("ask", [question])


@pytest.mark.parametrize(
    ("word", "pattern"),
    [("./a.pdf", "a.pdf"), ("docs/../a.pdf", "a.pdf"), ("/x/docs/", "/x/docs"), ("*.pdf", "*.pdf"), (".", "{here}")],
)
def test_a_pattern_as_a_shell_completes_it(word: str, pattern: str) -> None:
    assert parse_options(["why", "--source", word]).source == [pattern.format(here=Path.cwd())]


def test_days_in_the_wrong_order_are_named() -> None:
    with pytest.raises(RequestError, match=r"^--since 2024-01-01 is after --until 2023-12-31: swap them, or leave one"):
        filter_of(parse_options("why --since 2024 --until 2023".split()))


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["why", "--weights", "1,1,x"],
        ["why", "--retrieve-threshold", "1.1"],
        ["why", "--mode", "x"],
        ["why", "--js"],
        ["graph", "x"],
        ["why", "--k", "1.5"],
        ["why", "--docs", ""],
        ["why", "--source", " "],
        ["index", "--exclude", ""],
        ["index", "--verify", "--page", "3"],
    ],
)
def test_a_wrong_option_is_a_wrong_request(words: list[str]) -> None:
    with pytest.raises(RequestError, match="see python -m app --help"):
        parse_options(words)


def help_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", PARSERS)
def test_help_fits_the_terminal_and_ends_with_an_example_that_can_be_run(
    command: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = help_of([command, "--help"], capsys).splitlines()
    assert max(map(len, lines)) < columns
    assert lines[-2] == "example:"
    python, dash_m, app, *words = shlex.split(lines[-1])
    assert (python, dash_m, app) == ("python", "-m", "app")
    assert parse_options(words).command == command


@pytest.mark.parametrize("command", PARSERS)
def test_help_lists_a_dozen_options_at_most_and_help_all_every_one(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    short = set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", help_of([command, "--help"], capsys), re.MULTILINE))
    assert {"--help", "--quiet", "--debug"} <= short
    assert len(short) <= 12
    options = PARSERS[command]()._option_string_actions
    every = {word for word in options if word.startswith("--") and not word.startswith("--no-f")}
    if "--help-all" in short:
        whole = help_of([command, "--help-all"], capsys)
        assert whole.splitlines()[-1] == help_of([command, "--help"], capsys).splitlines()[-1]
        short = set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", whole, re.MULTILINE))
    assert short == every


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (RequestError("No such file."), 2, "error: No such file.\n"),
        (ModelError("It is\x1b[31m gone."), 3, "error: It is gone.\n"),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
        (SystemExit(5), 5, ""),
        (LookupError("odd\nand long"), 1, "error: LookupError: odd (run with --debug for the details)\n"),
    ],
)
def test_exit_codes(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(options: object) -> int:
        raise error

    monkeypatch.setattr(cli, "_command", lambda name: fail)
    assert main(["why"]) == code
    assert capsys.readouterr() == ("", said)
