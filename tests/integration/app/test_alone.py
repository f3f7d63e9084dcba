"""The whole program calls nobody but the model that the user named, and writes nowhere but into its own home."""

import json
from pathlib import Path

from tests.command_line import Program
from tests.integration.namespace import run_alone, written_by

RENT = "When does the tenant pay the monthly rent?"


def test_an_evaluation_calls_the_named_model_and_nobody_else(program: Program, docs: Path, tmp_path: Path) -> None:
    """It lasts longer than onnxruntime waits to send telemetry: 8 to 10 seconds.

    Matplotlib keeps a list of this machine's fonts where it always does.
    """
    (docs / "questions.jsonl").write_text(json.dumps({"question": RENT, "answerable": True}) + "\n")
    results = Path(program.environment["SELFRAG_HOME"]) / "results"
    asked = ("eval", str(docs / "questions.jsonl"), "--docs", str(docs / "lease.md"), "--out", str(results))
    notes = run_alone(program, tmp_path, *asked, first_reply=13, ORT_DISABLE_TELEMETRY="0")
    assert notes["names"] == []
    assert set(notes["connections"]) == set(notes["server"])
    assert [path for path in written_by(tmp_path, program) if not path.startswith(".cache/matplotlib/")] == []
