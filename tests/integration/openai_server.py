"""A loopback server of the OpenAI protocol that answers from what it is shown, and misbehaves when told to."""

from __future__ import annotations

import functools
import json
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from langchain_core.prompts import ChatPromptTemplate

from evaluation.comparison.compared_set import ANALYSE
from evaluation.judging.criteria import COMPARE
from evaluation.written_labels import CHANGE_WORD, WRITE_QUESTION
from prompts.answer_check import USEFULNESS
from prompts.choice import Choice
from prompts.compare_answers import BRIEF_ANSWER, NO_ANSWER
from prompts.contextualize import CONTEXTUALIZE
from prompts.decide import RETRIEVE
from prompts.described import DESCRIBED
from prompts.direct_generate import DIRECT_GENERATE
from prompts.generate import (
    CELL,
    COMPARISON,
    GENERATE,
    PLAIN,
    REDRAFT_NOT_USEFUL,
    REDRAFT_UNSUPPORTED,
    SEGMENT,
    SUMMARY,
)
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from prompts.query_table import FITS, QUERY_TABLE, REQUERY_TABLE
from prompts.rewrite_query import REWRITE_QUERY
from tests.integration.loopback import Loopback, Sent
from tests.integration.misbehaviour import CUT, HANG, Fault, Wire, completion_of, refusal, reply, say, status
from tests.scripted import IN_WORDS, asks_for_a_reason

__all__ = ["CUT", "HANG", "Asked", "Fault", "OpenAIServer", "Policy", "say", "serving", "status"]

Support = Literal["serve", "ignore", "refuse"]
Inputs = Mapping[str, str]
POINT = "what it says"  # of the things that are compared
CHOICES = {
    "retrieve": RETRIEVE,
    "relevance": RELEVANCE,
    "support": SUPPORT,
    "usefulness": USEFULNESS,
    "fits": FITS,
}
PROMPTS: tuple[tuple[str, ChatPromptTemplate], ...] = (
    *((name, choice.messages) for name, choice in CHOICES.items()),
    ("mend", REDRAFT_UNSUPPORTED),
    ("improve", REDRAFT_NOT_USEFUL),
    ("draft", CELL),
    ("draft", GENERATE),
    ("draft", PLAIN),
    ("draft", SEGMENT),
    ("draft", SUMMARY),
    ("draft", COMPARISON),
    ("query", REWRITE_QUERY),
    ("direct", DIRECT_GENERATE),
    ("brief", BRIEF_ANSWER),
    ("described", DESCRIBED),
    ("standalone", CONTEXTUALIZE),
    ("compare", COMPARE),
    ("analyse", ANALYSE),
    ("question", WRITE_QUESTION),
    ("changed", CHANGE_WORD),
    ("table", REQUERY_TABLE),
    ("table", QUERY_TABLE),
)


@dataclass(frozen=True)
class Asked:
    """A request as the server understood it: which prompt, with what inputs."""

    kind: str
    inputs: Inputs
    body: Mapping[str, Any]
    key: str


def recognise(messages: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, str]]:
    """Which prompt the messages are, and its inputs. Raises LookupError for none of ours."""
    texts = [str(message["content"]) for message in messages]
    if asks_for_a_reason(texts[-1]):
        return "reason", {}
    texts[-1] = IN_WORDS.sub("", texts[-1])
    for name, patterns in _patterns():
        found = (re.fullmatch(pattern, text, re.DOTALL) for pattern, text in zip(patterns, texts, strict=False))
        matches = [match for match in found if match]
        if len(patterns) == len(texts) == len(matches):
            return name, {key: said for match in matches for key, said in match.groupdict().items()}
    raise LookupError(f"no prompt of ours: {texts[-1][:200]}")


@functools.cache
def _patterns() -> list[tuple[str, list[str]]]:
    """Of each prompt its name, and what finds the inputs in each of its messages."""
    return [(name, [_pattern(message.text) for message in _marked(prompt)]) for name, prompt in PROMPTS]


def _marked(prompt: ChatPromptTemplate) -> list[BaseMessage]:
    return prompt.format_messages(**{name: f"\x00{name}\x00" for name in prompt.input_variables})


def _pattern(template: str) -> str:
    seen: set[str] = set()
    pattern = ""
    for index, part in enumerate(re.split("\x00(\\w+)\x00", template)):
        if index % 2 == 0:
            pattern += re.escape(part)
        else:
            pattern += f"(?P={part})" if part in seen else f"(?P<{part}>.*)"
            seen.add(part)
    return pattern


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def passages_of(shown: str) -> list[str]:
    return re.findall(r'<passage id="\d+">\n(.*?)\n</passage>', shown, re.DOTALL)


class Policy:
    """Reads what it is shown: a passage is relevant that shares two words with the question; drafts quote.

    Of two answers the longer one is preferred. No query answers from a table. The brief answer of a passage is
    its first figure.
    """

    def label(self, kind: str, inputs: Inputs) -> str:
        if kind == "retrieve":
            return "direct" if re.search(r"\d\s*[+*]\s*\d", inputs["question"]) else "retrieve"
        if kind == "relevance":
            shared = words(inputs["question"]) & words(inputs["passage"])
            return "relevant" if len(shared) >= 2 else "irrelevant"
        if kind == "fits":
            return "differs"
        if kind == "support":
            said = inputs["claim"].removeprefix(f"{POINT}: ")
            return "fully supported" if said in inputs["passages"] else "no support"
        return "5"

    def sureness(self, kind: str, inputs: Inputs) -> float:
        """The probability of the label."""
        return 0.9

    def text(self, kind: str, inputs: Inputs) -> str:
        if kind == "reason":
            return "The passages do not say so."
        if kind in ("table", "described"):
            return "none"
        if kind == "query":
            return f"other words {inputs['tried'].count(chr(10))}"
        if kind == "direct":
            return "The answer is 4."
        if kind == "brief":
            return next(iter(re.findall(r"\d+", inputs["passage"])), NO_ANSWER)
        if kind == "compare":
            return f"reason: It is longer.\npreferred: {max(('first', 'second'), key=lambda one: len(inputs[one]))}"
        if kind == "analyse":
            return "Both do.\npreferred: neither"
        sentences = [one for text in passages_of(inputs["passages"]) for one in re.findall(r"[A-Z][^.\n]*\.", text)]

        def nearest(asked: str) -> str:
            return max(sentences, key=lambda one: len(words(one) & words(asked)), default="I don't know.")

        if thing := inputs.get("thing"):
            return f"{POINT} | {nearest(thing)}"
        return nearest(inputs["question"])


class OpenAIServer(Loopback):
    """Serve from a thread until closed. ``faults`` are used up one a request, ``always`` never.

    ``logprobs`` and ``schema`` say what is done with a request for them; ``usage`` is reported or not.
    """

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        logprobs: Support = "serve",
        schema: Support = "serve",
        usage: bool = True,
        models: Sequence[str] = ("gpt-4o-mini",),
        key: str | None = None,
    ) -> None:
        super().__init__(self.answer)
        self.policy = policy or Policy()
        self.logprobs: Support = logprobs
        self.schema: Support = schema
        self.usage = usage
        self.models = models
        self.key = key
        self.faults: list[Fault | None] = []
        self.always: Callable[[Asked], Fault | None] = lambda asked: None
        self.asked: list[Asked] = []
        self._arrived = threading.Condition()
        self.start()

    def kinds(self) -> list[str]:
        return [one.kind for one in self.asked]

    def wait_for(self, kind: str, seconds: float = 60) -> None:
        """Return when a request of this kind has arrived. Raises TimeoutError."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: kind in self.kinds(), seconds):
                raise TimeoutError(f"no {kind} was asked for")

    def answer(self, sent: Sent) -> Wire:
        """The reply to one request, with its fault."""
        body, key = sent.body, sent.headers.get("Authorization", "").removeprefix("Bearer ")
        if sent.path != "/v1/chat/completions":
            return refusal(404, f"no such path: {sent.path}")
        if self.key is not None and key != self.key:
            return refusal(401, f"Incorrect API key provided: {key}.")
        if body["model"] not in self.models:
            return refusal(404, f"The model `{body['model']}` does not exist.")
        try:
            kind, inputs = recognise(body["messages"])
        except LookupError as error:
            return refusal(418, str(error))
        asked = Asked(kind, inputs, body, key)
        with self._arrived:
            self.asked.append(asked)
            fault = self.faults.pop(0) if self.faults else None
            self._arrived.notify_all()
        fault = fault or self.always(asked)
        for name, support in (("logprobs", self.logprobs), ("response_format", self.schema)):
            if body.get(name) and support == "refuse":
                refused = refusal(400, f"{name} is not supported")
                return fault.carry(refused) if fault else refused
        content, top = self._reply(asked)
        completion = completion_of(content, top, self._usage(asked, content))
        if body.get("stream") and not (body.get("stream_options") or {}).get("include_usage"):
            completion["usage"] = None
        return reply(completion, fault, stream=bool(body.get("stream")))

    def _reply(self, asked: Asked) -> tuple[str, list[dict[str, Any]] | None]:
        if asked.kind not in CHOICES:
            return self.policy.text(asked.kind, asked.inputs), None
        choice = CHOICES[asked.kind]
        word = reply_for(choice, self.policy.label(asked.kind, asked.inputs))
        if asked.body.get("response_format") and self.schema == "serve":
            return json.dumps({"label": word}), None
        if not asked.body.get("logprobs") or self.logprobs != "serve":
            return word, None
        others = [other for other in choice.replies if other != word]
        sure = self.policy.sureness(asked.kind, asked.inputs)
        rest = ((other, (1 - sure) / len(others)) for other in others)
        top = [(word.capitalize(), sure * 2 / 3), (f" {word}", sure / 3), *rest]
        return word, [{"token": token, "logprob": math.log(p), "bytes": None} for token, p in top]

    def _usage(self, asked: Asked, content: str) -> dict[str, Any] | None:
        if not self.usage:
            return None
        read = sum(len(str(message["content"]).split()) + 4 for message in asked.body["messages"])
        written = max(1, len(content.split()))
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": read // 2},
        }


def reply_for(choice: Choice, label: str) -> str:
    return next(word for word, one in choice.replies.items() if one == label)


@contextmanager
def serving(**settings: Any) -> Iterator[OpenAIServer]:
    server = OpenAIServer(**settings)
    try:
        yield server
    finally:
        server.close()
