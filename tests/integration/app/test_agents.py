"""What an agent of LangChain takes of Self-RAG: the tool, the retriever, and the check of what it answers."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from app import Context, Limits, SelfRAG, Settings
from app.agents import CHECK
from app.checking.checked_text import CheckedText
from core.errors import ModelError, StoreUnavailable
from tests.integration.openai_server import OpenAIServer, status
from tests.scripted import ScriptedChat

RENT = "When does the tenant pay the monthly rent?"
ANSWER, DOGS = "The tenant pays the monthly rent in advance.", "Dogs are allowed in the garden."
WRONG = "The tenant pays the monthly rent in gold."
UNSUPPORTED = f"{WRONG} [not supported by the documents]"
CALL = {"name": "ask_documents", "args": {"question": RENT}, "id": "1", "type": "tool_call"}


class Agent(ScriptedChat):
    """An agent's model, which takes tools."""

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        return self


@pytest.fixture
async def rag(settings: Settings, docs: Path) -> AsyncIterator[SelfRAG]:
    async with SelfRAG.open(docs, settings=settings) as opened:
        yield opened
        opened.close()


async def answered(rag: SelfRAG, *script: Any, **settings: Any) -> list[BaseMessage]:
    """The messages of an agent that is asked for the rent."""
    agent = create_agent(Agent(script=list(script)), middleware=[rag.as_middleware(**settings)])
    return list((await agent.ainvoke({"messages": [HumanMessage(RENT)]}))["messages"])


async def test_an_agent_asks_and_gets_the_answer_with_its_quotes_and_the_result(rag: SelfRAG) -> None:
    agent = create_agent(Agent(script=[AIMessage("", tool_calls=[CALL]), ANSWER]), tools=[rag.as_tool()])
    told = (await agent.ainvoke({"messages": [HumanMessage(RENT)]}))["messages"][2]
    assert isinstance(told, ToolMessage)
    assert told.content == f"{ANSWER} [1]\n[1] lease.md · Lease: “{ANSWER}”"
    assert (told.artifact["outcome"], told.artifact["citations"][0]["quote"]) == ("grounded", ANSWER)


async def test_the_tool_is_also_called_without_an_event_loop(rag: SelfRAG) -> None:
    assert rag.as_tool("lease").invoke({"question": RENT}).startswith(f"{ANSWER} [1]")


async def test_the_retriever_finds_what_is_judged_relevant_and_says_how_sure(rag: SelfRAG) -> None:
    retriever = rag.as_retriever()
    (found,) = await retriever.ainvoke(RENT)
    assert ANSWER in found.page_content
    assert (Path(found.metadata["source"]).name, round(found.metadata["relevance"], 2)) == ("lease.md", 0.9)
    assert retriever.invoke("Which salt melts?") == []


async def test_the_retriever_finds_the_rows_of_a_table_that_carry_what_is_asked(settings: Settings, docs: Path) -> None:
    (docs / "rents.csv").write_text("plot,euros\n" + "".join(f"Plot {n},{100 + n}\n" for n in range(30)))
    most = "SELECT plot FROM data ORDER BY euros DESC LIMIT 1"
    question = "Which plot has the most euros?"
    critic = ScriptedChat(script=[json.dumps({"label": "fits"})] * 3)
    model = ScriptedChat(script=[most])
    async with SelfRAG.open(docs / "rents.csv", model=model, critic=critic, settings=settings) as rag:
        (found,) = await rag.as_retriever(Context(k=4)).ainvoke(question)
        rag.close()
    assert "Plot 29" in found.page_content


async def test_a_model_that_fails_is_no_reason_to_find_nothing(rag: SelfRAG, server: OpenAIServer, hasty: None) -> None:
    server.always = lambda asked: status(503, "later") if asked.kind == "relevance" else None
    with pytest.raises(ModelError, match="later"):
        await rag.as_retriever().ainvoke(RENT)
    with pytest.raises(ModelError, match="the limit on model calls"):
        await rag.as_retriever(Context(limits=Limits(model_calls=1))).ainvoke(RENT)
    server.always = lambda asked: status(503, "later") if asked.kind == "support" else None
    refused = await answered(rag, ANSWER, otherwise="refuse")
    assert "the model failed" in refused[-1].text


async def test_an_answer_that_holds_goes_out_as_it_is_and_its_quotes_are_in_the_state(rag: SelfRAG) -> None:
    agent = create_agent(Agent(script=[ANSWER]), middleware=[rag.as_middleware()])
    state: Any = await agent.ainvoke({"messages": [HumanMessage(RENT)]})
    assert [one.text for one in state["messages"]] == [RENT, ANSWER]
    assert CheckedText.model_validate(state["checked"]).citations[0]["quote"] == ANSWER


async def test_an_answer_that_does_not_hold_goes_back_with_what_fails_named(rag: SelfRAG) -> None:
    _, first, back, last = await answered(rag, f"{WRONG} {DOGS}", DOGS)
    assert (first.text, last.text) == (f"{WRONG} {DOGS}", DOGS)
    assert (back.name, f"\n- {WRONG}\n" in back.text, DOGS in back.text) == (CHECK, True, False)


async def test_what_still_does_not_hold_is_marked_or_refused(rag: SelfRAG) -> None:
    marked = await answered(rag, WRONG, WRONG)
    assert (len(marked), marked[-1].text) == (4, UNSUPPORTED)
    assert [one.text for one in await answered(rag, WRONG, redrafts=0)] == [RENT, UNSUPPORTED]
    refused = await answered(rag, WRONG, redrafts=0, otherwise="refuse")
    assert refused[-1].text.startswith(f"The documents do not answer “{RENT}”")
    assert WRONG not in "".join(one.text for one in refused)


async def test_each_question_of_a_conversation_has_its_own_redrafts(rag: SelfRAG) -> None:
    model = Agent(script=[WRONG, ANSWER, WRONG, ANSWER])
    agent = create_agent(model, middleware=[rag.as_middleware()], checkpointer=InMemorySaver())
    for _ in range(2):
        state = await agent.ainvoke({"messages": [HumanMessage(RENT)]}, {"configurable": {"thread_id": "1"}})
    assert [one.text for one in state["messages"]][-1] == ANSWER
    assert len(model.calls) == 4


async def test_a_message_that_calls_a_tool_or_says_nothing_is_not_checked(rag: SelfRAG) -> None:
    model = Agent(script=[AIMessage(WRONG, tool_calls=[CALL]), "…"])
    agent = create_agent(model, tools=[rag.as_tool()], middleware=[rag.as_middleware()])
    state = await agent.ainvoke({"messages": [HumanMessage(RENT)]})
    assert [one.text for one in state["messages"]][-1] == "…"


@pytest.mark.parametrize("error", [ModelError("The model is broken."), StoreUnavailable("It is away."), None])
async def test_a_check_that_fails_or_takes_too_long_supports_nothing(
    rag: SelfRAG, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    async def check(*_: Any, **__: Any) -> CheckedText:
        await asyncio.sleep(0 if error else 60)
        raise error or AssertionError

    monkeypatch.setattr(rag, "acheck", check)
    why = "the model failed" if error else "the limit on time was reached"
    settings: Any = {} if error else {"seconds": 0.01}
    assert (await answered(rag, ANSWER, **settings))[-1].text == f"{ANSWER} [not checked against the documents]"
    assert why in (await answered(rag, ANSWER, otherwise="refuse", **settings))[-1].text


async def test_the_graph_is_a_subgraph_with_the_context_of_the_documents(rag: SelfRAG) -> None:
    class State(TypedDict, total=False):
        question: str
        answer: str

    graph = StateGraph(State, context_schema=Context)
    graph.add_node("ask", rag.graph)
    graph.add_edge(START, "ask")
    assert await graph.compile().ainvoke({"question": RENT}, context=rag.context) == {
        "question": RENT,
        "answer": ANSWER,
    }
