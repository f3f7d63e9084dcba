"""The rows of an evaluation: what is asked, what a system answered, and how a model judges the answers."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NotRequired, Protocol, cast

from typing_extensions import TypedDict  # pydantic cannot validate Python 3.11's own

from core.types import Passage, Usage

OURS, BASELINE = "self-rag", "plain"  # names of systems
TIE = "tie"
IDENTICAL, DISAGREED, UNREADABLE, FAILED = "identical", "orders_disagree", "unreadable", "failed"  # no preference
NO_VERDICT = (UNREADABLE, FAILED)


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
    """Examples, and the documents to search; if there are none, the caller names the documents."""

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


class ClaimRecord(TypedDict):
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
    record does not count as done. ``conflicts`` are the different answers of documents, shown with the answer. Records
    of older versions lack ``read``, ``conflicts``, ``stamp`` and ``calibration``.
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
    said: list[ClaimRecord]
    citations: list[Cited]
    conflicts: NotRequired[list[Disagreement]]
    usefulness: float | None
    cost: Cost
    decisions: list[dict[str, Any]]
    error: str | None
    stamp: NotRequired[dict[str, str | None]]
    calibration: NotRequired[str | None]


@dataclass(frozen=True)
class Opinion:
    """What the judge said when the answer of the system ``first`` stood first.

    ``preferred`` and the values of ``criteria`` are names of systems or ``tie``, None where the reply names none.
    ``failure`` is the error of a call that failed or was refused.
    """

    first: str
    preferred: str | None
    criteria: Mapping[str, str | None] = field(default_factory=dict)
    reason: str = ""
    failure: str | None = None


@dataclass(frozen=True)
class Pair:
    """Two systems' answers to one example, compared in both orders. Identical answers get no opinions.

    ``one`` and ``other`` are names of systems.
    """

    example: str
    one: str
    other: str
    opinions: tuple[Opinion, ...] = ()

    @property
    def preference(self) -> str:
        """Return the system that both orders prefer, or ``tie``, or why there is no preference."""
        if not self.opinions:
            return IDENTICAL
        if self.failure:
            return FAILED
        said = [opinion.preferred for opinion in self.opinions]
        return UNREADABLE if None in said else _agreed(said)

    @property
    def verdict(self) -> str | None:
        """Return the system that both orders prefer, None if there is none."""
        return self.preference if self.preference in (self.one, self.other) else None

    @property
    def failure(self) -> str | None:
        return next((opinion.failure for opinion in self.opinions if opinion.failure), None)

    @property
    def reasons(self) -> list[str]:
        """Return the reasons, each once, where both orders agree on the preference."""
        if self.preference != TIE and not self.verdict:
            return []
        return list(dict.fromkeys(opinion.reason for opinion in self.opinions if opinion.reason))

    def criterion(self, name: str) -> str | None:
        """Return the system or ``tie`` that both orders name, else ``orders_disagree``; None if either is missing."""
        said = [opinion.criteria.get(name) for opinion in self.opinions]
        return None if not said or None in said else _agreed(said)


def _agreed(said: Sequence[str | None]) -> str:
    return str(said[0]) if len(set(said)) == 1 else DISAGREED


@dataclass(frozen=True)
class Judgements:
    """Judgements by (system, example id); an absent key, or None, was not judged.

    ``faithfulness`` in 0..1 is the share of an answer's claims that follow from the passages that the system read;
    ``relevancy`` in -1..1 is RAGAS' answer relevancy. ``useful`` says of each passage read, in its order, whether it
    helps to arrive at the reference, and ``recall`` in 0..1 is the share of the reference's claims that follow from
    these passages. ``agreement`` in 0..1 is the share of the judge's verdicts that agree with the labels; None without
    labels. Of ``asked`` questions the judge left ``unanswered`` without a verdict, the last for ``reason``.
    """

    faithfulness: dict[tuple[str, str], float | None] = field(default_factory=dict)
    relevancy: dict[tuple[str, str], float | None] = field(default_factory=dict)
    useful: dict[tuple[str, str], list[bool] | None] = field(default_factory=dict)
    recall: dict[tuple[str, str], float | None] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    agreement: float | None = None
    asked: int = 0
    unanswered: int = 0
    reason: str | None = None


class System(Protocol):
    """A system that answers questions. ``fingerprint`` changes with anything that could change its answers."""

    name: str
    fingerprint: str

    def ask(self, example: Example) -> Awaitable[Record]: ...
