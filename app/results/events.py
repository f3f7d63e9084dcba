"""The events of a run: what `SelfRAG.stream` yields."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Self

from langchain_core.messages import BaseMessage
from langgraph.types import StateSnapshot

from app.results.result import Result
from core.types import Step
from models.generator import ANSWER_TAG
from run.state import SelfRAGState


@dataclass(frozen=True)
class NodeStarted:
    """A node of the graph begins."""

    node: str


@dataclass(frozen=True)
class NodeFinished:
    """A node of the graph has ended; ``decided`` is what it decided, as in the result's ``path``."""

    node: str
    seconds: float
    decided: dict[str, Any]


@dataclass(frozen=True)
class DraftToken:
    """A part of a draft, which is not checked yet."""

    text: str


@dataclass(frozen=True)
class Finished:
    """The result, and the graph's final state; the last event."""

    result: Result
    state: SelfRAGState


Event = NodeStarted | NodeFinished | DraftToken | Finished


@dataclass
class ResumedNodes:
    """The steps that ended before a run was interrupted, and the nodes that ended in the interrupted superstep."""

    steps: Sequence[Step] = ()
    beside_unfinished: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, snapshot: StateSnapshot) -> Self:
        """Read a checkpoint with the writes that followed it."""
        return cls(snapshot.values.get("path", ()), [task.name for task in snapshot.tasks if task.result is not None])

    def events(self) -> Iterator[NodeStarted | NodeFinished]:
        """Yield the events of the steps again."""
        for step in self.steps:
            yield NodeStarted(step["node"])
            yield finished_node(step)

    def take_finished(self, node: str) -> bool:
        """Return True once for each task of ``node`` that ended in the interrupted superstep: its start is repeated."""
        if node not in self.beside_unfinished:
            return False
        self.beside_unfinished.remove(node)
        return True


async def finished(events: AsyncGenerator[Event, None]) -> Finished:
    """Read a run's events to the end, and return the last."""
    async with aclosing(events) as told:
        (end,) = [event async for event in told if isinstance(event, Finished)]
    return end


def finished_node(step: Step) -> NodeFinished:
    return NodeFinished(step["node"], step["seconds"], step["decided"])


def draft_text(message: BaseMessage, metadata: dict[str, Any]) -> str:
    """Return the text of a streamed message if it is part of a draft, else ""."""
    return message.text if ANSWER_TAG in (metadata.get("tags") or ()) else ""
