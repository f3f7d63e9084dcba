"""The whole application with the embedded model, on the sample library: grounded, direct, abstained."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def ask(question: str, *options: str) -> dict[str, Any]:
    """One question to a new process, as a person would ask it, with the models of the user's own cache."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SELFRAG_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "app", question, "--docs", "data/library", "--json", *options],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_question_that_the_library_answers_is_grounded_in_a_quote() -> None:
    result = ask("What is the molecular weight of aspirin?")
    assert result["outcome"] == "grounded"
    assert "180.16" in result["answer"]
    assert any("180.16" in citation["quote"] for citation in result["citations"])
    assert all(one["passage"][one["start"] : one["end"]] == one["quote"] for one in result["citations"])
    assert result["citations"][0]["source"].endswith("medicines.csv")
    assert result["citations"][0]["row"]
    assert result["decision"]["probabilities"]


def test_arithmetic_is_answered_without_a_search() -> None:
    result = ask("What is 2 + 2?")
    assert (result["outcome"], result["stop_reason"], result["retrieved"]) == ("direct", "not_needed", 0)
    assert "4" in result["answer"]


def test_what_the_library_does_not_say_is_not_answered() -> None:
    result = ask("how did harry beat quirrell?")
    assert result["outcome"] == "abstained"
    assert result["citations"] == []
    assert "do not answer" in result["answer"]
    assert len(result["queries"]) > 1, "no other query was tried"
