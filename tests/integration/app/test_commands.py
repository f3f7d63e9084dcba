"""The commands beside ``ask``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app import VERSION
from tests.integration.app.conftest import Program
from tests.unit.graph.test_builder import DRAWN

RENT = "When does the tenant pay the monthly rent?"


def test_version(program: Program) -> None:
    ended = program("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"self-rag {VERSION}\n", "")


@pytest.mark.parametrize("command", [(), ("ask",), ("index",), ("pull",), ("graph",)])
def test_help(program: Program, command: tuple[str, ...]) -> None:
    ended = program(*command, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("usage: python -m app")


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from app.cli import main; main(['--help']); print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ended.stdout.splitlines()[-1].split())
    assert not loaded & {"langgraph", "langchain_core", "openai", "pydantic", "numpy", "faiss", "rich", "asyncio"}


def test_the_graph_is_printed_as_mermaid(program: Program) -> None:
    ended = program("graph")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("graph TD;")
    edges = {
        (start.strip(), end.strip())
        for line in ended.out.splitlines()
        for arrow in ("-.->", "-->")
        if arrow in line and not (arrow == "-->" and "-.->" in line)
        for start, end in [line.strip(" \t;").split(arrow)]
    }
    assert {(a.strip("_"), b.strip("_")) for a, b in edges} == {(a.strip("_"), b.strip("_")) for a, b in DRAWN}


@pytest.mark.parametrize(("name", "start"), [("x.svg", b"<svg"), ("x.png", b"\x89PNG\r\n"), ("x.mmd", b"graph TD;")])
def test_the_graph_is_drawn_without_a_network(program: Program, name: str, start: bytes) -> None:
    ended = program("graph", "--output", name, environment={"HTTPS_PROXY": "http://127.0.0.1:9"})
    assert (ended.code, ended.out) == (0, "")
    data = (program.folder / name).read_bytes()
    assert data.startswith(start)
    if name.endswith((".svg", ".mmd")):
        assert all(node.encode() in data for node in ("hallucination_check", "rewrite_query"))


def test_the_library_is_filled_asked_and_listed(program: Program, docs: Path, tmp_path: Path) -> None:
    ended = program("index", str(docs))
    assert ended.code == 0
    assert ended.out == "The library holds 2 documents, 2 passages.\n"
    assert "indexed: 2 added" in ended.err
    asked = program(RENT)
    assert asked.out == "The tenant pays the monthly rent in advance.\n"
    assert "library is empty" not in asked.err
    assert "indexed:" not in asked.err

    other = tmp_path / "other.txt"
    other.write_text("The moon orbits the planet.")
    assert program("index", str(other)).out == "The library holds 3 documents, 3 passages.\n"
    listed = program("index", "--list")
    assert listed.code == 0
    assert [name in listed.out for name in ("lease.md", "rivers.csv", "other.txt")] == [True] * 3
    assert "indexed:" not in listed.err

    (docs / "rivers.csv").unlink()
    again = program("index")
    assert (again.out, "1 removed" in again.err) == ("The library holds 2 documents, 2 passages.\n", True)
    assert program("index", "--remove", str(docs)).out == "The library holds 1 documents, 1 passages.\n"


def test_documents_asked_alone_do_not_enter_the_library(program: Program, docs: Path) -> None:
    program(RENT, "--docs", str(docs), "--quiet")
    assert "library is empty" in program("what are points on a mortgage").err
