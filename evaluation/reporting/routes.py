"""List the questions of a set with an expected route: whether it was taken, and the path of each run in one line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.markup import Html, joined, table, tag
from evaluation.measures.joined_rows import rows_of
from evaluation.records import Example, Record

RIGHT, WRONG = "✓", "✗"
SUPPORT = {"fully supported": "supported", "partially supported": "partly supported", "no support": "unsupported"}
USELESS = {"1", "2"}


@dataclass(frozen=True)
class Routed:
    """One question, whether its expected route was taken, and the path of the run."""

    question: str
    right: bool
    path: str

    @property
    def mark(self) -> str:
        return RIGHT if self.right else WRONG


def expected_routes(examples: Sequence[Example], records: Sequence[Record]) -> dict[str, list[Routed]]:
    """Return, by system, the questions with an expected route; systems that decide no route are left out."""
    found = {}
    for name, rows in rows_of(examples, records).items():
        lines = [
            Routed(row.example.question, row.scores.route_right, path_line(row.record))
            for row in rows.values()
            if row.scores.route_right is not None
        ]
        if lines:
            found[name] = lines
    return found


def count_line(name: str, lines: Sequence[Routed]) -> str:
    """Return how many questions of a system took their expected route."""
    return f"{name}: {sum(line.right for line in lines)} of {len(lines)} questions routed as expected"


def path_line(record: Record) -> str:
    """Return the run's path, such as ``decide→retrieve → grade 2/4 → generate → supported``."""
    steps = [_step(step) for step in record["decisions"]]
    if record["outcome"] in ("abstained", "stopped"):
        steps.append(record["outcome"])
    return " → ".join(step for step in steps if step)


def _step(step: Mapping[str, Any]) -> str | None:
    """Return a step in a word or two; None for a step that the steps beside it imply."""
    if step.get("stop"):
        return f"{step.get('node')}: {step['stop']}"
    match step.get("node"):
        case "decide":
            return f"decide→{step.get('route')}"
        case "grade_documents":
            return f"grade {step.get('relevant') or 0}/{len(step.get('grades') or [])}"
        case "query_table":
            return "query" if step.get("accepted") else "no query"
        case "rewrite_query":
            return "rewrite" if step.get("query") else "no other query"
        case "generate":
            return "declines" if step.get("declined") else "redraft" if step.get("redraft") else "generate"
        case "direct_generate":
            return "generate"
        case "hallucination_check":
            labels = {str(claim["verdict"]["label"]) for claim in step.get("claims") or []}
            if len(labels) < 2:
                return next((SUPPORT.get(label, "unsupported") for label in labels), None)
            return "partly supported"
        case "answer_check":
            labels = {str(verdict["label"]) for verdict in step.get("usefulness") or []}
            return "not useful" if labels and labels <= USELESS else None
        case "compare_answers":
            return "documents disagree" if step.get("answers") else None
        case "retrieve" | "select" | "finish":
            return None
        case other:
            return str(other or "step")


def route_lists(examples: Sequence[Example], records: Sequence[Record]) -> list[Html]:
    """Return a table for each system that decides a route."""
    found = []
    for name, lines in expected_routes(examples, records).items():
        rows = (
            (
                tag("td", one.mark, class_="number"),
                tag("td", one.question, class_="said"),
                tag("td", tag("code", one.path)),
            )
            for one in lines
        )
        shown = table(("", "question", "path"), tag("tbody", *(tag("tr", *cells) for cells in rows)))
        found.append(joined(tag("h3", count_line(name, lines)), shown))
    return found
