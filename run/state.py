"""The state that flows through the graph, typed and serialisable."""

import operator
from typing import Annotated, Any

from typing_extensions import TypedDict  # of typing's, pydantic makes no schema on Python 3.11

from core import types
from grounding.lengths import subject_asked_for


class GraphInput(TypedDict, total=False):
    """What a caller gives: a question and, if it follows others, the conversation and perhaps what it means."""

    question: str
    conversation: list[types.Turn]
    given_standalone: str | None


class SelfRAGState(TypedDict, total=False):
    """The state of one question. docs/architecture.md explains the keys. The first node resets all but the inputs.

    A checkpoint of an older version lacks ``kept``, ``found``, ``candidates``, ``rates``, ``compares``, ``differing``,
    ``conflicts``, ``table``, ``queried``, ``describes``, ``subject``, what a conversation adds and what a long answer
    adds; its ``fallback`` is True for ``direct`` and False for ``abstain``.
    """

    question: str
    conversation: list[types.Turn]
    given_standalone: str | None
    standalone: str
    rewritten: bool
    run: str
    length: types.Length
    route: types.Route
    decision: types.Verdict | None
    queries: list[str]
    searched: int
    filter: dict[str, Any] | None
    rewrites_left: int
    drafts_left: int
    fallback: types.Fallback | bool
    describes: types.Naming | None
    subject: types.Subject | None
    passages: list[types.Passage]
    kept: list[str]
    found: list[types.Passage]
    verdicts: dict[str, types.Verdict]
    relevant: list[str]
    drafts: list[types.Draft]
    drafted: list[types.Drafted]
    claims: list[list[types.Claim]]
    uses: list[types.Verdict]
    rates: bool
    candidates: list[types.CandidateRecord]
    compared: list[types.Compared]
    whole: str | None
    unread: int
    segments: list[types.Segment]
    left_out: list[str]
    onward: types.Next
    best: types.Candidate | None
    accepted: bool
    table: types.TableFound | None
    queried: types.Queried | None
    compares: bool
    differing: list[list[types.DocumentAnswer]]
    seconds: float
    answer: str
    outcome: types.Outcome | None
    stop_reason: types.StopReason | None
    citations: list[types.Citation]
    conflicts: list[types.Conflict]
    usage: Annotated[types.Usage, types.add_usage]
    path: Annotated[list[types.Step], operator.add]
    stops: Annotated[list[types.Stop], operator.add]


def standalone_question(state: SelfRAGState) -> str:
    """Return the question as the model is asked it: completed, and with the name of its subject once that is known.

    A checkpoint of an older version has ``question`` alone.
    """
    subject = state.get("subject")
    return subject["question"] if subject else state.get("standalone") or state["question"]


def question_alone(state: SelfRAGState) -> str:
    """Return `standalone_question`; but if that only joins the question with earlier ones, the question as asked."""
    return state["question"] if is_joined(state) else standalone_question(state)


def asks_for_long_answer(state: SelfRAGState) -> bool:
    """Return True if the answer is long and the question itself asks for that, in words such as ``summarise``."""
    question = standalone_question(state)
    return state.get("length") == "long" and subject_asked_for(question) != question


def in_segments(state: SelfRAGState) -> bool:
    """Return True if the answer is written segment by segment: a long one, from passages that a search found."""
    found = state["route"] == "retrieve" and state["searched"] and not state.get("queried")
    return bool(state.get("length") == "long" and found and (state["relevant"] or state["segments"]))


def things_of(state: SelfRAGState) -> list[str]:
    """Return the things whose comparison is written as a table; none for any other answer."""
    return [one["thing"] for one in state.get("compared", [])]


def is_joined(state: SelfRAGState) -> bool:
    """Return True if the question leans on earlier ones and was only joined with them, not rewritten."""
    replaced = state.get("rewritten") or state.get("subject")
    return not replaced and standalone_question(state) != state["question"]
