"""The replies of a good model to our prompts and the peers', and the prefix cache of its server."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langchain_core.prompts import ChatPromptTemplate

from benchmarks.peers import prompts as peers
from benchmarks.sample import Asked
from prompts.answer_check import USEFULNESS
from prompts.decide import RETRIEVE
from prompts.generate import GENERATE, PLAIN
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT

SURE = 0.95
# Prompts, each with the reply for yes and, if a passage may be irrelevant, for no. Replies to ours are one token with
# probabilities.
OURS: tuple[tuple[ChatPromptTemplate, str, str | None], ...] = (
    (RETRIEVE.messages, "search", None),
    (RELEVANCE.messages, "yes", "no"),
    (SUPPORT.messages, "yes", None),
    (USEFULNESS.messages, "5", None),
)
THEIRS: tuple[tuple[ChatPromptTemplate, str, str | None], ...] = (
    (peers.GRADE_PASSAGE, '{"binary_score": "yes"}', '{"binary_score": "no"}'),
    (peers.GRADE_GROUNDING, '{"binary_score": "yes"}', None),
    (peers.GRADE_ANSWER, '{"binary_score": "yes"}', None),
    (peers.NEEDS_SEARCH, "yes", None),
    (peers.RATE_RELEVANCE, "relevant", "irrelevant"),
    (peers.RATE_SUPPORT, "fully", None),
    (peers.RATE_UTILITY, "5", None),
    (peers.FILTER_PASSAGE, "yes", "no"),
    (peers.CHECK_ANSWER, "yes", None),
)
TOKEN = re.compile(r"\w{1,6}|[^\w\s]")
AROUND = 4  # tokens that a chat template puts around each message
Messages = Sequence[Mapping[str, Any]]
INPUT = "\0"


@dataclass(frozen=True)
class Reply:
    """A reply, its length in tokens, and the log-probabilities of what its one token might have been."""

    text: str
    tokens: int
    top: Mapping[str, float] | None = None

    @property
    def candidates(self) -> list[dict[str, Any]] | None:
        """The log-probabilities as the protocol gives them."""
        return (
            [{"token": one, "logprob": value, "bytes": None} for one, value in self.top.items()] if self.top else None
        )


class Model:
    """A model that replies to known questions and prompts, and raises `LookupError` for any other."""

    def __init__(self, asked: Sequence[Asked], answer_tokens: int) -> None:
        self._asked = {one.question: one for one in asked}
        self._answer_tokens = answer_tokens

    def reply(self, messages: Messages) -> Reply:
        """Return the draft, or the verdict: a passage is irrelevant unless it is the one that answers."""
        systems = [str(one["content"]) for one in messages if one["role"] == "system"]
        last = str(messages[-1]["content"])
        if any(system in systems and last.endswith(ending) for system, ending in WRITES):
            return Reply(self._about(last).answer, self._answer_tokens)
        known = (said for (system, ending), said in VERDICTS.items() if system in systems and last.endswith(ending))
        yes, no, one_token = next(known, (None, None, False))
        if yes is None:
            raise LookupError(f"no reply is known for the prompt that begins: {systems[:1]}")
        holds = no is None or self._about(last).relevant in last
        said = yes if holds else str(no)
        if not one_token:
            return Reply(said, count(said))
        top = {said: math.log(SURE)} | ({(no if holds else yes): math.log(1 - SURE)} if no else {})
        return Reply(said, 1, top)

    def _about(self, text: str) -> Asked:
        found = [one for question, one in self._asked.items() if question in text]
        if not found:
            raise LookupError(f"no question that is known stands in: {text[-200:]}")
        return max(found, key=lambda one: len(one.question))


class PrefixCache:
    """A cache that counts the cached tokens of a prompt: the longest prefix of whole messages seen before."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def read(self, messages: Messages) -> tuple[int, int]:
        """Return the number of tokens of the prompt, and how many of them are cached; from now on all are."""
        total, cached, key, known = 0, 0, 0, True
        for one in messages:
            key = hash((key, one["role"], str(one["content"])))
            total += count(str(one["content"])) + AROUND
            known = known and key in self._seen
            cached = total if known else cached
            self._seen.add(key)
        return total, cached


@lru_cache(maxsize=100_000)
def count(text: str) -> int:
    """Estimate tokens: one for each sign, and one for every six letters of a word, rounded up."""
    return len(TOKEN.findall(text))


def _marks_of(prompt: ChatPromptTemplate) -> tuple[str, str]:
    """Return the first message, and what follows the last input: prompts of one conversation differ in the second."""
    first, *_, last = prompt.format_messages(**dict.fromkeys(prompt.input_variables, INPUT))
    return first.text, last.text.rpartition(INPUT)[2]


WRITES = [_marks_of(GENERATE), _marks_of(PLAIN)]
VERDICTS = {_marks_of(prompt): (yes, no, table is OURS) for table in (OURS, THEIRS) for prompt, yes, no in table}
