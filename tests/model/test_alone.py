"""A question calls nobody but the model that the user named, and writes nowhere but into its own home."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import Program
from tests.integration.namespace import run_alone, written_by

RENT = "When does the tenant pay the monthly rent?"


def test_a_question_calls_the_named_model_and_nobody_else(program: Program, docs: Path, tmp_path: Path) -> None:
    """It lasts longer than telemetry waits: that of onnxruntime was sent after 8 to 10 seconds."""
    environment = {"OPENAI_BASE_URL": "http://named", "OPENAI_API_KEY": "right", "ORT_DISABLE_TELEMETRY": "0"}
    notes = run_alone(program, tmp_path, RENT, "--docs", str(docs), first_reply=13, **environment)
    assert notes["names"] == []
    assert set(notes["connections"]) == set(notes["server"])
    assert written_by(tmp_path, program) == []


def test_a_question_to_the_embedded_model_calls_nobody(program: Program, docs: Path, tmp_path: Path) -> None:
    """It is served on a port of this machine."""
    notes = run_alone(program, tmp_path, RENT, "--docs", str(docs), SELFRAG_LIMIT_SECONDS="20")
    assert notes["names"] == []
    assert {address.split()[0] for address in notes["connections"]} == {"127.0.0.1"}
    assert written_by(tmp_path, program) == []
