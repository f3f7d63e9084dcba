"""No run crosses a limit, whatever the critic says, and none claims more than its verdicts."""

from __future__ import annotations

import asyncio
import random
import time

import pytest
from langchain_core.documents import Document

from run.context import Limits
from tests.integration.graph.sky import AIR, BAD, GOOD, QUESTION, SALT, SEA, Fresh, ask, critic
from tests.scripted import CALL_TOKENS, ScriptedCritic, ScriptedGenerator, ScriptedRetriever, verdict

LABELS = {
    "retrieve": ("retrieve", "direct", "unknown"),
    "relevance": ("relevant", "irrelevant", "unknown"),
    "support": ("fully supported", "partially supported", "no support", "unknown"),
    "usefulness": ("1", "2", "3", "4", "5", "unknown"),
}


def writes_on() -> ScriptedGenerator:
    return ScriptedGenerator(
        forever=lambda name, turn: f"query {turn}" if name == "query" else f"Air scatters light {'more ' * turn}{name}."
    )


@pytest.mark.parametrize("calls", range(1, 14))
async def test_never_more_calls_than_the_limit_and_the_outcome_is_what_was_reached(calls: int) -> None:
    final = await ask(writes_on(), critic(support="partially supported"), Fresh(), limits=Limits(model_calls=calls))
    assert final["usage"]["model_calls"] <= calls
    assert final["stop_reason"] == "limit_calls"
    # decide, one grade, the draft, its claim: with fewer no answer can be reached, and none is begun.
    assert final["outcome"] == ("stopped" if calls < 4 else "partially_grounded")


@pytest.mark.parametrize("calls", range(4))
async def test_calls_that_can_lead_to_no_answer_are_not_made(calls: int) -> None:
    final = await ask(writes_on(), limits=Limits(model_calls=max(1, calls)))
    assert final["usage"]["model_calls"] == (1 if calls > 1 else 0)


async def test_the_checks_of_a_draft_are_never_what_the_limit_leaves_out() -> None:
    for calls in range(4, 30):
        final = await ask(writes_on(), critic(support="partially supported"), Fresh(), limits=Limits(model_calls=calls))
        assert final["best"] is not None
        assert [claim["verdict"]["label"] for claim in final["best"]["claims"]] == ["partially supported"], calls


async def test_the_limit_on_tokens() -> None:
    for calls in range(1, 12):
        limits = Limits(tokens=calls * CALL_TOKENS + CALL_TOKENS // 2)
        final = await ask(writes_on(), critic(support="no support"), Fresh(), limits=limits)
        assert final["stop_reason"] == "limit_tokens"
        assert calls - 2 <= final["usage"]["model_calls"] <= calls


async def test_the_limit_on_seconds() -> None:
    async def slow(kind: str) -> None:
        await asyncio.sleep(0.3 if kind == "draft" else 0)

    generator = ScriptedGenerator(drafts=[GOOD], wait=slow)
    final = await ask(generator, critic(), limits=Limits(seconds=0.2))
    assert (final["outcome"], final["stop_reason"]) == ("abstained", "limit_seconds")
    assert final["seconds"] >= 0.2


async def test_a_search_that_does_not_end_is_ended() -> None:
    class Stuck(ScriptedRetriever):
        async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
            await asyncio.sleep(3600)
            raise AssertionError("unreachable")

    async with asyncio.timeout(10):
        final = await ask(ScriptedGenerator(), critic(), Stuck(), limits=Limits(seconds=0.1))
    assert (final["outcome"], final["stop_reason"]) == ("stopped", "limit_seconds")


async def test_a_search_that_gives_up_by_itself_is_an_error_of_its_own() -> None:
    class Late(ScriptedRetriever):
        async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
            raise TimeoutError("the embedding model did not answer")

    with pytest.raises(TimeoutError, match="embedding model"):
        await ask(ScriptedGenerator(), critic(), Late())


async def test_a_limit_of_exactly_what_is_needed_is_not_reached() -> None:
    final = await ask(ScriptedGenerator(drafts=[GOOD]), critic(), limits=Limits(model_calls=6, tokens=6 * CALL_TOKENS))
    assert (final["outcome"], final["stop_reason"]) == ("grounded", "accepted")


TEXTS = (GOOD, BAD, f"{GOOD} {BAD}", "I don't know.", "Bees make 12 pots of honey.", SEA, f"{SEA} {AIR}")


@pytest.mark.parametrize("seed", range(300))
async def test_whatever_the_critic_says_it_ends_and_claims_no_more(seed: int) -> None:
    """What must hold of every run is looked at in `ask`."""
    dice = random.Random(seed)

    def judge(kind: str) -> object:
        label = dice.choice(LABELS[kind])
        if label == "unknown" or dice.random() < 0.5:
            return label
        labels = [one for one in LABELS[kind] if one != "unknown"]
        rest = 0.4 / (len(labels) - 1)
        return verdict(label, {one: 0.6 if one == label else rest for one in labels})

    otherwise = {kind: (lambda subject, kind=kind: judge(kind)) for kind in LABELS}
    limits = Limits(
        rewrites=dice.randrange(4),
        drafts=dice.randrange(1, 4),
        model_calls=dice.choice((3, 7, 12, 25, 200)),
        tokens=dice.choice((45, 130, 60_000)),
    )
    generator = ScriptedGenerator(
        forever=lambda name, turn: dice.choice(("blue", "sea", "air")) if name == "query" else dice.choice(TEXTS)
    )
    retriever = ScriptedRetriever(always=dice.sample([AIR, SALT, SEA], dice.randrange(4)))
    final = await ask(
        generator,
        ScriptedCritic(otherwise=otherwise),  # type: ignore[arg-type]
        retriever,
        limits=limits,
        mode=dice.choice(("adaptive", "always", "never")),
        strategy=dice.choice(("combined", "per-passage")),
        fallback=dice.choice(("abstain", "direct")),
        explain=dice.random() < 0.3,
    )
    assert final["path"][-1]["node"] == "finish"


async def test_the_seconds_are_those_of_the_question() -> None:
    began = time.time()
    final = await ask(ScriptedGenerator(drafts=[GOOD]))
    assert 0 <= final["seconds"] <= time.time() - began
    assert final["question"] == QUESTION
