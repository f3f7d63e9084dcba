"""Records and systems for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from evaluation.records import Cost, Example, Record


def example(id_: str = "1", question: str | None = None, **changes: Any) -> Example:
    return Example(id=id_, question=question or f"Question {id_}?", **changes)


def record(id_: str = "1", system: str = "ours", **changes: Any) -> Record:
    made: dict[str, Any] = {
        "system": system,
        "example": id_,
        "question": f"Question {id_}?",
        "route": "retrieve",
        "route_score": None,
        "outcome": "answered",
        "stop_reason": None,
        "answer": f"Answer {id_}.",
        "confidence": 1.0,
        "queries": [],
        "seen": [],
        "said": [],
        "citations": [],
        "usefulness": None,
        "cost": Cost(
            model_calls=2, input_tokens=30, cached_input_tokens=10, output_tokens=4, seconds=0.5, estimated=False
        ),
        "decisions": [],
        "error": None,
    }
    unknown = changes.keys() - made.keys()
    assert not unknown, unknown
    return cast("Record", {**made, **changes})


@dataclass
class Scripted:
    """A system that answers at once; ``says`` gives what it says, an exception to raise."""

    name: str = "ours"
    fingerprint: str = "print"
    says: Callable[[Example], Exception | None] = lambda example: None
    asked: list[str] = field(default_factory=list)

    async def ask(self, example: Example) -> Record:
        self.asked.append(example.id)
        await asyncio.sleep(0)
        failure = self.says(example)
        if failure:
            raise failure
        return record(example.id, self.name, question=example.question)
