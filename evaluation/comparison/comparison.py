"""Two systems' records of one question side by side: what each read, and all of it as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.judging.criteria import CRITERIA
from evaluation.measures.joined_rows import correct
from evaluation.measures.scores import abstained, later_passages, read_by
from evaluation.records import Example, Pair, Record
from evaluation.reporting.routes import path_line

NOT_JUDGED = "not_judged"


@dataclass(frozen=True)
class Comparison:
    """The records of one question by Self-RAG and by plain retrieve-and-generate; ``judged`` is None if not judged."""

    example: Example
    ours: Record
    plain: Record
    judged: Pair | None = None

    @property
    def records(self) -> tuple[Record, Record]:
        return self.ours, self.plain

    @property
    def failed(self) -> bool:
        """Return True if a system failed, so that there is nothing to compare."""
        return any(record["error"] for record in self.records)

    @property
    def preference(self) -> str:
        return self.judged.preference if self.judged else NOT_JUDGED

    def as_json(self) -> dict[str, Any]:
        """Return plain data for ``json.dumps``."""
        judged = None
        if self.judged:
            judged = {
                "preference": self.judged.preference,
                "criteria": {name: self.judged.criterion(name) for name in CRITERIA},
                "reasons": self.judged.reasons,
                "failure": self.judged.failure,
                "orders": [asdict(one) for one in self.judged.opinions],
            }
        return {
            "id": self.example.id,
            "question": self.example.question,
            "references": list(self.example.references),
            "systems": [side_of(self.example, record) for record in self.records],
            "judged": judged,
        }


def read_line(record: Record) -> str:
    """Return in a few words what a system found, and what its generator read of that."""
    first, later = len(record["seen"]), len(later_passages(record))
    if not first + later:
        return "nothing: it did not search" if record["route"] == "direct" else "nothing"
    line = f"{len(read_by(record))} of {first + later} passage{'' if first + later == 1 else 's'} found"
    return f"{line}, {later} of these with another query" if later else line


def side_of(example: Example, record: Record) -> dict[str, Any]:
    """Return one system's side as plain data; ``right`` says whether it is `correct`, and is null without a label."""
    told: Mapping[str, Any] = {**record}
    return {
        **{key: told[key] for key in ("system", "outcome", "stop_reason", "answer")},
        "abstained": abstained(record),
        "right": correct(example, record),
        "path": path_line(record),
        "queries": record["queries"],
        "passages": record["seen"],
        "read": [seen["text"] for seen in read_by(record)],
        "later_passages": later_passages(record),
        "claims": record["said"],
        "citations": record["citations"],
        **{key: told[key] for key in ("cost", "error")},
    }


def shared(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons in which neither system failed."""
    return [one for one in comparisons if not one.failed]
