import asyncio
import socket
import time
import warnings
from contextlib import suppress
from email.utils import formatdate
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage

from core.errors import ModelError
from core.types import no_usage
from models.chat import Chat, text_of, usable_text
from models.failures import Remedies, TransientModelError, UnusableRequestError, classify
from models.usage import NodeBudget
from tests.integration.hasty import hasty  # noqa: F401
from tests.scripted import ScriptedChat, StatusError, reply, roomy_budget

ASK = [HumanMessage("Why is the sky blue?")]
SERVER_ERROR = StatusError(500)
UNKNOWN_OPTION = TypeError("create() got an unexpected keyword argument 'logprobs'")


async def ask(model: ScriptedChat, budget: NodeBudget | None = None, **settings: Any) -> AIMessage:
    made = Chat(lambda: model, "the model", **settings)
    return await made.ask(ASK, budget or roomy_budget(), max_tokens=7, tags=["nostream"], bind={"logprobs": True})


async def test_a_reply_is_asked_for_as_told_and_paid_for_as_reported() -> None:
    model, budget = ScriptedChat(script=[reply("Air scatters.", read=40, written=6, cached=30)]), roomy_budget()
    assert (await ask(model, budget)).text == "Air scatters."
    assert model.calls == [(ASK, {"max_tokens": 7, "logprobs": True})]
    assert budget.spent == {
        "model_calls": 1,
        "input_tokens": 40,
        "cached_input_tokens": 30,
        "output_tokens": 6,
        "estimated": False,
    }


async def test_what_pydantic_warns_of_in_a_reply_of_another_shape_is_not_shown() -> None:
    def warned(messages: object) -> AIMessage:
        warnings.warn("Pydantic serializer warnings:\n  Expected `Usage`, got [1, 2]", UserWarning, stacklevel=1)
        return reply("Air scatters.")

    assert (await ask(ScriptedChat(script=[warned]))).text == "Air scatters."


def caused_by(*causes: Exception) -> Exception:
    """The error of a client library around those of its HTTP client, the last one first."""
    error = outer = RuntimeError("Connection error.")
    for cause in causes:
        error.__cause__ = error = cause
    return outer


@pytest.mark.parametrize(
    ("failure", "attempts"),
    [
        (caused_by(httpx.ConnectError("refused"), ConnectionRefusedError()), 1),
        (caused_by(httpx.ConnectError("unknown"), socket.gaierror()), 1),
        (httpx.ConnectTimeout("no route"), 3),
        (httpx.PoolTimeout("busy"), 3),
        (caused_by(httpx.LocalProtocolError("Illegal header value")), 1),
    ],
)
async def test_a_call_that_never_reached_a_server_costs_nothing(failure: Exception, attempts: int) -> None:
    model, budget = ScriptedChat(script=[failure] * 9), roomy_budget()
    with pytest.raises(ModelError):
        await ask(model, budget)
    assert len(model.calls) == attempts
    assert budget.spent == no_usage()
    assert budget.total.held_calls == budget.total.held_tokens == budget.calls == 0


@pytest.mark.parametrize(
    "failure",
    [
        caused_by(httpx.ReadTimeout("slow")),
        caused_by(httpx.RemoteProtocolError("hung up")),
        caused_by(httpx.ConnectError("refused"), httpx.ReadTimeout("of the first try")),  # a client that tries again
    ],
)
async def test_a_call_that_may_have_been_paid_for_is_counted(failure: Exception) -> None:
    model, budget = ScriptedChat(script=[failure, reply("At last.", read=40)]), roomy_budget()
    with suppress(ModelError):
        await ask(model, budget)
    assert budget.spent["model_calls"] == len(model.calls)
    assert budget.spent["estimated"]


@pytest.mark.parametrize(
    ("failure", "kind", "said"),
    [
        (StatusError(400), UnusableRequestError, "refused the request"),
        (StatusError(422), UnusableRequestError, "refused the request"),
        (UNKNOWN_OPTION, UnusableRequestError, "the model does not support this request"),
        (StatusError(401), ModelError, "refused the key: check OPENAI_API_KEY"),
        (StatusError(403), ModelError, "refused the key: check OPENAI_API_KEY"),
        (StatusError(404), ModelError, "does not know the model: check SELFRAG_CHAT_MODEL"),
        (StatusError(413), ModelError, "HTTP 413"),
    ],
)
async def test_what_no_retry_mends_is_not_tried_again(failure: Exception, kind: type[Exception], said: str) -> None:
    model, budget = ScriptedChat(script=[failure] * 3), roomy_budget()
    with pytest.raises(kind, match=said) as error:
        await ask(model, budget)
    assert not isinstance(error.value, TransientModelError)
    assert len(model.calls) == budget.spent["model_calls"] == 1


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7.5", 7.5, 7.5),
        pytest.param(formatdate(time.time() + 36_000, usegmt=True), 30_000, 36_000, id="a date"),
        *((header, 0.01, 0.01) for header in ("soon", "-1", "", "Wed, 99 Foo 2020")),
    ],
)
def test_the_server_says_when_to_come_back(header: str, least: float, most: float) -> None:
    assert least <= classify(StatusError(429, headers={"retry-after": header}), "the model", 0)[1] <= most


async def test_a_call_that_is_cancelled_is_paid_for_and_holds_nothing() -> None:
    asked = asyncio.Event()

    async def hang() -> None:
        asked.set()
        await asyncio.sleep(3600)

    model, budget = ScriptedChat(script=[lambda messages: hang()]), roomy_budget()
    task = asyncio.ensure_future(ask(model, budget))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (budget.total.held_calls, budget.spent["model_calls"], budget.spent["estimated"]) == (0, 1, True)


def test_each_event_loop_has_a_client_of_its_own_that_goes_with_it() -> None:
    made: list[ScriptedChat] = []

    def make() -> ScriptedChat:
        made.append(ScriptedChat(script=[reply("x")] * 2))
        made[-1].metadata = {"loop": asyncio.get_running_loop()}  # as a real one's connections hold it
        return made[-1]

    one = Chat(make, "the model")

    async def twice() -> None:
        for _ in range(2):
            await one.ask(ASK, roomy_budget(), max_tokens=1)

    for _ in range(3):
        asyncio.run(twice())
    assert [len(model.calls) for model in made] == [2, 2, 2]
    assert list(one._clients) == [made[-1].metadata["loop"]]  # type: ignore[index]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<think>Hm.</think>Blue.", "Blue."),
        ("<think>\nHm.\n</think>\n\n Blue.", "Blue."),
        ("Hm. Is it red?\n</think>\n\nBlue.", "Blue."),
        ("<Thinking>Hm.</Thinking>Blue.", "Blue."),
        ("<think>It never ends", ""),
        ("Blue.", "Blue."),
        ([{"type": "text", "text": "Blue."}], "Blue."),
        ([{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Blue."}], "Blue."),
        ("Blue \ud83d", "Blue ?"),
    ],
)
def test_thoughts_are_not_part_of_the_text_and_half_a_character_is_replaced(content: Any, text: str) -> None:
    assert text_of(AIMessage(content)) == text


def written(content: str, finish: str | None = None, provider: str = "openai") -> AIMessage:
    told = {"finish_reason": finish} if finish else {}
    return AIMessage(content, response_metadata={**told, "model_provider": provider})


REFUSED = AIMessage("", additional_kwargs={"refusal": "I cannot\nhelp. " + "x" * 300})


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (REFUSED, "refused to answer .I cannot"),
        (written("Air", "content_filter"), "content filter stopped"),
        (written("Air", "SAFETY"), "content filter stopped"),
        (AIMessage("Air", response_metadata={"stop_reason": "refusal"}), "content filter stopped"),
        (written("Air"), "is cut off"),
        (AIMessage("x" * 449), "449 characters where 7 tokens were asked for"),
        (AIMessage(f"<think>{'x' * 449}</think>Air."), "characters where 7 tokens"),
        (AIMessage("x" * 448), None),
        (written("Air.", "stop"), None),
        (written("Air", "length"), None),
        (written("Air.", provider="another"), None),
    ],
)
def test_what_is_no_answer_is_a_failure_of_this_call(message: AIMessage, said: str | None) -> None:
    if said is None:
        assert usable_text(message, "the model", 7) == message.text
        return
    with pytest.raises(TransientModelError, match=said) as error:
        usable_text(message, "the model", 7)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "said", ["Incorrect API key provided: sk-proj-abcdef123456.", "bad Bearer abcdef-123456", "key_abcdef123456 is bad"]
)
def test_an_error_is_one_short_line_and_shows_no_key(said: str) -> None:
    failure = str(classify(StatusError(401, f"{said}\nsecond"), "the model", 0)[0])
    assert "abcdef" not in failure
    assert "[key]" in failure
    assert "second" not in failure
    assert len(str(classify(StatusError(401, said + " x" * 500), "the model", 0)[0])) < 300


def test_a_provider_is_named_with_its_own_settings() -> None:
    named = Remedies(key="the key of there", address="the address of there")
    failure, _ = classify(StatusError(401), "the model", 0, remedies=named)
    assert "check the key of there" in str(failure)
    refused = httpx.ConnectError("refused")
    assert "check the address of there" in str(classify(refused, "the model", 0, remedies=named)[0])


def test_a_status_is_found_wherever_a_client_library_keeps_it() -> None:
    request = httpx.Request("POST", "http://host/")
    error = httpx.HTTPStatusError("no", request=request, response=httpx.Response(401, request=request))
    for found in (error, caused_by(error)):
        assert "refused the key" in str(classify(found, "the model", 0)[0])


@pytest.mark.timeout(20)
def test_errors_that_lead_to_one_another_are_classified() -> None:
    first, second = RuntimeError("first"), RuntimeError("second")
    first.__cause__, second.__cause__ = second, first
    assert "the model failed: RuntimeError (first)" in str(classify(first, "the model", 0)[0])


@pytest.mark.parametrize(
    "error",
    [
        httpx.LocalProtocolError("Illegal header value b'Bearer swordfish\\n'"),
        UnicodeEncodeError("ascii", "Bearer swörd", 9, 10, "ordinal not in range(128)"),
    ],
)
def test_a_key_that_no_header_can_hold_is_named(error: Exception) -> None:
    failure, _ = classify(caused_by(error), "the model", 0)
    assert not isinstance(failure, TransientModelError)
    assert str(failure) == "The key for the model is not valid in an HTTP header: check OPENAI_API_KEY."
