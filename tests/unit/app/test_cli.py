"""What the command line makes of its words, without running anything."""

from pathlib import Path

import pytest

from app import cli
from app.cli import main, parse
from errors import ModelError, RequestError


@pytest.mark.parametrize(
    ("words", "command", "question"),
    [
        (["Why is the sky blue?"], "ask", ["Why is the sky blue?"]),
        (["why", "is", "it"], "ask", ["why", "is", "it"]),
        (["ask", "graph"], "ask", ["graph"]),
        (["ask", "ask"], "ask", ["ask"]),
        (["graphs"], "ask", ["graphs"]),
        (["Graph"], "ask", ["Graph"]),
        (["index the files"], "ask", ["index the files"]),
        (["--json", "graph"], "ask", ["graph"]),
        (["--docs", "a.txt", "why"], "ask", ["why"]),
        (["--", "-5 + 3?"], "ask", ["-5 + 3?"]),
    ],
)
def test_a_question(words: list[str], command: str, question: list[str]) -> None:
    options = parse(words)
    assert (options.command, options.question) == (command, question)


@pytest.mark.parametrize("command", ["index", "pull", "graph"])
def test_a_command_is_a_first_word_that_is_exactly_its_name(command: str) -> None:
    assert parse([command]).command == command


def test_the_options_of_ask() -> None:
    words = "why --docs a --docs b --mode always --strategy per-passage --k 7 --fallback direct --explain --json"
    options = parse([*words.split(), "--quiet", "--debug"])
    assert options.docs == [Path("a"), Path("b")]
    assert (options.mode, options.strategy, options.k, options.fallback) == ("always", "per-passage", 7, "direct")
    assert options.explain
    assert options.json
    assert options.quiet
    assert options.debug


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["ask"],
        ["why", "--mode", "x"],
        ["why", "--js"],
        ["graph", "x"],
        ["why", "--k", "1.5"],
        ["why", "--docs", ""],
    ],
)
def test_a_wrong_option_is_a_wrong_request(words: list[str]) -> None:
    with pytest.raises(RequestError, match="see python -m app --help"):
        parse(words)


@pytest.mark.parametrize(
    ("error", "code"), [(RequestError("No."), 2), (ModelError("Gone."), 3), (LookupError("odd"), 1)]
)
def test_debug_shows_the_traceback_and_keeps_the_exit_code(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(options: object) -> int:
        raise error

    monkeypatch.setattr(cli, "_command", lambda name: fail)
    assert main(["why", "--debug"]) == code
    assert "Traceback" in capsys.readouterr().err


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
    error: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(options: object) -> int:
        raise error

    monkeypatch.setattr(cli, "_command", lambda name: fail)
    assert main(["why"]) == code
    assert capsys.readouterr() == ("", said)
