"""The graphs that `langgraph dev` serves: Self-RAG itself, and a chat in front of it that speaks in messages."""

import asyncio
from functools import cache
from threading import Lock
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from app.front_door import SelfRAG
from app.results.events import finished
from app.server.messages import Message, conversation_before, question_of
from app.terminal.show import numbered_answer
from graph.compiled import SelfRAGGraph
from run.context import Context

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_opening = Lock()
TOLD = {"outcome", "stop_reason", "standalone", "claims", "citations", "conflicts"}


async def self_rag() -> SelfRAGGraph:
    """Return the graph over the user's library; a run is configured by a `Context`."""
    return (await asyncio.to_thread(_rag)).graph


async def chat() -> CompiledStateGraph[MessagesState, Context, Any, Any]:
    """Return a graph of messages: it asks the user's last message, with the messages before as the conversation.

    The reply's ``additional_kwargs["self_rag"]`` has the outcome, the claims and the citations.
    """
    return chat_graph(await asyncio.to_thread(_rag))


def chat_graph(rag: SelfRAG) -> CompiledStateGraph[MessagesState, Context, Any, Any]:
    """Return `chat` over documents and models that are loaded."""

    async def answer(state: MessagesState, runtime: Runtime[Context]) -> dict[str, Any]:
        messages = [_to_message(message) for message in state["messages"]]
        question, conversation = question_of(messages), conversation_before(messages)
        end = await finished(rag.astream(question, runtime.context, tokens=False, conversation=conversation))
        told = end.result.model_dump(mode="json", include=TOLD)
        return {"messages": [AIMessage(numbered_answer(end.state), additional_kwargs={"self_rag": told})]}

    graph = StateGraph(MessagesState, context_schema=Context)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(name="self-rag-chat")


def _rag() -> SelfRAG:
    """Open the library and load the models, once for both graphs."""
    with _opening:
        return _open_rag()


@cache
def _open_rag() -> SelfRAG:
    return SelfRAG.open()


def _to_message(message: BaseMessage) -> Message:
    return Message.model_validate({"role": ROLES.get(message.type, "user"), "content": message.text})
