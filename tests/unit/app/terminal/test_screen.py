"""What reaches stdout and stderr, and in what form."""

import io
import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

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
    given = {"mode": None, "strategy": None, "k": None, "fallback": None, "docs": None, "picture": None}
    assert ask(Namespace(question=["why"], quiet=False, json=True, **given)) == 0
    assert json.loads(written.getvalue().decode(encoding))["answer"] == CODE


def test_a_reader_that_leaves_is_no_error() -> None:
    program = (
        "import sys, app.commands.ask, app.cli, tests.unit.app.terminal.test_screen as test\n"
        "app.commands.ask.answer = lambda *_: test.finished()\n"
        "sys.exit(app.cli.main(sys.argv[1:]))"
    )
    reader, writer = os.pipe()
    os.close(reader)
    root = Path(__file__).parents[4]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ended_ = subprocess.run(
        [sys.executable, "-c", program, "why", "--quiet"],
        cwd=root,
        env=environment,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (ended_.returncode, ended_.stderr) == (0, b"")


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
