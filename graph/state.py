"""What flows through the graph: plain, typed, serialisable, and nothing hidden."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from models.usage import Usage, add_usage
from prompts.choice import Verdict

Route = Literal["retrieve", "direct", "fallback"]
Outcome = Literal["grounded", "partially_grounded", "abstained", "direct", "stopped"]
StopReason = Literal[
    "accepted",
    "not_useful",
    "claims_unsupported",
    "declined",
    "nothing_relevant",
    "not_needed",
    "mode_never",
    "fallback",
    "limit_calls",
    "limit_tokens",
    "limit_seconds",
    "model_failed",
]


class Passage(TypedDict):
    """A passage as the models read it. ``page`` and ``row`` count from 1; ``similarity`` is the search's."""

    id: str
    text: str
    source: str
    page: int | None
    row: int | None
    similarity: float | None


class Quote(TypedDict):
    """A verbatim span of a passage: ``passage.text[start:end]``."""

    passage: str
    start: int
    end: int


class Claim(TypedDict):
    """One statement of a draft, its verdict (ISSUP) and the quote that carries it, if any.

    ``text`` is a verbatim slice of the draft; ``context`` is what it needs to be understood: the line that
    introduces a list, the head of a table, or the sentence to which its pronoun refers.
    """

    text: str
    context: NotRequired[str]
    verdict: Verdict
    quote: Quote | None


class Draft(TypedDict):
    """A candidate answer and the passages that its generator read."""

    text: str
    passages: list[Passage]
    relevance: float
    declined: bool


class Drafted(TypedDict):
    """What was written from which passages, by id: the same passages would give the same draft."""

    passages: list[str]
    text: str


class Candidate(TypedDict):
    """A draft with what the critics said of it. Scores are those of the reflection tokens."""

    draft: Draft
    claims: list[Claim]
    support: float
    usefulness: float
    use: Verdict | None
    score: float


class Citation(TypedDict):
    """A quote as it is shown: ``passage[start:end] == quote``."""

    id: int
    source: str
    page: int | None
    row: int | None
    passage: str
    quote: str
    start: int
    end: int


class Step(TypedDict):
    """One node's turn: its seconds, and what it decided."""

    node: str
    seconds: float
    decided: dict[str, Any]


class Stop(TypedDict):
    """Why a run ended early, and what the model said when it failed."""

    reason: StopReason
    failure: str | None


class SelfRAGState(TypedDict, total=False):
    """The state of one question. A caller gives ``question``; ``decide`` starts all else anew.

    ``question`` is never rewritten; ``queries`` are what was searched for, the question first, the last one
    now, ``searched`` how many of them were, and ``filter`` that of all these searches, as JSON has it. ``verdicts``
    keeps every relevance verdict by passage, since it is against the question. ``drafts``, ``claims`` and ``uses``
    belong to the present round; ``drafted`` is every draft of the question. ``rewrites_left`` and ``drafts_left``
    bound the two loops; ``stops`` says where a limit or the model ended the run early.
    """

    question: str
    run: str
    route: Route
    decision: Verdict | None
    queries: list[str]
    searched: int
    filter: dict[str, Any] | None
    rewrites_left: int
    drafts_left: int
    fallback: bool
    passages: list[Passage]
    verdicts: dict[str, Verdict]
    relevant: list[str]
    drafts: list[Draft]
    drafted: list[Drafted]
    claims: list[list[Claim]]
    uses: list[Verdict]
    best: Candidate | None
    accepted: bool
    seconds: float
    answer: str
    outcome: Outcome | None
    stop_reason: StopReason | None
    citations: list[Citation]
    usage: Annotated[Usage, add_usage]
    path: Annotated[list[Step], operator.add]
    stops: Annotated[list[Stop], operator.add]
