"""``compare`` through a model server: what is printed, and how it ends when the server does not compare."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command_line import Program
from tests.integration.openai_server import OpenAIServer

HARRY = "How did Harry beat Quirrell?"


def test_a_question_and_a_set(program: Program, docs: Path, server: OpenAIServer, tmp_path: Path) -> None:
    path = tmp_path / "pets.jsonl"
    rows = [{"question": HARRY, "answerable": False}, {"question": "What is 2 + 2?", "route": "direct"}]
    path.write_text("\n".join(json.dumps({**row, "docs": ["docs"]}) for row in rows))
    ended = program("compare", "--set", str(path), "--json", "--output", "pets.md")
    assert (ended.code, ended.err) == (0, "")
    harry, sum_ = json.loads(ended.out)["questions"]
    assert harry["systems"][0]["abstained"]
    assert harry["judged"]["preference"] == "plain"
    assert sum_["systems"][0]["path"] == "decide→direct → generate"
    assert (program.folder / "pets.md").read_text().startswith("# Self-RAG")
    before = server.kinds()
    again = program("compare", "--set", str(path), "--json")
    assert (again.out, server.kinds()) == (ended.out, before)
