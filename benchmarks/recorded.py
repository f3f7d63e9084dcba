"""The calls that the graph makes for a few questions of the sample, each with the prompt that it belongs to."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages

from benchmarks.common import bound, questions_in
from graph.builder import build_graph
from models.chat import Chat
from models.critic import Critic
from models.generator import Generator
from prompts.answer_check import USEFULNESS
from prompts.decide import RETRIEVE
from prompts.generate import GENERATE
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT

QUESTIONS = Path(__file__).resolve().parent.parent / "data" / "questions.jsonl"
PROMPTS = {
    "decide": RETRIEVE.messages,
    "grade": RELEVANCE.messages,
    "generate": GENERATE,
    "support": SUPPORT.messages,
    "usefulness": USEFULNESS.messages,
}

Call = dict[str, Any]


class Recorder:
    """A chat that writes down what it is asked."""

    def __init__(self, chat: Chat, calls: list[Call]) -> None:
        self.name, self.secrets, self._chat, self._calls = chat.name, chat.secrets, chat, calls

    async def ask(self, messages: Sequence[BaseMessage], *given: Any, **options: Any) -> AIMessage:
        """As `Chat.ask`."""
        reply = await self._chat.ask(messages, *given, **options)
        body = {"messages": convert_to_openai_messages(messages), "max_tokens": options["max_tokens"], "temperature": 0}
        kind = next((kind for kind, prompt in PROMPTS.items() if _begins(prompt, messages)), "other")
        self._calls.append({"kind": kind, "body": body | dict(options.get("bind") or {})})
        return reply


def _begins(prompt: Any, messages: Sequence[BaseMessage]) -> bool:
    return bool(prompt.format_messages(**dict.fromkeys(prompt.input_variables, ""))[0].text == messages[0].text)


async def record(count: int) -> list[list[Call]]:
    """The calls of ``count`` questions, each as the graph asked them."""
    found = []
    with bound(None) as (services, context):
        chat = cast("Generator", services.generator).chat
        for row in [row for row in questions_in(QUESTIONS) if row.answerable][:count]:
            calls: list[Call] = []
            recorder = cast("Chat", Recorder(chat, calls))
            recording = replace(services, generator=Generator(recorder), critic=Critic(recorder))
            await build_graph(recording).ainvoke({"question": row.question}, context=context)
            found.append(calls)
            print(f"recorded {len(calls)} calls: {row.question}", file=sys.stderr, flush=True)
    return found
