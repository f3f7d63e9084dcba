"""The notebooks run from top to bottom without a key."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.command_line import ROOT

NODES = ("decide", "retrieve", "grade_documents", "generate", "hallucination_check", "select", "finish")


@pytest.fixture
def run(chat_model: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Runs a notebook as a person has it, with half the passages."""

    def ran(name: str) -> Any:
        path = ROOT / "notebooks" / f"{name}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(path.parent)}}).execute()
        return notebook

    for name in ("SELFRAG_HOME", "SELFRAG_MODEL_PATH"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("SELFRAG_K", "2")
    return ran


def printed_by(notebook: Any) -> str:
    return "".join(output["text"] for cell in notebook.cells for output in cell.get("outputs", []) if "text" in output)


def shown(notebook: Any, kind: str) -> list[str]:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output["data"][kind] for output in outputs if kind in output.get("data", {})]


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_runs_and_shows_what_it_promises(run: Callable[[str], Any]) -> None:
    notebook = run("self_rag")
    graph, path = shown(notebook, "image/svg+xml")
    assert "The graph of Self-RAG" in graph
    assert "A run of Self-RAG: grounded" in path
    traces = [html for html in shown(notebook, "text/html") if "<pre>" in html]
    assert [node for node in NODES if re.search(rf"^(<pre>)?{node} ", traces[0], re.MULTILINE)] == list(NODES)
    assert "abstained" in traces[1]
    tables = [html for html in shown(notebook, "text/html") if "<table" in html]
    for columns in (("claim", "quote"), ("draft", "score", "why"), ("system", "outcome"), ("contexts", "model_calls")):
        assert any(all(f"<th>{name}</th>" in html for name in columns) for html in tables), columns
    printed = printed_by(notebook)
    paths = re.findall(r"relevant from ([\d.]+): (.*)", printed)
    assert [least for least, _ in paths][1] == "0.999"
    assert paths[0][1] != paths[1][1]
    assert "direct: " in printed


@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_an_agents_notebook_marks_the_false_claim_that_is_planted_and_no_other(run: Callable[[str], Any]) -> None:
    notebook = run("agent")
    printed = printed_by(notebook)
    assert "at closing. [1] Each point costs 7 percent of the loan. [2] [contradicted by the documents]" in printed
    assert "The documents do not answer “What are points on a mortgage?”" in printed
    answered, planted = (html for html in shown(notebook, "text/html") if "<table" in html)
    assert answered.count("fully supported") == 1
    assert planted.index("fully supported") < planted.index("contradicted")
    assert "\ngrounded {'model_calls': " in printed
