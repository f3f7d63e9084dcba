"""Reply at random with what a model might say, and serve it with faults in a share of the replies."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from prompts.compare_answers import NO_ANSWER
from tests.integration.loopback import Loopback, Sent
from tests.integration.misbehaviour import FAULTS, Completion, Wire, completion_of, refusal, reply
from tests.integration.openai_server import recognise
from tests.stress.tickets import ticket_of

# The node that asks each kind of prompt; a reason is asked for of a claim that failed.
NODES = {
    "retrieve": "decide",
    "relevance": "grade_documents",
    **dict.fromkeys(("support", "reason"), "hallucination_check"),
    "usefulness": "answer_check",
    **dict.fromkeys(("draft", "mend", "improve"), "generate"),
    **dict.fromkeys(("query", "described"), "rewrite_query"),
    "direct": "direct_generate",
    "brief": "compare_answers",
}
# How often each reply of a choice is given: often enough that runs end in every way.
ODDS: dict[str, dict[str, float]] = {
    "retrieve": {"search": 9, "math": 1},
    "relevance": {"yes": 4, "no": 6},
    "support": {"yes": 6, "partly": 2, "no": 2},
    "usefulness": {"5": 4, "4": 2, "3": 2, "2": 1, "1": 1},
}
INVENTED = "The moon is made of 12 kinds of green cheese."
UNKNOWN = "none"  # stands for the ticket of requests that belong to no question
Messages = Sequence[Mapping[str, Any]]


def node_of(messages: Messages) -> str:
    """The node whose prompt the messages are. Raises `LookupError` for none of ours."""
    return NODES[recognise(messages)[0]]


def completion_for(request: Mapping[str, Any], dice: Random) -> Completion:
    """A sound completion for one of our prompts. Raises `LookupError` for any other."""
    messages: Messages = request["messages"]
    (kind, inputs), top = recognise(messages), None
    if kind in ODDS:
        text, top = _verdict(ODDS[kind], request, dice)
    else:
        text = _text(kind, inputs, messages, dice)
    read = sum(len(str(one["content"])) // 4 + 4 for one in messages)
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


def _text(kind: str, inputs: Mapping[str, str], messages: Messages, dice: Random) -> str:
    if kind == "query":
        return f"ticket {ticket_of(messages[-1:])} in other words {dice.randrange(10**6)}"
    fixed = {
        "reason": "The passages do not say so.",
        "described": "nothing",
        "direct": "The answer is four.",
        "brief": NO_ANSWER,
    }
    if kind in fixed:
        return fixed[kind]
    sentences = re.findall(r"[A-Z][^.<>\n]*\.", inputs["passages"])
    if dice.random() < 0.05 or not sentences:
        return "I don't know."
    if "thing" in inputs:
        rows = dice.choices([*sentences, "-", INVENTED], k=dice.randrange(1, 10))
        return "\n".join(f"point {number} | {row}" for number, row in enumerate(rows))
    said = dice.sample(sentences, min(len(sentences), dice.randrange(1, 4)))
    return " ".join([*said, INVENTED] if dice.random() < 0.2 else said)


class FaultyServer(Loopback):
    """Serve the random model, with a fault in a share of the replies; count requests by question."""

    def __init__(self, seed: int, share: float) -> None:
        super().__init__(self.answer, pieces_at_once=64)
        self.seed = seed
        self.share = share
        self.requests: Counter[str] = Counter()  # by the question's ticket
        self.faults: Counter[str] = Counter()  # by the fault's name

    def answer(self, sent: Sent) -> Wire:
        request = sent.body
        number = ticket_of(request["messages"]) or UNKNOWN
        self.requests[number] += 1
        dice = Random(f"{self.seed}/{number}/{self.requests[number]}")
        name = dice.choice(list(FAULTS)) if dice.random() < self.share else None
        if name:
            self.faults[name] += 1
        try:
            completion = completion_for(request, dice)
        except LookupError as error:
            self.requests[UNKNOWN] += 1
            return refusal(418, str(error))
        return reply(completion, FAULTS[name] if name else None, stream=bool(request.get("stream")))

    def counts(self) -> tuple[Counter[str], Counter[str]]:
        return self.requests, self.faults
