"""The one test of these folders that runs the embedded model: the others are in tests/model."""

import json
from pathlib import Path

import pytest

from tests.command_line import Program
from tests.integration.app.contract import keep_to_the_contract


@pytest.mark.timeout(900)  # where the model is not here yet, it is fetched
def test_a_question_is_answered_from_a_document(program: Program, docs: Path) -> None:
    own = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "SELFRAG_CALL_SECONDS": ""}
    words = ("When does the tenant pay the monthly rent?", "--docs", str(docs / "lease.md"), "--json")
    ended = program.process(*words, environment=own, seconds=800)
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    keep_to_the_contract(result)
    assert result["outcome"] == "grounded"
    assert "in advance" in result["answer"]
    assert all(claim["probabilities"] for claim in result["claims"])
    (citation,) = result["citations"]
    assert Path(citation["source"]).name == "lease.md"
