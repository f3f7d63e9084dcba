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
from tests.integration.openai_server import Asked, Fault, Inputs, OpenAIServer, Policy, status
from tests.scripted import ScriptedRetriever

UNANSWERED = "Why does the landlord paint the garden fence?"
QUESTION = "Why does the tenant pay the monthly rent?"
RENT = "The tenant pays the monthly rent in advance."
KEYS = "The tenant gets two keys for the rent."
SALT = "Salt lowers the melting point of ice."
WRITING = ("draft", "mend", "improve")
# What there is of drafts is checked as any other, however odd.
ODD_TEXTS = frozenset(name for name, case in CASES.items() if case.written not in (None, "The answer is 4."))

# Figures that the client library cannot add up when they come at the end of a stream.
UNSTREAMED = frozenset({"usage in words", "usage fractional"})


async def ask(
    server: OpenAIServer,
    name: str,
    question: str = QUESTION,
    retriever: ScriptedRetriever | None = None,
    rewrites: int = 1,
    **settings: Any,
) -> SelfRAGState:
    """The final state of a question to a server with this fault, with what must hold looked at."""
    generator, critic = (
        openai_chat("gpt-4o-mini", base_url=server.base_url, api_key="right", call_seconds=seconds)
        for seconds in (seconds_for(name), PATIENT)
    )
    retriever = retriever or ScriptedRetriever(always=[RENT, SALT])
    graph = build_graph(Services(Generator(generator), Critic(critic), retriever))
    limits = Limits(rewrites=rewrites, drafts=2, seconds=60)
    start, context = cast("SelfRAGState", {"question": question}), Context(limits=limits, **settings)
    final: Any = None
    async with asyncio.timeout(90):
        async for mode, part in graph.astream(start, context=context, stream_mode=["messages", "values"]):
            final = part if mode == "values" else final
    for chat in (generator, critic):
        await chat.aclose()
    found = violations(final, question, context)
    assert not found, found
    assert len(server.asked) <= final["usage"]["model_calls"] <= limits.model_calls
    return cast("SelfRAGState", final)


class Denies(Policy):
    """Finds no support for one claim."""

    def __init__(self, claim: str) -> None:
        self.claim = claim

    def label(self, kind: str, inputs: Inputs) -> str:
        denied = kind == "support" and inputs["claim"] == self.claim
        return "no support" if denied else super().label(kind, inputs)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
async def test_a_generator_that_fails_ends_by_name(server: OpenAIServer, name: str) -> None:
    server.always = lambda asked: FAULTS[name] if asked.kind in WRITING else None
    final = await ask(server, name)
    ended = (final["outcome"], final["stop_reason"])
    if CASES[name].written == "The answer is 4." and name not in UNSTREAMED:
        assert ended == ("grounded", "accepted")
    elif name in ODD_TEXTS:
        assert ended == ("abstained", "claims_unsupported")
    else:
        assert ended == ("stopped", "model_failed")
        assert final["stops"][0]["failure"]


@pytest.mark.parametrize(
    ("kind", "about", "question", "fault", "ended"),
    [
        ("relevance", "", QUESTION, "503", ("stopped", "model_failed")),
        ("relevance", "", UNANSWERED, "503", ("stopped", "model_failed")),
        ("relevance", RENT, QUESTION, "503", ("stopped", "model_failed")),
        ("support", "", QUESTION, "503", ("stopped", "model_failed")),
        ("support", "", QUESTION, "a megabyte", ("stopped", "model_failed")),
        ("support", "", QUESTION, "empty content", ("abstained", "claims_unsupported")),
        ("relevance", SALT, QUESTION, "503", ("grounded", "accepted")),
        ("usefulness", "", QUESTION, "503", ("grounded", "accepted")),
        ("retrieve", "", UNANSWERED, "503", ("abstained", "nothing_relevant")),
        ("relevance", "", QUESTION, "another word", ("abstained", "nothing_relevant")),
        ("support", "", QUESTION, "another word", ("abstained", "claims_unsupported")),
    ],
)
async def test_a_critic_that_fails_gives_no_honest_no(
    server: OpenAIServer, kind: str, about: str, question: str, fault: str, ended: tuple[str, str]
) -> None:
    """One that fails on a passage that might have answered; a reply that is no label is as good as a no."""

    def broken(asked: Asked) -> Fault | None:
        return FAULTS[fault] if asked.kind == kind and about in str(asked.inputs) else None

    server.always = broken
    final = await ask(server, fault, question)
    assert (final["outcome"], final["stop_reason"]) == ended
    if final["outcome"] == "stopped":
        assert final["stops"][0]["failure"]
        assert final["answer"].startswith("No answer to")


async def test_a_critic_that_is_sent_too_much_gives_no_honest_no(server: OpenAIServer) -> None:
    server.always = lambda asked: status(400, "context too long") if asked.kind == "support" else None
    final = await ask(server, "400")
    assert (final["outcome"], final["stop_reason"]) == ("stopped", "model_failed")
    assert "context too long" in str(final["stops"][0]["failure"])


@pytest.mark.parametrize(("about", "ended"), [(RENT, ("stopped", "model_failed")), (KEYS, ("grounded", "accepted"))])
async def test_a_draft_of_several_that_fails_may_be_the_answer(
    server: OpenAIServer, about: str, ended: tuple[str, str]
) -> None:
    """The other one does not hold."""
    server.always = lambda asked: FAULTS["503"] if asked.kind == "draft" and about in asked.inputs["passages"] else None
    server.policy = Denies(KEYS)
    found = ScriptedRetriever(always=[RENT, KEYS])
    final = await ask(server, "503", QUESTION, found, rewrites=0, strategy="per-passage")
    assert (final["outcome"], final["stop_reason"]) == ended


@pytest.mark.parametrize(
    ("failures", "question", "ended"),
    [
        (3, QUESTION, ("grounded", "accepted")),
        (3, UNANSWERED, ("abstained", "nothing_relevant")),
        (1000, QUESTION, ("stopped", "model_failed")),
    ],
)
async def test_a_grade_that_failed_is_asked_for_again_in_the_next_search(
    server: OpenAIServer, failures: int, question: str, ended: tuple[str, str]
) -> None:
    """Three attempts are one failure; the second search does not find the passage again."""

    def broken(asked: Asked) -> Fault | None:
        graded = [one for one in server.asked if one.kind == "relevance" and one.inputs["passage"] == RENT]
        return FAULTS["503"] if asked in graded and len(graded) <= failures else None

    server.always = broken
    found = ScriptedRetriever({question: [RENT], "other words 0": [SALT]})
    final = await ask(server, "503", question, found)
    assert (final["outcome"], final["stop_reason"]) == ended


async def test_no_answer_without_documents_takes_the_place_of_what_the_critic_could_not_judge(
    server: OpenAIServer,
) -> None:
    server.always = lambda asked: FAULTS["503"] if asked.kind == "relevance" else None
    final = await ask(server, "503", fallback="direct")
    assert (final["outcome"], final["stop_reason"]) == ("stopped", "model_failed")
    assert "direct" not in server.kinds()
