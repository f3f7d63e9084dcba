"""The agent's notebook runs from top to bottom without a key."""

from pathlib import Path

import pytest

from tests.command_line import ROOT
from tests.integration.app.test_notebook import printed_by, run, shown


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_an_agents_notebook_marks_the_false_claim_that_is_planted_and_no_other(
    chat_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SELFRAG_HOME", "SELFRAG_MODEL_PATH"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("SELFRAG_K", "2")
    notebook = run(ROOT / "notebooks" / "agent.ipynb", 600)
    printed = printed_by(notebook)
    assert "at closing. [1] Each point costs 7 percent of the loan. [2] [contradicted by the documents]" in printed
    assert "The documents do not answer “What are points on a mortgage?”" in printed
    answered, planted = (html for html in shown(notebook, "text/html") if "<table" in html)
    assert answered.count("fully supported") == 1
    assert planted.index("fully supported") < planted.index("contradicted")
    assert "\ngrounded {'model_calls': " in printed
