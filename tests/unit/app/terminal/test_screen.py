import io
import json
import os
import sys
from typing import Any

import pytest

from app.cli import main, parse_options
from app.commands import ask as module
from app.commands.ask import ask
from app.results.events import Finished
from app.results.result import result_of
from app.terminal.screen import Screen, print_error
from app.terminal.show import show
from tests.scripted import candidate_of, claim, draft
from tests.unit.app.results.test_result import ended

CODE = "all:\n\tgcc \u65e5"


def code(**passage: Any) -> Any:
    best = candidate_of(draft(CODE, ["alpha"]), [claim(CODE, within="alpha")])
    best["draft"]["passages"][0].update(passage)
    return ended(best, "grounded", "accepted")


def finished() -> Finished:
    return Finished(result_of(code()), code())


def test_through_a_pipe_the_answer_alone_is_on_stdout_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    show(code(), Screen())
    out, err = capsys.readouterr()
    assert out == CODE + "\n"
    assert "alpha" in err
    assert "\x1b" not in err


def test_a_stderr_that_was_closed_leaves_stdout_to_the_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    show(code(), Screen())
    assert capsys.readouterr().out == CODE + "\n"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_json_is_json_in_every_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
    monkeypatch.setattr(module, "answer", lambda *_: finished())
    assert ask(parse_options(["why", "--json"])) == 0
    assert json.loads(written.getvalue().decode(encoding))["answer"] == CODE


def test_a_reader_that_leaves_is_no_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(module, "answer", lambda *_: finished())
    with os.fdopen(writer, "w") as stdout:  # flushed once more when it is closed, as at the end of a process
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(["why", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_an_error_is_short_and_holds_no_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever raised it: a hub may answer with what it was never sent."""
    monkeypatch.setenv("OPENAI_API_KEY", "swordfish-in-the-lake")
    print_error(f"There is no file {'x/' * 10_000}: swordfish-in-the-lake, check the path.")
    err = capsys.readouterr().err
    assert len(err) < 1_100
    assert err.startswith("error: There is no file x/x")
    assert err.endswith("[key], check the path.\n")
