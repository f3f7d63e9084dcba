"""The commands beside ``ask``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.conversations.feedback import Feedback, FeedbackFolder
from app.results.result import result_of
from app.version import VERSION
from tests.command_line import Program
from tests.unit.app.results.test_result import ended as ended_state
from tests.unit.graph.test_builder import DRAWN

RENT = "When does the tenant pay the monthly rent?"


def test_version(program: Program) -> None:
    ended = program("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"self-rag {VERSION}\n", "")


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from app.cli import main; main(['--help']); main(['compare', '--help']); print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ended.stdout.splitlines()[-1].split())
    heavy = {"langgraph", "langchain_core", "openai", "pydantic", "numpy", "faiss", "rich", "asyncio", "mcp", "fastapi"}
    assert not loaded & heavy


def test_a_question_imports_no_server(program: Program, docs: Path) -> None:
    code = f"import sys; from app.cli import main; main([{RENT!r}, '--docs', {str(docs)!r}]); print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=program.folder,
        env=program.environment,
    )
    answer, modules = ended.stdout.splitlines()
    assert answer == "The tenant pays the monthly rent in advance."
    assert not set(modules.split()) & {"mcp", "mcp_types", "fastapi", "uvicorn"}


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

    (docs / "rivers.csv").unlink()
    again = program("index")
    assert (again.out, "1 removed" in again.err) == ("The library holds 2 documents, 2 passages.\n", True)
    assert program("index", "--remove", str(docs)).out == "The library holds 1 documents, 1 passages.\n"


def test_a_file_of_a_folder_is_excluded_and_included_again(program: Program, docs: Path) -> None:
    program("index", str(docs))
    lease = docs / "lease.md"
    refused = program("index", "--remove", str(lease))
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "index --exclude leaves it out" in refused.err
    ended = program("index", "--exclude", str(lease))
    assert (ended.code, ended.out) == (0, "The library holds 1 documents, 1 passages.\n")
    assert f"note: 1 documents left the library, excluded by {lease}.\n" in ended.err
    assert "lease" not in program(RENT, "--mode", "always", "--json").out
    assert "The tenant pays" in program(RENT, "--docs", str(lease)).out  # apart from the library
    assert program("index", str(docs)).out == "The library holds 1 documents, 1 passages.\n"
    listed = program("index", "--list")
    assert [line.split()[0] for line in listed.out.splitlines() if str(lease) in line] == ["skipped"]
    assert f"index --include {lease}" in listed.err
    assert program("index", "--include", str(lease)).out == "The library holds 2 documents, 2 passages.\n"
    wrong = program("index", "--include", str(lease))
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err == f"error: No pattern {lease} is excluded: index --list names those that are.\n"


def test_what_is_not_indexed_is_reported_and_listed(program: Program, docs: Path) -> None:
    (docs / "void.txt").touch()
    (docs / "picture.png").touch()
    ended = program("index", str(docs))
    assert ended.code == 0
    assert "2 indexed (2 added), 1 empty, 1 skipped" in ended.err
    assert f"  empty: {docs / 'void.txt'} is empty: " in ended.err
    assert f"  skipped: {docs / 'picture.png'}: " in ended.err
    rows = {line.split()[0]: line for line in program("index", "--list").out.splitlines()[1:]}
    assert set(rows) == {"indexed", "empty", "skipped"}
    assert "void.txt" in rows["empty"]
    assert "picture.png" in rows["skipped"]
    again = program("index")
    assert "2 indexed (2 unchanged), 1 empty, 1 skipped" in again.err
    assert "indexing:" not in again.err


def test_an_index_is_checked_and_mended(program: Program, docs: Path, tmp_path: Path) -> None:
    program("index", str(docs))
    sound = program("index", "--verify")
    assert (sound.code, sound.out) == (0, "Checked 2 passages of 2 documents: no damage.\n")
    (tmp_path / "home" / "libraries" / "library" / "vectors.faiss").write_bytes(b"broken")
    mended = program("index", "--verify")
    assert mended.code == 0
    assert mended.out.splitlines()[-1] == "Checked 2 passages of 2 documents: 1 mended."
    assert program("index", "--verify").out == sound.out


def test_links_out_of_a_folder_are_followed_where_that_is_asked_for(
    program: Program, docs: Path, tmp_path: Path
) -> None:
    (tmp_path / "credentials").write_text("The password is sesame.")
    (docs / "readme.md").symlink_to(tmp_path / "credentials")
    ended = program("index", str(docs))
    assert ended.code == 0
    assert f"skipped: {docs / 'readme.md'}: a link out of its folder: " in ended.err
    assert "The library holds 2 documents, " in ended.out
    assert "The library holds 3 documents, " in program("index", str(docs), "--follow-links").out
    assert "The library holds 3 documents, " in program("index").out
    assert "The library holds 2 documents, " in program("index", str(docs), "--no-follow-links").out
    ended = program("index", "--follow-links")
    assert (ended.code, ended.err) == (
        2,
        "error: --follow-links holds for the folders that are named with it: name them.\n",
    )


def test_what_is_kept_is_for_the_user_alone_whatever_the_umask(program: Program, docs: Path, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        assert program("index", str(docs)).code == 0
        assert program(RENT, "--docs", str(docs)).code == 0
    finally:
        os.umask(before)
    libraries = tmp_path / "home" / "libraries"
    kept = [libraries, *libraries.rglob("*")]
    assert len(kept) > 8
    assert {path.stat().st_mode & 0o777 for path in kept if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in kept if path.is_file()} == {0o600}


def test_labels_are_exported_as_a_question_set(program: Program) -> None:
    none = program("library", "export-labels", "labels.jsonl")
    assert (none.code, "There is no feedback yet" in none.err) == (2, True)
    folder = FeedbackFolder(Path(program.environment["SELFRAG_HOME"]) / "feedback")
    folder.add("", "r1", Feedback(judgement="right"), result_of(ended_state(None, "abstained", "nothing_relevant")))
    ended_well = program("library", "export-labels", "labels.jsonl")
    assert (ended_well.code, ended_well.out) == (0, "Labels written into labels.jsonl: 1\n")
    (row,) = map(json.loads, (program.folder / "labels.jsonl").read_text().splitlines())
    assert (row["answerable"], row["feedback"]) == (False, "right")
    assert not (Path(program.environment["SELFRAG_HOME"]) / "threads").exists(), "labels in a folder need no threads"
