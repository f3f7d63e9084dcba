"""What flows through the graph: plain, typed, serialisable, and nothing hidden."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

from core.types import (
    Candidate,
    CandidateRecord,
    Citation,
    Claim,
    Conflict,
    DocumentAnswer,
    Draft,
    Drafted,
    Fallback,
    Outcome,
    Passage,
    Route,
    Step,
    Stop,
    StopReason,
    Usage,
    Verdict,
    add_usage,
)


class SelfRAGState(TypedDict, total=False):
    """The state of one question. A caller gives ``question``; ``decide`` resets all other keys.

    ``question`` is never rewritten; ``queries`` are what was searched for, the question first, the last one
    now, ``searched`` how many of them were, and ``filter`` that of all these searches, as JSON has it. ``verdicts``
    keeps every relevance verdict by passage, since it is against the question. ``passages`` are those of the last
    search, after those ``kept`` of earlier ones. ``drafts``, ``claims`` and ``uses`` belong to the present round;
    ``drafted`` is every draft of the question. ``found`` holds each passage of any search once, and ``candidates``
    every draft that was ranked; ``rates`` says whether drafts from documents are rated, ``compares`` is the context's
    ``conflicts``, and ``differing`` are the answers of single documents, in groups that agree, if there are two or more
    groups. A checkpoint of an older version lacks these five, ``kept`` and ``conflicts``.
    ``rewrites_left`` and ``drafts_left`` bound the two loops; ``stops`` says where a limit or the model ended the run
    early. ``fallback`` is the context's; a checkpoint of an older version has True for ``direct`` and False for
    ``abstain``.
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
    fallback: Fallback | bool
    passages: list[Passage]
    kept: list[str]
    found: list[Passage]
    verdicts: dict[str, Verdict]
    relevant: list[str]
    drafts: list[Draft]
    drafted: list[Drafted]
    claims: list[list[Claim]]
    uses: list[Verdict]
    rates: bool
    candidates: list[CandidateRecord]
    best: Candidate | None
    accepted: bool
    compares: bool
    differing: list[list[DocumentAnswer]]
    seconds: float
    answer: str
    outcome: Outcome | None
    stop_reason: StopReason | None
    citations: list[Citation]
    conflicts: list[Conflict]
    usage: Annotated[Usage, add_usage]
    path: Annotated[list[Step], operator.add]
    stops: Annotated[list[Stop], operator.add]
