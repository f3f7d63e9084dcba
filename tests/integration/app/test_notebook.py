"""The notebook runs from top to bottom over a model of a script, and is kept as the embedded model left it."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.command_line import ROOT, Program

NODES = ("decide", "retrieve", "grade_documents", "generate", "hallucination_check", "select", "finish")
SELF_RAG = ROOT / "notebooks" / "self_rag.ipynb"


def run(path: Path, seconds: int) -> Any:
    """The notebook with the outputs of a run, in which each cell may take so many seconds."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=seconds, resources={"metadata": {"path": str(path.parent)}}).execute()
    return notebook


def printed_by(notebook: Any) -> str:
    return "".join(output["text"] for cell in notebook.cells for output in cell.get("outputs", []) if "text" in output)


def shown(notebook: Any, kind: str) -> list[str]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output["data"][kind] for output in outputs if kind in output.get("data", {})]


def require_what_it_promises(notebook: Any) -> None:
    graph, path = shown(notebook, "image/svg+xml")
    assert "The graph of Self-RAG" in graph
    assert "A run of Self-RAG: grounded" in path
    traces = [html for html in shown(notebook, "text/html") if "<pre>" in html]
    assert [node for node in NODES if re.search(rf"^(<pre>)?{node} ", traces[0], re.MULTILINE)] == list(NODES)
    assert "abstained" in traces[1]
    tables = [html for html in shown(notebook, "text/html") if "<table" in html]
    for columns in (("claim", "quote"), ("draft", "score", "why"), ("system", "outcome"), ("contexts", "model_calls")):
        assert any(all(f"<th>{name}</th>" in html for name in columns) for html in tables), columns
    paths = re.findall(r"relevant from ([\d.]+): (.*)", printed_by(notebook))
    assert [least for least, _ in paths][1] == "0.999"
    assert paths[0][1] != paths[1][1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_runs_and_shows_what_it_promises(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in program.environment.items():
        monkeypatch.setenv(name, value)
    require_what_it_promises(run(SELF_RAG, 120))


def test_the_notebook_is_kept_with_the_answers_of_the_embedded_model() -> None:
    kept = nbformat.read(SELF_RAG, as_version=4)
    require_what_it_promises(kept)
    printed = printed_by(kept)
    assert "direct: " in printed
    assert "SELECT" in printed
