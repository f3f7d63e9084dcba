"""The commands beside ``ask``."""

import re
import subprocess
import sys
from pathlib import Path

from app.drawing.layout import EDGES
from core.version import VERSION
from tests.command_line import Program

RENT = "When does the tenant pay the monthly rent?"


def test_version(program: Program) -> None:
    ended = program("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"self-rag {VERSION}\n", "")


IMPORTING = """
import sys
from app.cli import main

main(["--help"])
main(["compare", "--help"])
print(*sys.modules)
main(sys.argv[1:])
print(*sys.modules)
"""


def test_help_imports_nothing_heavy_and_a_question_no_server(program: Program, docs: Path) -> None:
    command = [sys.executable, "-c", IMPORTING, RENT, "--docs", str(docs)]
    ended = subprocess.run(
        command, cwd=program.folder, env=program.environment, capture_output=True, text=True, check=True
    )
    *_, for_help, answer, for_a_question = ended.stdout.splitlines()
    heavy = {"langgraph", "langchain_core", "openai", "pydantic", "numpy", "faiss", "rich", "asyncio", "mcp", "fastapi"}
    assert not set(for_help.split()) & heavy
    assert answer == "The tenant pays the monthly rent in advance."
    assert not set(for_a_question.split()) & {"mcp", "mcp_types", "fastapi", "uvicorn"}


def test_the_graph_is_printed_as_mermaid(program: Program) -> None:
    ended = program("graph")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("graph TD;")
    assert set(re.findall(r"^\s+(\w+) -\S+ (\w+);$", ended.out, re.MULTILINE)) == EDGES.keys()


def test_the_library_is_filled_asked_and_listed(program: Program, docs: Path, tmp_path: Path) -> None:
    ended = program("index", str(docs))
    assert ended.code == 0
    assert ended.out == "The library holds 2 documents, 2 passages.\n"
    assert "\n2 indexed (2 added)\n" in ended.err
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
    assert listed.err == ""

    refused = program("index", "--remove", str(docs / "lease.md"))
    assert (refused.code, "index --exclude leaves it out" in refused.err) == (2, True)
    (docs / "rivers.csv").unlink()
    again = program("index")
    assert (again.out, "1 removed" in again.err) == ("The library holds 2 documents, 2 passages.\n", True)
    assert program("index", "--remove", str(docs)).out == "The library holds 1 documents, 1 passages.\n"


def test_an_index_is_checked_and_mended(program: Program, docs: Path, tmp_path: Path) -> None:
    program("index", str(docs))
    sound = program("index", "--verify")
    assert (sound.code, sound.out) == (0, "Checked 2 passages of 2 documents: no damage.\n")
    (tmp_path / "home" / "libraries" / "library" / "vectors.faiss").write_bytes(b"broken")
    mended = program("index", "--verify")
    assert mended.code == 0
    assert mended.out.splitlines()[-1] == "Checked 2 passages of 2 documents: 1 mended."
    assert program("index", "--verify").out == sound.out
