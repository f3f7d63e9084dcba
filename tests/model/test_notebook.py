"""The notebook runs from top to bottom without a key."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.command_line import ROOT

NOTEBOOK = ROOT / "notebooks" / "self_rag.ipynb"
NODES = ("decide", "retrieve", "grade_documents", "generate", "hallucination_check", "select", "finish")


def shown(notebook: Any, kind: str) -> list[str]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output["data"][kind] for output in outputs if kind in output.get("data", {})]


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_runs_and_shows_what_it_promises(chat_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SELFRAG_HOME", "SELFRAG_MODEL_PATH"):  # as a person has it
        monkeypatch.delenv(name)
    monkeypatch.setenv("SELFRAG_K", "2")  # half the time
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()

    graph, run = shown(notebook, "image/svg+xml")
    assert "The graph of Self-RAG" in graph
    assert "A run of Self-RAG: grounded" in run
    traces = [html for html in shown(notebook, "text/html") if "<pre>" in html]
    assert [node for node in NODES if re.search(rf"^(<pre>)?{node} ", traces[0], re.MULTILINE)] == list(NODES)
    assert "abstained" in traces[1]
    tables = [html for html in shown(notebook, "text/html") if "<table" in html]
    for columns in (("claim", "quote"), ("draft", "score", "why"), ("system", "outcome"), ("contexts", "model_calls")):
        assert any(all(f"<th>{name}</th>" in html for name in columns) for html in tables), columns
    printed = "".join(
        output["text"] for cell in notebook.cells for output in cell.get("outputs", []) if "text" in output
    )
    paths = re.findall(r"relevant from ([\d.]+): (.*)", printed)
    assert [least for least, _ in paths][1] == "0.999"
    assert paths[0][1] != paths[1][1]
    assert "direct: " in printed
