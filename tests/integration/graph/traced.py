"""A program that runs one graph in every way there is: ``python -m tests.integration.graph.traced WAY [traced]``."""

import asyncio
import os
import sys
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tracers.context import tracing_v2_enabled
from langchain_core.tracers.langchain import wait_for_all_tracers
from langgraph.checkpoint.memory import InMemorySaver
from langsmith import traceable
from langsmith.run_trees import get_cached_client

from evaluation.records import Example
from evaluation.systems import plain
from graph.builder import build_graph
from models.chat import Chat
from run.context import Context
from tests.integration.graph.sky import AIR, GOOD, QUESTION, SALT, critic, thread
from tests.scripted import ScriptedChat, ScriptedGenerator, document, roomy_budget, services


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [document(AIR), document(SALT)]

    async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return self._get_relevant_documents(query)


ASKING: Any = {"question": QUESTION}
shelf: Any = Shelf()
made = services(ScriptedGenerator(drafts=[GOOD] * 99), critic(), shelf)
graph = build_graph(made, InMemorySaver(), **({"tracing": True} if "traced" in sys.argv else {}))


async def alone() -> None:
    """Ask a model as a generator or a critic does that is used without a graph."""
    chat = Chat(lambda: ScriptedChat(script=["Yes."]), "scripted")
    await chat.ask([HumanMessage(AIR)], roomy_budget(), max_tokens=9)


async def compared() -> None:
    await plain(made, Context()).ask(Example(id="1", question=QUESTION))


async def asynchronously() -> None:
    await graph.ainvoke(ASKING, thread("a"))
    await graph.abatch([ASKING], [thread("b")])
    async for _ in graph.astream(ASKING, thread("c")):
        pass
    async for _ in graph.astream_events(ASKING, thread("d")):
        pass
    await graph.aupdate_state(thread("a"), {"answer": AIR}, as_node="finish")


def synchronously() -> None:
    graph.invoke(ASKING, thread("e"))
    graph.batch([ASKING], [thread("f")])
    list(graph.stream(ASKING, thread("g")))
    graph.update_state(thread("e"), {"answer": AIR}, as_node="finish")


def inside() -> None:
    """Within what the program around it traces by itself."""

    def nested(_: Any, config: RunnableConfig) -> str:
        graph.invoke(ASKING, thread("h"))
        graph.invoke(ASKING, {**config, **thread("i")})
        graph.update_state({**config, **thread("h")}, {"answer": AIR}, as_node="finish")
        return "outer trace"

    async def anested(_: Any, config: RunnableConfig) -> str:
        await graph.ainvoke(ASKING, thread("j"))
        await graph.ainvoke(ASKING, {**config, **thread("k")})
        await alone()
        return "outer trace"

    RunnableLambda(nested).invoke("outer trace")
    asyncio.run(RunnableLambda(anested).ainvoke("outer trace"))  # type: ignore[arg-type]
    traceable(lambda _: nested(None, {}))("outer trace")
    with tracing_v2_enabled():
        nested(None, {})
    RunnableLambda(lambda _: None).invoke("outer trace")  # and it goes on after that


if __name__ == "__main__":
    if "LANGSMITH_ENDPOINT" not in os.environ:
        sys.exit("set LANGSMITH_ENDPOINT to a server of this machine")
    ways: dict[str, Any] = {
        "compared": lambda: asyncio.run(compared()),
        "alone": lambda: asyncio.run(alone()),
        "asynchronously": lambda: asyncio.run(asynchronously()),
        "synchronously": synchronously,
        "inside": inside,
    }
    for way in sys.argv[1].split(","):
        ways[way]()
    wait_for_all_tracers()
    get_cached_client().flush()
