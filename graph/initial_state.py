"""How a question begins: its text is checked, and all that an earlier question of the thread left is reset."""

from __future__ import annotations

import uuid
from typing import Any

from core.errors import RequestError
from core.text import is_blank
from core.types import no_usage
from graph.context import Context
from graph.state import SelfRAGState
from retrieval.filters import Filter

LONGEST_QUESTION = 8_000  # characters


def initial_state(state: SelfRAGState, context: Context) -> dict[str, Any]:
    """Return every key of the state as it is before the first node.

    Raises `RequestError` for a question that is empty or too long.
    """
    question = require_question(state.get("question"))
    return {
        "run": uuid.uuid4().hex,
        "decision": None,
        "queries": [question.strip()],
        "route": "retrieve",
        "searched": 0,
        "filter": context.filter.model_dump(mode="json") if context.filter else None,
        "rewrites_left": context.effective_limits.rewrites,
        "drafts_left": context.effective_limits.drafts,
        "fallback": context.fallback,
        "passages": [],
        "kept": [],
        "found": [],
        "verdicts": {},
        "relevant": [],
        "drafts": [],
        "drafted": [],
        "claims": [],
        "uses": [],
        "rates": context.rates_drafts,
        "candidates": [],
        "best": None,
        "accepted": False,
        "compares": context.conflicts,
        "differing": [],
        "answer": "",
        "outcome": None,
        "stop_reason": None,
        "citations": [],
        "conflicts": [],
        "usage": no_usage(),
        "path": [],
        "stops": [],
    }


def with_checkpointed_filter(context: Context, state: SelfRAGState) -> Context:
    """Return the context with the filter that the question began with, whatever its resumption names."""
    kept = state.get("filter")
    return context.model_copy(update={"filter": Filter.model_validate(kept) if kept else None})


def require_question(question: object) -> str:
    """Return the question, if it can be asked. Raises `RequestError` for one that is empty or too long."""
    if not isinstance(question, str) or is_blank(question):
        raise RequestError("The question is empty: ask something.")
    if len(question) > LONGEST_QUESTION:
        raise RequestError(
            f"The question has {len(question):,} characters: shorten it to {LONGEST_QUESTION:,}, "
            "and put long texts into documents."
        )
    return question
