"""The evaluation with the embedded model: two questions, a report, and nothing asked twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import Program

ROWS = [
    {"question": "What is the molecular weight of aspirin?", "route": "retrieve", "answer": "180.16"},
    {"question": "how did harry beat quirrell?", "route": "retrieve", "answerable": False},
]


@pytest.mark.timeout(900)
def test_what_is_answerable_is_right_what_is_not_is_abstained_and_a_second_run_asks_nothing(
    sample: Program, tmp_path: Path
) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text("\n".join(map(json.dumps, ROWS)))
    out = tmp_path / "out"
    words = ("eval", str(questions), "--docs", "data/library", "--systems", "self-rag", "--out", str(out))
    few = {"SELFRAG_LIMIT_REWRITES": "0"}
    first = sample(*words, environment=few)
    assert first.code == 0, first.err
    summary = json.loads((out / "summary.json").read_text())
    (ours,) = [system for system in summary["systems"] if system["name"] == "self-rag"]
    metrics = ours["metrics"]
    assert metrics["abstention_f1"]["value"] == 1
    assert metrics["right_answered"]["value"] == 1
    assert (out / "report.html").stat().st_size > 10_000
    records = (out / "records.jsonl").read_bytes()
    assert sample(*words, environment=few).out == first.out
    assert (out / "records.jsonl").read_bytes() == records
