"""The notebook runs from top to bottom without a key."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.command_line import ROOT

NOTEBOOK = ROOT / "notebooks" / "self_rag.ipynb"


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_runs_and_shows_what_it_promises(chat_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SELFRAG_HOME", "SELFRAG_MODEL_PATH"):  # as a person has it
        monkeypatch.delenv(name)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()

    kinds = [set(output.get("data", {})) for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/svg+xml" in kind for kind in kinds), "the graph is not drawn"
    assert any("text/html" in kind for kind in kinds), "the verdicts are not shown as a table"
    printed = "".join(
        output["text"] for cell in notebook.cells for output in cell.get("outputs", []) if "text" in output
    )
    for node in ("decide", "retrieve", "grade_documents", "generate", "hallucination_check", "answer_check", "finish"):
        assert f"\n{node} " in f"\n{printed}", f"no trace of {node}"
    assert "abstained ·" in printed
    assert "direct ·" in printed
