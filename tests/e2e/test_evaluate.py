"""The evaluation with the embedded model: two questions, two systems, a report, and nothing asked twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
ROWS = [
    {"question": "What is the molecular weight of aspirin?", "route": "retrieve", "answer": "180.16"},
    {"question": "how did harry beat quirrell?", "route": "retrieve", "answerable": False},
]


def evaluate(questions: Path, out: Path) -> str:
    """One run of the command, with the models of the user's own cache."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SELFRAG_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "app", "eval", str(questions), "--docs", "data/library", "--out", str(out)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_answerable_is_right_what_is_not_is_abstained_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text("\n".join(map(json.dumps, ROWS)))
    out = tmp_path / "out"
    table = evaluate(questions, out)
    summary = json.loads((out / "summary.json").read_text())
    (ours,) = [system for system in summary["systems"] if system["name"] == "self-rag"]
    metrics = ours["metrics"]
    assert metrics["abstention_f1"]["value"] == 1
    assert metrics["right_answered"]["value"] == 1
    assert (out / "report.html").stat().st_size > 10_000
    records = (out / "records.jsonl").read_bytes()
    assert evaluate(questions, out) == table
    assert (out / "records.jsonl").read_bytes() == records
