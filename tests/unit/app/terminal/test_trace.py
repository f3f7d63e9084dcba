from __future__ import annotations

from typing import Any

import pytest

from app.results.events import NodeFinished
from app.terminal.screen import Screen
from app.terminal.trace import Trace
from tests.scripted import verdict

LONG = "It says: “" + " ".join(f"word{number}" for number in range(80)) + "”"
CLAIM = "A claim that is much longer than the fifty characters to which the trace cuts it without reasons."
GRADE = {"id": "a", "source": "/docs/lease.txt", "page": None, "row": None}
STEPS: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "decide": (
        {"route": "retrieve", "verdict": verdict("retrieve", {"retrieve": 0.9, "direct": 0.1}, LONG)},
        "retrieve 0.90",
        [f"retrieve 0.90 · {LONG}"],
    ),
    "grade_documents": (
        {
            "relevant": 1,
            "grades": [{**GRADE, "verdict": verdict(label, None, LONG)} for label in ("relevant", "unknown")],
        },
        "relevant; unknown",
        [f"relevant · lease.txt · {LONG}", f"unknown · lease.txt · {LONG}"],
    ),
    "rewrite_query": (
        {"query": "Who?", "description": "its head", "name": "Ida", "verdict": verdict("fully supported", None, LONG)},
        "its head: Ida; “Who?”",
        [f"fully supported · “Ida” · {LONG}"],
    ),
    "hallucination_check": (
        {"claims": [{"text": CLAIM, "verdict": verdict("no support", None, LONG), "quoted": False}]},
        "no support",
        [f"no support · “{CLAIM}” · {LONG}"],
    ),
    "answer_check": ({"usefulness": [verdict("5", None, LONG)]}, "usefulness 5", [f"5 · {LONG}"]),
}


@pytest.mark.parametrize("node", STEPS)
def test_each_verdict_has_a_line_with_its_whole_reason(node: str, capsys: pytest.CaptureFixture[str]) -> None:
    decided, told, reasons = STEPS[node]
    with Trace(Screen(), explain=True) as trace:
        trace.show(NodeFinished(node, 0.1, decided))
    head, *lines = capsys.readouterr().err.splitlines()
    assert head.split(" s  ")[1] == told
    assert lines == [f"    {line}" for line in reasons]
