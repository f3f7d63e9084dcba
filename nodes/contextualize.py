"""Find out what a follow-up question means."""

import re
from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from core.errors import ModelError
from core.text import first_line, shortened
from core.types import Turn
from core.words import STOP_WORDS, words_of
from grounding.follow_ups import join_follow_up, leaned_on, leans
from grounding.refusals import declines
from models.usage import LimitReachedError
from prompts.contextualize import CONTEXTUALIZE, MAX_TOKENS
from prompts.delimiters import as_data
from run.context import Context, Services
from run.state import SelfRAGState

MOST_SHOWN = 4  # earlier questions, the last ones
MOST_ANSWERS = 2  # of these whose answers are shown
LONGEST_SHOWN = 300  # characters of a question or an answer
LONGEST_REWRITTEN = 400
KNOWN_SHARE = 0.5  # of a rewritten question's words, that the conversation must have
ANSWERED = ("grounded", "partially_grounded", "direct", None)
LABEL = re.compile(r"^(?:(?:rewritten|standalone|follow[- ]?up|new) )*(?:question|follow[- ]?up)\s*:\s*", re.IGNORECASE)
ASKS = re.compile(r"[?？]\W*$")


async def contextualize(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Set ``standalone``: a person's correction, the question if it stands alone, else the question completed.

    Code completes a question by putting earlier ones before it; with ``follow_ups`` ``rewrite`` the model rewrites it,
    unless the model fails. Earlier answers are read only here, to resolve references: no claim is checked against them.
    """
    question, conversation = state["question"], state["conversation"]
    leaning, before = leans(question), leaned_on(conversation)
    text = state["given_standalone"]
    if text is None and leaning and before and runtime.context.follow_ups == "rewrite":
        text = await _rewritten(question, conversation, services)
    update: dict[str, Any] = {"standalone": join_follow_up(before, question) if leaning and before else question}
    if text is not None:
        update = {"standalone": text, "rewritten": True, "queries": [text]}
    decided = {"standalone": update["standalone"], "leans": leaning, "rewritten": text is not None}
    return {**update, "decided": decided}


async def _rewritten(question: str, conversation: Sequence[Turn], services: Services) -> str | None:
    """Let the model rewrite the question; None if it fails, or what it writes is not usable."""
    earlier = render_conversation(conversation)
    try:
        written = await services.generator.write(
            CONTEXTUALIZE, max_tokens=MAX_TOKENS, hidden=True, earlier=earlier, question=as_data(question)
        )
    except (ModelError, LimitReachedError):
        return None
    text = first_line(written, LABEL)
    return text if is_usable(text, question, earlier) else None


def render_conversation(conversation: Sequence[Turn]) -> str:
    """Render the last questions and, of the last two turns, the answers if there were any, each between delimiters."""
    last = conversation[-MOST_SHOWN:]
    lines = []
    for number, turn in enumerate(last):
        lines.append(f"<question>\n{_data(turn['standalone'] or turn['question'])}\n</question>")
        if len(last) - number <= MOST_ANSWERS and turn["answer"] and turn["outcome"] in ANSWERED:
            lines.append(f"<answer>\n{_data(turn['answer'])}\n</answer>")
    return "\n".join(lines)


def is_usable(written: str, question: str, earlier: str) -> bool:
    """Return True if the rewriting is a question, not an answer, and most of its words are from the conversation."""
    if not written or len(written) > LONGEST_REWRITTEN or declines(written):
        return False
    if ASKS.search(question) and not ASKS.search(written):
        return False
    own, known = _words(written), _words(f"{earlier} {question}")
    return len(own & known) >= KNOWN_SHARE * len(own)


def _data(text: str) -> str:
    return as_data(shortened(text, LONGEST_SHOWN))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in words_of(text)} - STOP_WORDS
