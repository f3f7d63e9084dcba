"""The whole program calls nobody but the model that the user named, and writes nowhere but into its own home."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.app.conftest import Program
from tests.integration.namespace import unshared

RENT = "When does the tenant pay the monthly rent?"


def written_by(folder: Path, program: Program) -> list[str]:
    """The files below the folder that are neither the program's own nor the user's documents."""
    own = (Path(program.environment["SELFRAG_HOME"]), folder / "docs", folder / "notes.json")
    files = [path for path in folder.rglob("*") if not path.is_dir()]
    return sorted(str(path.relative_to(folder)) for path in files if not any(map(path.is_relative_to, own)))


def run(program: Program, notes: Path, seconds: float, *arguments: str, **environment: str) -> None:
    """``python -m app`` in a network of its own, where the model's first reply takes so many seconds."""
    temporary = notes.parent / "temporary"
    temporary.mkdir()
    ended = subprocess.run(
        [*unshared(), str(notes), str(seconds), sys.executable, "-m", "app", *arguments],
        cwd=program.folder,
        env={**program.environment, "TMPDIR": str(temporary), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert ended.returncode == 0, ended.stderr


def test_a_question_calls_the_named_model_and_nobody_else(program: Program, docs: Path, tmp_path: Path) -> None:
    """It lasts longer than telemetry waits: that of onnxruntime was sent after 8 to 10 seconds."""
    otherwise = {"ORT_DISABLE_TELEMETRY": "0"}
    run(program, tmp_path / "notes.json", 13, RENT, "--docs", str(docs / "lease.md"), **otherwise)
    notes = json.loads((tmp_path / "notes.json").read_text())
    assert notes["names"] == []
    assert set(notes["connections"]) == set(notes["server"])
    assert written_by(tmp_path, program) == []


def test_an_evaluation_calls_the_named_model_and_nobody_else(program: Program, docs: Path, tmp_path: Path) -> None:
    """Matplotlib keeps a list of this machine's fonts where it always does."""
    (docs / "questions.jsonl").write_text(json.dumps({"question": RENT, "answerable": True}) + "\n")
    results = Path(program.environment["SELFRAG_HOME"]) / "results"
    asked = ("eval", str(docs / "questions.jsonl"), "--docs", str(docs / "lease.md"), "--out", str(results))
    run(program, tmp_path / "notes.json", 0, *asked)
    notes = json.loads((tmp_path / "notes.json").read_text())
    assert notes["names"] == []
    assert set(notes["connections"]) == set(notes["server"])
    assert [path for path in written_by(tmp_path, program) if not path.startswith(".cache/matplotlib/")] == []


@pytest.mark.e2e
def test_a_question_to_the_embedded_model_calls_nobody(program: Program, docs: Path, tmp_path: Path) -> None:
    """It is served on a port of this machine."""
    environment = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "SELFRAG_LIMIT_SECONDS": "20"}
    run(program, tmp_path / "notes.json", 0, RENT, "--docs", str(docs / "lease.md"), **environment)
    notes = json.loads((tmp_path / "notes.json").read_text())
    assert notes["names"] == []
    assert {address.split()[0] for address in notes["connections"]} == {"127.0.0.1"}
    assert written_by(tmp_path, program) == []
