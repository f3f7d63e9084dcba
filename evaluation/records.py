"""The rows of an evaluation: what is asked, and what a system answered."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NotRequired, Protocol, cast

from typing_extensions import TypedDict  # pydantic cannot validate Python 3.11's own

from core.types import Passage, Usage

OURS, BASELINE = "self-rag", "plain"  # names of systems


@dataclass(frozen=True)
class Gold:
    """Where the answer is; ``text`` is the span that carries it. None means not known."""

    source: str | None = None
    page: int | None = None
    row: int | None = None
    text: str | None = None


@dataclass(frozen=True)
class Example:
    """One question and what is expected of it; a field that is None or empty is not known and not scored.

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
    """Examples, and the documents to search: none if the caller names them."""

    name: str
    examples: tuple[Example, ...]
    documents: tuple[Path, ...] = field(default=())


class Seen(TypedDict):
    """A passage that a system found; ``relevance`` in 0..1, None if not graded."""

    text: str
    source: str
    page: int | None
    row: int | None
    similarity: float | None
    relevance: float | None
    relevant: bool | None
    title: NotRequired[str]
    heading: NotRequired[str]


def seen_of(passage: Passage, relevance: float | None = None, relevant: bool | None = None) -> Seen:
    """Combine a retrieved passage with its grade, if it was graded."""
    found = {key: value for key, value in passage.items() if key in Seen.__annotations__}
    return cast("Seen", {**found, "relevance": relevance, "relevant": relevant})


class Said(TypedDict):
    """A claim of the answer; ``score`` is its support in 0..1, None if the system does not judge it."""

    text: str
    label: str | None
    score: float | None
    quote: str | None


class Cost(Usage):
    """What a question cost; retries count as calls."""

    seconds: float


class Cited(TypedDict, total=False):
    """A passage that an answer rests on, and the part of it that is quoted."""

    source: str | None
    passage: str
    quote: str


class Disagreement(TypedDict):
    """One of the answers that documents disagree on, and the documents that give it."""

    answer: str
    sources: list[str]


class Provenance(TypedDict):
    """What an answer was made with: version, models, prompts and index; the name of the critic's calibration."""

    stamp: dict[str, str | None]
    calibration: str | None


class Record(TypedDict):
    """One system's answer to one example.

    ``seen`` is what the first search found, in its order. ``read`` is what the generator read, in its order, for the
    answer or for the best draft of an abstention. ``answer`` is empty when the system abstained. ``confidence`` in 0..1
    orders its answers from doubtful to sure.
    ``decisions`` is the trace, in whatever form the system records it. ``error`` is set when the system failed; such a
    record does not count as done. ``conflicts`` are the answers that it shows to differ between documents. Records of
    older versions lack ``read``, ``conflicts``, ``stamp`` and ``calibration``.
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
    read: NotRequired[list[Seen]]
    said: list[Said]
    citations: list[Cited]
    conflicts: NotRequired[list[Disagreement]]
    usefulness: float | None
    cost: Cost
    decisions: list[dict[str, Any]]
    error: str | None
    stamp: NotRequired[dict[str, str | None]]
    calibration: NotRequired[str | None]


class System(Protocol):
    """A system that answers questions. ``fingerprint`` changes with anything that could change its answers."""

    name: str
    fingerprint: str

    def ask(self, example: Example) -> Awaitable[Record]: ...
