"""``compare`` through a model server: what is printed, and how it ends when the server does not compare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import Program
from tests.integration.openai_server import Asked, Fault, OpenAIServer, say, status

HARRY = "How did Harry beat Quirrell?"
REFUSES = say(None, refusal="I cannot help with that.")


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


@pytest.mark.parametrize(
    ("fault", "code", "part"),
    [
        (REFUSES, 0, "It failed or refused: no preference."),
        (say("Il m'est impossible de comparer."), 0, "Its reply is not in the form asked for: no preference."),
        (status(400, "too long"), 0, "It failed or refused: no preference."),
        (status(401, "no such key"), 3, "There is no comparison"),
    ],
)
def test_a_server_that_does_not_compare(
    program: Program, docs: Path, server: OpenAIServer, fault: Fault, code: int, part: str
) -> None:
    def always(asked: Asked) -> Fault | None:
        return fault if asked.kind == "compare" else None

    server.always = always
    ended = program("compare", HARRY, "--docs", str(docs))
    assert ended.code == code
    assert part in " ".join(ended.out.split())
    assert "Traceback" not in ended.err
    assert (code == 3) == ended.err.splitlines()[-1].startswith("error: The server")
