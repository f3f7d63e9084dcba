"""The state in which a question begins: the input is checked, and what the thread's last question left is reset."""

import uuid
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.errors import RequestError
from core.text import clean, is_blank
from core.types import Length, Turn, no_usage
from grounding.lengths import length_asked_for, subject_asked_for
from retrieval.filters import Filter
from run.context import Context
from run.state import SelfRAGState

LONGEST_QUESTION = 8_000  # characters
MOST_TURNS = 20  # of a conversation that count, the last ones
LONGEST_ANSWER = 2_000  # characters of an earlier answer that are kept
# The keys of the state that begin as None, and as an empty list.
EMPTY_VALUES = ("decision", "best", "outcome", "stop_reason", "table", "queried", "describes", "subject", "whole")
EMPTY_LISTS = tuple(
    """passages kept found relevant drafts drafted claims uses candidates compared segments left_out differing citations
    conflicts path stops""".split()
)
TURNS = TypeAdapter(list[Turn])


def initial_state(state: SelfRAGState, context: Context) -> dict[str, Any]:
    """Return every key of the state as it is before the first node.

    Raises `RequestError` for a question that is empty or too long, and for an invalid conversation.
    """
    question = require_question(state.get("question"))
    return {
        "conversation": require_conversation(state.get("conversation") or ()),
        "given_standalone": require_standalone(state.get("given_standalone")),
        "standalone": question,
        "rewritten": False,
        "run": uuid.uuid4().hex,
        "queries": [(subject_asked_for(question) if context.length == "long" else question).strip()],
        "length": context.length or "short",
        "onward": "continue",
        "unread": 0,
        "route": "retrieve",
        "searched": 0,
        "filter": context.filter.model_dump(mode="json") if context.filter else None,
        "rewrites_left": context.effective_limits.rewrites,
        "drafts_left": context.effective_limits.drafts,
        "fallback": context.fallback,
        "verdicts": {},
        **dict.fromkeys(EMPTY_VALUES),
        **{key: [] for key in EMPTY_LISTS},
        "rates": context.rates_drafts,
        "accepted": False,
        "compares": context.conflicts,
        "answer": "",
        "usage": no_usage(),
    }


def length_of(state: SelfRAGState, context: Context | None, *, new: bool) -> Length:
    """Return the length of the answer: what a ``new`` question asks for, else what the state says."""
    if not new:
        return state.get("length", "short")
    question = state.get("question")
    return (context and context.length) or (length_asked_for(question) if isinstance(question, str) else "short")


def with_checkpointed_filter(context: Context, state: SelfRAGState) -> Context:
    """Return the context with the filter that the question began with, whatever filter a resumption gives."""
    kept = state.get("filter")
    return context.model_copy(update={"filter": Filter.model_validate(kept) if kept else None})


def require_question(question: object, name: str = "question") -> str:
    """Return the question, if it can be asked. Raises `RequestError` for one that is empty or too long."""
    if not isinstance(question, str) or is_blank(question):
        raise RequestError(f"The {name} is empty: ask something.")
    if len(question) > LONGEST_QUESTION:
        raise RequestError(
            f"The {name} has {len(question):,} characters: shorten it to {LONGEST_QUESTION:,}, "
            "and put long texts into documents."
        )
    return question


def require_standalone(standalone: object) -> str | None:
    """Return a person's standalone question, None without one; raise `RequestError` if it is not valid."""
    return None if standalone is None else require_question(standalone, "standalone question").strip()


def require_conversation(conversation: object) -> list[Turn]:
    """Return the last turns, without invisible characters, and with long questions and answers cut.

    Raises `RequestError` for anything but a list of turns.
    """
    last = list(conversation)[-MOST_TURNS:] if isinstance(conversation, Sequence) else conversation
    try:
        turns = TURNS.validate_python(last, strict=True)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise RequestError(
            f"The conversation is wrong{' at ' if place else ''}{place}: give a list of turns, each with its question, "
            "standalone, answer and outcome."
        ) from None
    return [
        Turn(
            question=clean(turn["question"][:LONGEST_QUESTION]).strip(),
            standalone=clean(turn["standalone"][:LONGEST_QUESTION]).strip(),
            answer=clean(turn["answer"][:LONGEST_ANSWER]).strip(),
            outcome=turn["outcome"],
        )
        for turn in turns
    ]
