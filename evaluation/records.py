"""What is asked, and what a system said: the rows of an evaluation."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from typing_extensions import TypedDict  # that of Python 3.11 cannot be validated

from core.types import Passage


@dataclass(frozen=True)
class Gold:
    """Where the answer stands; ``text`` is the span that carries it. What is None is not known."""

    source: str | None = None
    page: int | None = None
    row: int | None = None
    text: str | None = None


@dataclass(frozen=True)
class Example:
    """One question and what is expected of it; what is None, or empty, is not known and not scored.

    ``answerable`` says whether the documents hold the answer. ``plausible`` are wrong answers that look right.
    """

    id: str
    question: str
    route: Literal["retrieve", "direct"] | None = None
    answerable: bool | None = None
    references: tuple[str, ...] = ()
    gold: tuple[Gold, ...] = ()
    plausible: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dataset:
    """Examples, and the documents that they are asked of: none where the caller names them."""

    name: str
    examples: tuple[Example, ...]
    documents: tuple[Path, ...] = field(default=())


class Seen(TypedDict):
    """A passage that the first search found, in the order of the search; ``relevance`` in 0..1, None if not graded."""

    text: str
    source: str
    page: int | None
    row: int | None
    similarity: float | None
    relevance: float | None
    relevant: bool | None


def seen_of(passage: Passage, relevance: float | None = None, relevant: bool | None = None) -> Seen:
    """A passage of the search with what a grader said of it, if it was graded."""
    return Seen(
        text=passage["text"],
        source=passage["source"],
        page=passage["page"],
        row=passage["row"],
        similarity=passage["similarity"],
        relevance=relevance,
        relevant=relevant,
    )


class Said(TypedDict):
    """A claim of the answer; ``score`` is its support in 0..1, None where the system judges none."""

    text: str
    label: str | None
    score: float | None
    quote: str | None


class Cost(TypedDict):
    """What a question cost; retries are calls."""

    model_calls: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    seconds: float
    estimated: bool


class Cited(TypedDict, total=False):
    """A passage that an answer rests on, and the part of it that is quoted."""

    source: str | None
    passage: str
    quote: str


class Record(TypedDict):
    """What one system said to one example.

    ``answer`` is empty when the system abstained. ``confidence`` in 0..1 orders its answers from doubtful to sure.
    ``decisions`` is the trace, whatever the system records of it. ``error`` is set when the system failed;
    such a record is not kept as done.
    """

    system: str
    example: str
    question: str
    route: Literal["retrieve", "direct"] | None
    route_score: float | None
    outcome: str
    stop_reason: str | None
    answer: str
    confidence: float | None
    queries: list[str]
    seen: list[Seen]
    said: list[Said]
    citations: list[Cited]
    usefulness: float | None
    cost: Cost
    decisions: list[dict[str, Any]]
    error: str | None


class System(Protocol):
    """A way to answer. ``fingerprint`` changes with anything that could change what it says."""

    name: str
    fingerprint: str

    def ask(self, example: Example) -> Awaitable[Record]: ...
