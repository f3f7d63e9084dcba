"""Run the graph in a drawn world: the real client, critic and generator over a model that plays the world's replies."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field, PrivateAttr

from core.errors import ModelError
from graph.builder import SelfRAGGraph, build_graph
from models.chat import Chat
from models.critic import Critic
from models.generator import Generator
from models.usage import Budget
from run.context import Services
from run.state import SelfRAGState
from tests.integration.graph.strategies import Reply, World, content_of, logarithms
from tests.integration.openai_server import recognise
from tests.scripted import ScriptedChat, StatusError

STATUS = {"transient": 503, "permanent": 401, "refused": 400}


class Clock:
    """Real seconds, and those that a slow model is said to have taken."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self._real = time.monotonic

    def __call__(self) -> float:
        return self._real() + self.ahead


CLOCK = Clock()


def simulate_time(patch: pytest.MonkeyPatch) -> None:
    """Let a model take minutes that nobody waits for; back-off takes none."""
    perf_counter = time.perf_counter
    patch.setattr(time, "monotonic", CLOCK)
    patch.setattr(time, "perf_counter", lambda: perf_counter() + CLOCK.ahead)
    patch.setattr("run.execution.Budget", partial(_begun, Budget))
    patch.setattr("models.failures.BACKOFF_SECONDS", 0.0)


def _begun(total: type[Budget], **given: Any) -> Budget:
    """A total that begins now: its class knows the real clock only."""
    return total(**given, began=CLOCK())


@dataclass(frozen=True)
class Call:
    """One call as the model saw it, with what it really cost; ``served`` unless it failed or was given up."""

    kind: str
    messages: tuple[str, ...]
    manner: str
    reply: Reply
    read: int
    written: int
    served: bool


class Player(ScriptedChat):
    """A LangChain chat model that replies as its world says, and keeps account."""

    world: World
    script: list[Any] = Field(default_factory=list)
    made: list[Call] = Field(default_factory=list)
    _turns: Counter[str] = PrivateAttr(default_factory=Counter)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        said = tuple(message.text for message in messages)
        kind, _ = recognise([{"content": text} for text in said])
        replies = self.world.replies[kind]
        reply = replies[self._turns[kind] % len(replies)]
        self._turns[kind] += 1
        manner = "schema" if "response_format" in kwargs else "logprobs" if "logprobs" in kwargs else "text"
        refused = reply.failure == "refused" or (manner == "logprobs" and self.world.logprobs == "refused")
        content = content_of(reply, manner == "schema")
        read = sum(len(text.encode()) // self.world.bytes_a_token + 1 for text in said)
        written = min(kwargs["max_tokens"], len(content.encode("utf-8", "replace")))
        index = len(self.made)
        self.made.append(Call(kind, said, manner, reply, read, 0, served=False))
        await asyncio.sleep(0)
        if reply.seconds:
            CLOCK.ahead += reply.seconds
            await asyncio.sleep(0)  # a time-out that has come strikes here
            await asyncio.sleep(0)
        if refused or reply.failure:
            raise StatusError(STATUS["refused" if refused else str(reply.failure)])
        self.made[index] = replace(self.made[index], written=written, served=True)
        message = AIMessage(content)
        if manner == "logprobs" and self.world.logprobs == "served" and (top := logarithms(reply)):
            message.response_metadata = {"logprobs": {"content": [{"token": content, "top_logprobs": top}]}}
        if reply.reported:
            message.usage_metadata = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
        return ChatResult(generations=[ChatGeneration(message=message)])


@dataclass
class Finder:
    """A retriever that finds what its world says, and fails where that is None."""

    world: World
    queries: list[str] = field(default_factory=list)

    async def ainvoke(self, input: str, *, k: int) -> Sequence[Document]:  # noqa: A002
        found = self.world.found[len(self.queries) % len(self.world.found)]
        self.queries.append(input)
        await asyncio.sleep(0)
        if found is None:
            raise ModelError("The embedding model failed.")
        return found


@dataclass
class Played:
    """What came of a run: the final state, each node's update in order, and what was asked of whom."""

    world: World
    final: SelfRAGState
    updates: list[tuple[str, dict[str, Any]]]
    calls: list[Call]
    searches: list[str]


@dataclass
class Stage:
    """A graph bound to a world, ready to be run one way or another."""

    world: World
    model: Player
    finder: Finder
    graph: SelfRAGGraph

    @property
    def how(self) -> dict[str, Any]:
        limits, conversation = self.world.context.effective_limits, list(self.world.conversation)
        follows = {"conversation": conversation, "given_standalone": self.world.given} if conversation else {}
        return {
            "input": {"question": self.world.question, **follows},
            "config": {"recursion_limit": limits.steps},
            "context": self.world.context,
        }

    def played(self, chunks: Sequence[Any]) -> Played:
        updates = [(node, update) for mode, chunk in chunks if mode == "updates" for node, update in chunk.items()]
        final = next(chunk for mode, chunk in reversed(chunks) if mode == "values")
        return Played(self.world, cast("SelfRAGState", final), updates, self.model.made, self.finder.queries)

    def sync(self) -> Played:
        return self.played(list(self.graph.stream(**self.how, stream_mode=["updates", "values"])))

    async def asynchronous(self) -> Played:
        return self.played([one async for one in self.graph.astream(**self.how, stream_mode=["updates", "values"])])


def stage(world: World) -> Stage:
    """The graph over the world's model and retriever, at the beginning of time."""
    CLOCK.ahead = 0.0
    model, finder = Player(world=world), Finder(world)
    chat = Chat(lambda: model, "player", retries=world.retries, call_seconds=120)
    services = Services(generator=Generator(chat), critic=Critic(chat), retriever=finder)
    return Stage(world, model, finder, build_graph(services))
