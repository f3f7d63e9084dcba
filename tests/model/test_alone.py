"""A question to the embedded model calls nobody, and writes nowhere but into the program's own home."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import Program
from tests.integration.namespace import run_alone, written_by

RENT = "When does the tenant pay the monthly rent?"


def test_a_question_to_the_embedded_model_calls_nobody(program: Program, docs: Path, tmp_path: Path) -> None:
    """It is served on a port of this machine."""
    notes = run_alone(program, tmp_path, RENT, "--docs", str(docs), SELFRAG_LIMIT_SECONDS="20")
    assert notes["names"] == []
    assert {address.split()[0] for address in notes["connections"]} == {"127.0.0.1"}
    assert written_by(tmp_path, program) == []
