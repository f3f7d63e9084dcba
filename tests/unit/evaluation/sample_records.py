"""Examples, records and a system for tests, with defaults for what a test is not about."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from evaluation.judging.criteria import CRITERIA
from evaluation.records import ClaimRecord, Cost, Example, Opinion, Pair, Record, Seen
from evaluation.run import failed


def seen(text: str, relevance: float | None = None, source: str = "a.md", relevant: bool | None = None) -> Seen:
    judged = relevant if relevant is not None or relevance is None else relevance >= 0.5
    return Seen(text=text, source=source, page=None, row=None, similarity=None, relevance=relevance, relevant=judged)


def said(text: str, score: float | None = None, label: str | None = None, quote: str | None = None) -> ClaimRecord:
    judged = label if label is not None or score is None else "fully supported" if score >= 0.5 else "no support"
    return ClaimRecord(text=text, label=judged, score=score, quote=quote)


def cost(seconds: float = 1.0, read: int = 100, cached: int = 40) -> Cost:
    return Cost(
        model_calls=3, input_tokens=read, cached_input_tokens=cached, output_tokens=7, seconds=seconds, estimated=False
    )


def example(id_: str = "1", question: str | None = None, **changes: Any) -> Example:
    return Example(id=id_, question=question or f"Question {id_}?", **changes)


def record(id_: str = "1", system: str = "ours", **changes: Any) -> Record:
    usual: dict[str, Any] = {
        "route": "retrieve",
        "outcome": "answered",
        "stop_reason": None,
        "answer": f"Answer {id_}.",
        "confidence": 1.0,
        "cost": Cost(
            model_calls=2, input_tokens=30, cached_input_tokens=10, output_tokens=4, seconds=0.5, estimated=False
        ),
        "error": None,
    }
    unknown = changes.keys() - Record.__annotations__.keys()
    assert not unknown, unknown
    return cast("Record", {**failed(system, example(id_), ValueError(), 0.0), **usual, **changes})


def answered(system: str, answer: str = "Air scatters light.", *, example: str = "e1", **changes: Any) -> Record:
    """What a system said of one question; an empty answer is an abstention."""
    question = "Why is the sky blue?"
    given = {
        "question": question,
        "outcome": "answered" if answer else "abstained",
        "answer": answer,
        "queries": [question],
        "seen": [seen("Air scatters blue light.", source="notes.txt")],
    }
    return record(example, system, **{**given, **changes})


def compared(
    example: str, one: str, other: str, *preferred: str | None, reason: str = "", failure: str | None = None
) -> Pair:
    """A pair with what each order says, the same on every criterion; without any the answers are identical."""
    opinions = [
        Opinion(first, said, dict.fromkeys(CRITERIA, said), reason, failure)
        for first, said in zip((one, other), preferred, strict=False)
    ]
    return Pair(example, one, other, tuple(opinions))


@dataclass
class ScriptedSystem:
    """A system that answers at once; ``says`` may give a record, or an exception to raise."""

    name: str = "ours"
    fingerprint: str = "print"
    says: Callable[[Example], Exception | Record | None] = lambda example: None
    asked: list[str] = field(default_factory=list)

    async def ask(self, example: Example) -> Record:
        self.asked.append(example.id)
        await asyncio.sleep(0)
        said = self.says(example)
        if isinstance(said, Exception):
            raise said
        return said or record(example.id, self.name, question=example.question)
