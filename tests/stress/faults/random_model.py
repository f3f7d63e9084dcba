"""Reply at random with what a model might say: labels, sentences of the passages, queries."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from prompts.answer_check import USEFULNESS
from prompts.choice import Choice
from prompts.compare_answers import BRIEF_ANSWER, NO_ANSWER
from prompts.decide import RETRIEVE
from prompts.direct_generate import DIRECT_GENERATE
from prompts.generate import GENERATE
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from prompts.rewrite_query import REWRITE_QUERY
from tests.integration.misbehaviour import Completion, completion_of
from tests.scripted import Marks, asks_for_a_reason, is_of, marks_of
from tests.stress.faults.tickets import TICKET

# How often each label is chosen: often enough that runs end in every way.
ODDS: tuple[tuple[Choice, Mapping[str, float]], ...] = (
    (RETRIEVE, {"search": 9, "math": 1}),
    (RELEVANCE, {"yes": 4, "no": 6}),
    (SUPPORT, {"yes": 6, "partly": 2, "no": 2}),
    (USEFULNESS, {"5": 4, "4": 2, "3": 2, "2": 1, "1": 1}),
)
INVENTED = "The moon is made of 12 kinds of green cheese."
Messages = Sequence[Mapping[str, Any]]


def completion_for(request: Mapping[str, Any], dice: Random) -> Completion:
    """A sound completion for one of our prompts. Raises `LookupError` for any other."""
    messages: Messages = request["messages"]
    read = sum(len(str(one["content"])) // 4 + 4 for one in messages)
    top = None
    known = next((one for marks, one in KNOWN if is_of(messages, marks)), None)
    if known is None:
        raise LookupError(f"no prompt of ours: {str(messages[0]['content'])[:200]}")
    if asks_for_a_reason(str(messages[-1]["content"])):
        text = "The passages do not say so."
    elif isinstance(known, str):
        text = _text(known, messages, dice)
    else:
        text, top = _verdict(known, request, dice)
    written = max(1, len(text) // 4)
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return completion_of(text, top, usage | {"prompt_tokens_details": {"cached_tokens": read // 2}})


def _verdict(
    odds: Mapping[str, float], request: Mapping[str, Any], dice: Random
) -> tuple[str, list[dict[str, Any]] | None]:
    word = dice.choices(list(odds), list(odds.values()))[0]
    if request.get("response_format"):
        return json.dumps({"label": word}), None
    if not request.get("logprobs"):
        return word, None
    sure = dice.uniform(0.5, 0.99)
    rest = {other: (1 - sure) / (len(odds) - 1) for other in odds if other != word}
    top = [{"token": token, "logprob": math.log(p), "bytes": None} for token, p in ({word: sure} | rest).items()]
    return word, top


def _text(kind: str, messages: Messages, dice: Random) -> str:
    if kind == "query":
        number = TICKET.findall(str(messages[-1]["content"]))[-1]
        return f"ticket {number} in other words {dice.randrange(10**6)}"
    if kind == "direct":
        return "The answer is four."
    if kind == "brief":
        return NO_ANSWER
    shown = next(str(one["content"]) for one in reversed(messages) if "<passage" in str(one["content"]))
    sentences = re.findall(r"[A-Z][^.<>\n]*\.", shown.rpartition("\nQuestion: ")[0])
    if dice.random() < 0.05 or not sentences:
        return "I don't know."
    said = dice.sample(sentences, min(len(sentences), dice.randrange(1, 4)))
    return " ".join([*said, INVENTED] if dice.random() < 0.2 else said)


KNOWN: tuple[tuple[Marks, Mapping[str, float] | str], ...] = (
    *((marks_of(choice.messages), odds) for choice, odds in ODDS),
    (marks_of(GENERATE), "draft"),
    (marks_of(REWRITE_QUERY), "query"),
    (marks_of(DIRECT_GENERATE), "direct"),
    (marks_of(BRIEF_ANSWER), "brief"),
)
