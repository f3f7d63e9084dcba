"""A small world for the graph: one question, what is found for it, and the ways a critic may judge it."""

from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig

from core.errors import ModelError
from graph.builder import build_graph
from retrieval.filters import Filter
from run.context import Context, Limits
from run.state import SelfRAGState
from tests.integration.graph.invariants import violations
from tests.scripted import ScriptedCritic, ScriptedGenerator, ScriptedRetriever, document, services

QUESTION = "Why is the sky blue?"
AIR = "Air scatters blue light more than red light."
SEA = "The sea looks blue because of the sky."
SALT = "Salt lowers the melting point of ice."
GOOD = "Air scatters blue light."
BAD = "Blue light is scattered by red air."
BROKEN = ModelError("The model is broken.")


def critic(script: dict[str, Any] | None = None, **otherwise: Any) -> ScriptedCritic:
    """Retrieves, finds ``AIR`` relevant and answers useful, unless told otherwise."""
    usual: dict[str, Any] = {
        "retrieve": "retrieve",
        "relevance": lambda text: "relevant" if text == AIR else "irrelevant",
    }
    return ScriptedCritic(script or {}, {**usual, "support": "fully supported", "usefulness": "5", **otherwise})


class Fresh(ScriptedRetriever):
    """Finds another copy of ``AIR`` for each query, so that no draft's passages are those of an earlier one."""

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        self.queries.append(input)
        return [Document(AIR, id=f"{AIR} {input}", metadata={"source": "notes.txt"}), document(SALT)]


class Died(BaseException):
    """What stands for the death of the process: no node expects it."""


@dataclass
class Filtering(ScriptedRetriever):
    """A retriever that knows filters; ``within`` keeps that of each search."""

    within: list[Filter | None] = field(default_factory=list)

    async def ainvoke(self, input: str, *, k: int, filter: Filter | None = None) -> list[Document]:  # noqa: A002
        self.within.append(filter)
        return await super().ainvoke(input, k=k)


def writes_on() -> ScriptedGenerator:
    """Writes something else each time."""
    return ScriptedGenerator(
        forever=lambda name, turn: f"query {turn}" if name == "query" else f"Air scatters light {'more ' * turn}{name}."
    )


def asking(question: str = QUESTION) -> Any:
    return {"question": question}


async def ask(
    generator: ScriptedGenerator,
    judge: ScriptedCritic | None = None,
    retriever: Any = None,
    *,
    limits: Limits | None = None,
    question: str = QUESTION,
    **settings: Any,
) -> SelfRAGState:
    """The final state of a question, with what must hold of every run already looked at."""
    limits = limits or Limits()
    made = services(generator, judge or critic(), retriever or ScriptedRetriever(always=[AIR, SALT]), limits=limits)
    graph = build_graph(made)
    context = Context(**settings) if settings else None
    final = cast("SelfRAGState", await graph.ainvoke(asking(question), context=context))
    look_at(final, limits, question, **settings)
    return final


def look_at(final: SelfRAGState, limits: Limits, question: str, **settings: Any) -> None:
    found = violations(final, question, Context(**{"limits": limits, **settings}))
    assert not found, found


def nodes_of(final: SelfRAGState) -> list[str]:
    return [step["node"] for step in final["path"]]


def thread(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}, "recursion_limit": 100}
