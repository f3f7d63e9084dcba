"""The graph of messages that chat front ends speak to."""

import json
from pathlib import Path

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from app import studio
from run.context import Context
from tests.integration.graph.sky import GOOD, QUESTION
from tests.integration.server.scripted_server import Models

ROOT = Path(__file__).resolve().parents[3]


async def asked(*messages: AnyMessage) -> AnyMessage:
    ended = await studio.chat_graph(Models().rag()).ainvoke({"messages": list(messages)}, context=Context())
    reply: AnyMessage = ended["messages"][-1]
    return reply


async def test_the_last_message_is_answered_with_its_evidence() -> None:
    reply = await asked(SystemMessage("Be brief."), HumanMessage(QUESTION))
    assert isinstance(reply, AIMessage)
    assert reply.text == f"{GOOD} [1]"
    told = reply.additional_kwargs["self_rag"]
    assert (told["outcome"], len(told["citations"])) == ("grounded", 1)
    assert json.dumps(told)


async def test_messages_before_the_last_are_the_conversation() -> None:
    reply = await asked(HumanMessage(QUESTION), AIMessage(GOOD), HumanMessage("and why?"))
    assert reply.additional_kwargs["self_rag"]["standalone"] == f"{QUESTION} and why?"


def test_the_file_for_langgraph_names_what_is_there() -> None:
    named = json.loads((ROOT / "langgraph.json").read_text())["graphs"].values()
    for path, _, name in (one.partition(":") for one in named):
        assert (ROOT / path).samefile(studio.__file__)
        assert callable(getattr(studio, name))
