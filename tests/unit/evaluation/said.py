"""Records of what a system said, for tests of the judge."""

from __future__ import annotations

from typing import Any, cast

from evaluation.records import Cost, Record, Seen


def record(system: str, answer: str = "Air scatters light.", *, example: str = "e1", **changes: Any) -> Record:
    made: dict[str, Any] = {
        "system": system,
        "example": example,
        "question": "Why is the sky blue?",
        "route": "retrieve",
        "route_score": None,
        "outcome": "answered" if answer else "abstained",
        "stop_reason": None,
        "answer": answer,
        "confidence": 1.0,
        "queries": ["Why is the sky blue?"],
        "seen": [seen("Air scatters blue light.")],
        "said": [],
        "citations": [],
        "usefulness": None,
        "cost": Cost(
            model_calls=1, input_tokens=1, cached_input_tokens=0, output_tokens=1, seconds=0.0, estimated=False
        ),
        "decisions": [],
        "error": None,
        **changes,
    }
    return cast("Record", made)


def seen(text: str) -> Seen:
    return Seen(text=text, source="notes.txt", page=None, row=None, similarity=None, relevance=None, relevant=None)
