"""The graph of messages that chat front ends speak to."""

import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from app import studio
from core.errors import RequestError
from run.context import Context
from tests.integration.graph.sky import GOOD, QUESTION
from tests.integration.server.scripted_server import Models

ROOT = Path(__file__).resolve().parents[3]


async def test_the_last_message_is_answered_with_its_evidence() -> None:
    graph = studio.chat_over(Models().rag())
    given: list[AnyMessage] = [SystemMessage("Be brief."), HumanMessage(QUESTION)]
    ended = await graph.ainvoke({"messages": given}, context=Context())
    reply = ended["messages"][-1]
    assert isinstance(reply, AIMessage)
    assert reply.text == f"{GOOD} [1]"
    told = reply.additional_kwargs["self_rag"]
    assert (told["outcome"], len(told["citations"])) == ("grounded", 1)
    assert json.dumps(told)


async def test_messages_before_the_last_are_the_conversation() -> None:
    models = Models()
    graph = studio.chat_over(models.rag())
    given: list[AnyMessage] = [HumanMessage(QUESTION), AIMessage(GOOD), HumanMessage("and why?")]
    ended = await graph.ainvoke({"messages": given}, context=Context())
    told = ended["messages"][-1].additional_kwargs["self_rag"]
    assert told["standalone"] == f"{QUESTION} and why?"


async def test_without_a_question_it_says_so() -> None:
    with pytest.raises(RequestError, match="No message of the user has a text"):
        await studio.chat_over(Models().rag()).ainvoke({"messages": [SystemMessage("Be brief.")]}, context=Context())


def test_the_file_for_langgraph_names_what_is_there() -> None:
    named = json.loads((ROOT / "langgraph.json").read_text())["graphs"].values()
    for path, _, name in (one.partition(":") for one in named):
        assert (ROOT / path).samefile(studio.__file__)
        assert callable(getattr(studio, name))
