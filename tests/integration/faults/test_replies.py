"""Each way in which a server goes wrong, and what the generator and the critic make of it: one table for all."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from core.errors import ModelError
from models.critic import Critic
from models.failures import TransientModelError
from models.usage import LimitReachedError
from prompts.grade_documents import RELEVANCE
from tests.integration.hasty import PATIENT, chat, write
from tests.integration.misbehaviour import FAULTS, Fault, retry_at
from tests.integration.openai_server import OpenAIServer
from tests.scripted import roomy_budget

SKY: dict[str, Any] = {
    "question": "Why is the sky blue today?",
    "passage": "The sky is blue today as air scatters light.",
}
ANSWER = "The answer is 4."


class Case(NamedTuple):
    """What the generator writes, or the error that it raises, after so many calls; and the critic's verdict."""

    written: str | None
    calls: int
    label: str
    asked: int
    error: str = ""
    estimated: bool = False


LATE = Case(None, 3, "unknown", 3, "did not answer in time", estimated=True)
FAILED = Case(None, 3, "unknown", 3, "failed: ", estimated=True)
GARBLED = Case(None, 3, "unknown", 3, "sent no valid chat completion", estimated=True)
HUNG_UP = Case(None, 3, "unknown", 3, "hung up", estimated=True)
ENDLESS = Case(None, 1, "unknown", 1, "longer than 2,000,000 bytes", estimated=True)
REFUSED_FOR_LONG = Case(None, 1, "unknown", 1, "slow down", estimated=True)
SILENT = Case(None, 1, "unknown", 2, "gave an empty answer")
SOUND = Case(ANSWER, 1, "relevant", 1)
UNCOUNTED = SOUND._replace(estimated=True)
BY_SCHEMA = Case(ANSWER, 1, "relevant", 2)
TOO_LONG = Case(None, 1, "unknown", 2, "characters where 20 tokens were asked for")


def says(text: str, label: str = "unknown") -> Case:
    return Case(text, 1, label, 2)


CASES: dict[str, Case] = {
    "429": FAILED,
    "429, back in 0.05 s": FAILED,
    "429, back in a year": REFUSED_FOR_LONG,
    "429, back in the year 9999": REFUSED_FOR_LONG,
    "500": FAILED,
    "502 with a page": FAILED,
    "503": FAILED,
    "408": FAILED,
    "hangs": LATE,
    "hangs up before": HUNG_UP,
    "hangs up in the middle": HUNG_UP,
    "stalls in the middle": LATE,
    "drips for ever": LATE,
    "pours for ever": ENDLESS,
    "says the same for ever": ENDLESS._replace(error="more than 40,000 parts"),
    "empty body": GARBLED,
    "truncated body": GARBLED,
    "malformed body": GARBLED,
    "body of another shape": GARBLED,
    "nested body": GARBLED,
    "200 with a page": GARBLED,
    "wrong content type": SOUND,
    "choices: []": GARBLED,
    "choices: null": GARBLED,
    "message: null": GARBLED,
    "empty content": SILENT,
    "null content": SILENT,
    "refusal": SILENT._replace(error="refused to answer .I cannot help with that"),
    "content filter": SILENT._replace(error="A content filter stopped the answer"),
    "another word": says("Paris"),
    "thought alone": SILENT,
    "thought before": says("no", "irrelevant"),
    "malformed verdict": says('{"label": yes}'),
    "truncated verdict": says('{"label": "ye'),
    "wrong label": says('{"label": "purple"}'),
    "half a character": says("Blue ?"),
    "no log-probabilities": BY_SCHEMA,
    "log-probabilities NaN": BY_SCHEMA,
    "log-probabilities positive": BY_SCHEMA,
    "log-probabilities odd": BY_SCHEMA,
    "log-probabilities all minus infinity": BY_SCHEMA,
    "log-probabilities no list": BY_SCHEMA,
    "usage negative": UNCOUNTED,
    "usage huge": UNCOUNTED,
    "usage of far more than was asked for": UNCOUNTED,
    "usage in words": UNCOUNTED,
    "usage fractional": UNCOUNTED,
    "usage null": UNCOUNTED,
    "usage of nulls": UNCOUNTED,
    "usage a list": GARBLED,
    "usage missing": UNCOUNTED,
    "more cached than read": SOUND,
    "a megabyte": TOO_LONG,
    "a megabyte of one word": TOO_LONG,
}
SLOW = {name for name, case in CASES.items() if case is LATE}


def seconds_for(name: str) -> float:
    """How long a call waits: a fault that says nothing is given up soon, all else has time on a busy machine."""
    return 0.3 if name in SLOW else PATIENT


def arrived(server: OpenAIServer, name: str, calls: int) -> bool:
    """Whether as many requests came as calls were made; of those that are given up soon some may not have."""
    return len(server.asked) == calls or (name in SLOW and len(server.asked) < calls)


def test_every_fault_has_its_case() -> None:
    assert CASES.keys() == FAULTS.keys()


@pytest.mark.parametrize("name", CASES)
async def test_the_generator_answers_or_fails_by_name(server: OpenAIServer, name: str) -> None:
    case, budget = CASES[name], roomy_budget()
    server.always = lambda asked: FAULTS[name]
    one = chat(server, seconds=seconds_for(name))
    async with asyncio.timeout(30):
        if case.written is not None:
            assert await write(one, budget) == case.written
        else:
            with pytest.raises(TransientModelError, match=case.error) as error:
                await write(one, budget)
            assert len(str(error.value)) < 400
    assert budget.spent["model_calls"] == case.calls
    assert arrived(server, name, case.calls)
    assert budget.spent["estimated"] is case.estimated
    assert 0 < budget.spent["input_tokens"] < 2000
    assert 0 <= budget.spent["cached_input_tokens"] <= budget.spent["input_tokens"]
    assert 0 <= budget.spent["output_tokens"] <= 20 * case.calls
    assert (budget.total.held_calls, budget.total.held_tokens) == (0, 0)


@pytest.mark.parametrize("name", CASES)
async def test_the_critic_judges_or_is_unknown_and_is_asked_the_same_way_then(server: OpenAIServer, name: str) -> None:
    case, budget = CASES[name], roomy_budget()
    server.always = lambda asked: FAULTS[name]
    one = chat(server, seconds=seconds_for(name))
    critic = Critic(one).with_budget(budget)
    async with asyncio.timeout(30):
        found = await critic.choose(RELEVANCE, **SKY)
    assert found["label"] == case.label
    assert budget.spent["model_calls"] == case.asked
    assert arrived(server, name, case.asked)
    if case.label == "unknown":
        assert found["reason"]
        assert critic.format_selection.current == "logprobs"  # one failure proves nothing
        server.always, one.call_seconds = lambda asked: None, PATIENT
        assert (await critic.choose(RELEVANCE, **SKY))["probabilities"]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.calls == 3])
async def test_what_may_pass_is_asked_again(server: OpenAIServer, name: str) -> None:
    one, budget = chat(server, seconds=seconds_for(name)), roomy_budget()
    server.always = lambda asked: FAULTS[name] if budget.spent["model_calls"] < 2 else None
    async with asyncio.timeout(60):
        written = asyncio.ensure_future(write(one, budget))
        while budget.spent["model_calls"] < 2:  # noqa: ASYNC110 - a budget tells nobody
            await asyncio.sleep(0.01)
        one.call_seconds = PATIENT  # the third attempt waits longer than this looks away
        assert await written == ANSWER
    assert budget.spent["model_calls"] == 3
    assert arrived(server, name, 3)


async def test_a_critic_whose_server_gives_no_probabilities_any_more_is_asked_otherwise(server: OpenAIServer) -> None:
    critic = Critic(chat(server)).with_budget(roomy_budget())
    assert (await critic.choose(RELEVANCE, **SKY))["probabilities"]
    server.logprobs = "ignore"
    labels = [(await critic.choose(RELEVANCE, **SKY))["label"] for _ in range(6)]
    assert labels == ["relevant"] * 6
    assert critic.format_selection.current == "schema"
    # The first by probability; four asked both ways; two by schema alone.
    assert len(server.asked) == 1 + 4 * 2 + 2


@pytest.mark.parametrize("code", [429, 503])
async def test_a_date_to_come_back_at_is_respected(server: OpenAIServer, code: int) -> None:
    moment = time.time()
    server.faults = [retry_at(2, moment, code)]  # an HTTP date has whole seconds
    assert await write(chat(server), roomy_budget()) == ANSWER
    assert time.time() >= int(moment + 2)


@pytest.mark.parametrize("name", sorted(SLOW))
async def test_no_call_outlasts_the_question(server: OpenAIServer, name: str) -> None:
    one = chat(server)
    await write(one, roomy_budget())  # the first call makes the client, which takes its time
    server.always = lambda asked: FAULTS[name]
    budget = roomy_budget(seconds=1)
    async with asyncio.timeout(30):
        with pytest.raises((LimitReachedError, ModelError)):
            await write(one, budget)
    assert budget.limit == "limit_seconds"
    assert budget.spent["model_calls"] == 1


ODD: tuple[Any, ...] = (None, "", "x" * 9, -1, 1e300, 10**400, True, [], ["x"], {}, {"x": [None]}, "\x1b[31m\ud83d")


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: what holds it, and the key or number there."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:12])
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
async def test_whatever_stands_anywhere_in_a_reply_is_an_answer_or_a_failure_of_this_call(
    server: OpenAIServer, odd: Any
) -> None:
    number, most = 0, 1

    def put(completion: Any) -> None:
        nonlocal most
        found = list(places(completion))
        most = max(most, len(found))
        for holder, key in found[number : number + 1]:
            holder[key] = odd

    one, budget = chat(server), roomy_budget()
    one.retries, server.always = 0, lambda asked: Fault(put)
    while number < most:
        found = await Critic(one).with_budget(budget).choose(RELEVANCE, **SKY)
        assert found["label"] in (*RELEVANCE.labels, "unknown")
        with suppress(TransientModelError):
            await write(one, budget)
        number += 1
    spent, calls = budget.spent, budget.spent["model_calls"]
    assert 0 <= spent["cached_input_tokens"] <= spent["input_tokens"] < 1000 * calls
    assert 0 <= spent["output_tokens"] < 400 * calls
