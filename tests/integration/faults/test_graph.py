"""Whole questions over a server that goes wrong: caution where the critic fails, a named end for the generator."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from graph.builder import build_graph
from graph.context import Context, Limits, Services
from graph.state import SelfRAGState
from models.connect import openai_chat
from models.critic import Critic
from models.generator import Generator
from tests.integration.faults.test_replies import CASES, PATIENT, seconds_for
from tests.integration.graph.invariants import violations
from tests.integration.misbehaviour import FAULTS
from tests.integration.openai_server import CHOICES, OpenAIServer
from tests.scripted import ScriptedRetriever

QUESTION = "Why does the tenant pay the monthly rent?"
RENT = "The tenant pays the monthly rent in advance."
SALT = "Salt lowers the melting point of ice."
WRITING = ("draft", "mend", "improve")
# What there is of drafts is checked as any other, however odd.
ODD_TEXTS = frozenset(name for name, case in CASES.items() if case.written not in (None, "The answer is 4."))

# Figures that the client library cannot add up when they come at the end of a stream.
UNSTREAMED = frozenset({"usage in words", "usage fractional"})


async def ask(server: OpenAIServer, name: str, kinds: frozenset[str], *, streamed: bool = False) -> SelfRAGState:
    """The final state of a question of whose calls those of ``kinds`` go wrong, with what must hold looked at."""
    server.always = lambda asked: FAULTS[name] if asked.kind in kinds else None
    generator, critic = (
        openai_chat(
            "gpt-4o-mini",
            base_url=server.base_url,
            api_key="right",
            call_seconds=seconds_for(name) if kinds & faulty else PATIENT,
        )
        for faulty in (frozenset(WRITING), frozenset(CHOICES))
    )
    graph = build_graph(Services(Generator(generator), Critic(critic), ScriptedRetriever(always=[RENT, SALT])))
    limits = Limits(rewrites=1, drafts=2, seconds=60)
    start, context = cast("SelfRAGState", {"question": QUESTION}), Context(limits=limits)
    final: Any = None
    async with asyncio.timeout(90):
        if streamed:
            async for mode, part in graph.astream(start, context=context, stream_mode=["messages", "values"]):
                final = part if mode == "values" else final
        else:
            final = await graph.ainvoke(start, context=context)
    for chat in (generator, critic):
        await chat.aclose()
    found = violations(final, QUESTION, context)
    assert not found, found
    assert len(server.asked) <= final["usage"]["model_calls"] <= limits.model_calls
    return cast("SelfRAGState", final)


@pytest.mark.parametrize("name", CASES)
async def test_a_critic_that_fails_leads_to_caution(server: OpenAIServer, name: str) -> None:
    final = await ask(server, name, frozenset(CHOICES))
    if CASES[name].label == "relevant":
        assert (final["outcome"], final["stop_reason"]) == ("grounded", "accepted")
        return
    assert final["route"] == "retrieve"
    assert (final["outcome"], final["stop_reason"]) == ("abstained", "nothing_relevant")
    assert {verdict["label"] for verdict in final["verdicts"].values()} == {CASES[name].label}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
async def test_a_generator_that_fails_ends_by_name(server: OpenAIServer, name: str, streamed: bool) -> None:
    final = await ask(server, name, frozenset(WRITING), streamed=streamed)
    ended = (final["outcome"], final["stop_reason"])
    if CASES[name].written == "The answer is 4." and not (streamed and name in UNSTREAMED):
        assert ended == ("grounded", "accepted")
    elif name in ODD_TEXTS:
        assert ended == ("abstained", "claims_unsupported")
    else:
        assert ended == ("stopped", "model_failed")
        assert final["stops"][0]["failure"]


@pytest.mark.parametrize("name", ["500", "hangs", "empty content", "refusal", "wrong label", "a megabyte"])
@pytest.mark.parametrize(
    ("kind", "outcome", "reason"),
    [
        ("retrieve", "grounded", "accepted"),
        ("relevance", "abstained", "nothing_relevant"),
        ("support", "abstained", "claims_unsupported"),
        ("usefulness", "grounded", "accepted"),
    ],
)
async def test_one_verdict_that_fails(server: OpenAIServer, name: str, kind: str, outcome: str, reason: str) -> None:
    final = await ask(server, name, frozenset([kind]))
    assert (final["outcome"], final["stop_reason"]) == (outcome, reason)
    best = final["best"]
    if kind == "support":
        assert best is not None
        assert {claim["verdict"]["label"] for claim in best["claims"]} == {"unknown"}
    if kind == "usefulness":
        assert best is not None
        assert best["use"] is not None
        assert best["use"]["label"] == "unknown"
