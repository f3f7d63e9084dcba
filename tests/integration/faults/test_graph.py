"""Whole questions whose drafts are streamed from a server that goes wrong: each ends by name."""

import asyncio
from typing import Any, cast

import pytest

from graph.builder import build_graph
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator
from run.context import Context, Limits, Services
from run.state import SelfRAGState
from tests.integration.faults.test_replies import CASES, seconds_for
from tests.integration.graph.invariants import violations
from tests.integration.hasty import PATIENT
from tests.integration.misbehaviour import FAULTS
from tests.integration.openai_server import OpenAIServer
from tests.scripted import ScriptedRetriever

QUESTION = "Why does the tenant pay the monthly rent?"
RENT = "The tenant pays the monthly rent in advance."
SALT = "Salt lowers the melting point of ice."
WRITING = ("draft", "mend", "improve")
# What there is of drafts is checked as any other, however odd.
ODD_TEXTS = frozenset(name for name, case in CASES.items() if case.written not in (None, "The answer is 4."))

# Figures that the client library cannot add up when they come at the end of a stream.
UNSTREAMED = frozenset({"usage in words", "usage fractional"})


async def ask(server: OpenAIServer, name: str) -> SelfRAGState:
    """The final state of a question whose drafts go wrong while they are streamed, with what must hold looked at."""
    server.always = lambda asked: FAULTS[name] if asked.kind in WRITING else None
    generator, critic = (
        openai_chat("gpt-4o-mini", base_url=server.base_url, api_key="right", call_seconds=seconds)
        for seconds in (seconds_for(name), PATIENT)
    )
    graph = build_graph(Services(Generator(generator), Critic(critic), ScriptedRetriever(always=[RENT, SALT])))
    limits = Limits(rewrites=1, drafts=2, seconds=60)
    start, context = cast("SelfRAGState", {"question": QUESTION}), Context(limits=limits)
    final: Any = None
    async with asyncio.timeout(90):
        async for mode, part in graph.astream(start, context=context, stream_mode=["messages", "values"]):
            final = part if mode == "values" else final
    for chat in (generator, critic):
        await chat.aclose()
    found = violations(final, QUESTION, context)
    assert not found, found
    assert len(server.asked) <= final["usage"]["model_calls"] <= limits.model_calls
    return cast("SelfRAGState", final)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
async def test_a_generator_that_fails_ends_by_name(server: OpenAIServer, name: str) -> None:
    final = await ask(server, name)
    ended = (final["outcome"], final["stop_reason"])
    if CASES[name].written == "The answer is 4." and name not in UNSTREAMED:
        assert ended == ("grounded", "accepted")
    elif name in ODD_TEXTS:
        assert ended == ("abstained", "claims_unsupported")
    else:
        assert ended == ("stopped", "model_failed")
        assert final["stops"][0]["failure"]
