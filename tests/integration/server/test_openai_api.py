"""OpenAI's API, as its own client and LangChain's see it."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import openai
import pytest
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from pydantic import SecretStr

from app.server.streams import EventStream
from tests.integration.graph.sky import AIR, GOOD, QUESTION, critic
from tests.integration.server.scripted_server import FOLLOW_UP, Models, client_of, listening, scripted_app, until

ASKED: list[Any] = [{"role": "user", "content": QUESTION}]
BODY = {"model": "self-rag", "messages": ASKED}
TITLE = """### Task:
Generate a concise, 3-5 word title summarizing the chat history.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: Why is the sky blue?
ASSISTANT: Air scatters blue light.
</chat_history>"""
TAGS = '### Task:\nGenerate 1-3 broad tags.\n### Output:\nJSON format: { "tags": ["tag1", "tag2"] }'
FOLLOW_UPS = '### Task:\nSuggest 3-5 follow-up questions.\n### Output:\nJSON format: { "follow_ups": ["Question 1?"] }'


@pytest.fixture
def models() -> Models:
    return Models()


@pytest.fixture
def address(models: Models) -> Iterator[str]:
    with listening(scripted_app(models)) as address:
        yield address


@pytest.fixture
async def client(address: str) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        yield client


async def streamed(client: AsyncOpenAI, **more: Any) -> list[Any]:
    """All chunks; a stream that ends with an error is closed here, and not whenever garbage is collected."""
    async with await client.chat.completions.create(model="self-rag", messages=ASKED, stream=True, **more) as stream:
        return [chunk async for chunk in stream]


def content_of(chunks: list[Any]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


async def said(client: AsyncOpenAI, messages: list[Any], streaming: bool) -> tuple[str, str, list[Any], Any]:
    """The text of an answer, why it ended, its annotations and its usage."""
    given: Any = {"model": "self-rag", "messages": messages}
    if not streaming:
        answer: Any = await client.chat.completions.create(**given)
        (choice,) = answer.choices
        return choice.message.content, choice.finish_reason, choice.message.annotations or [], answer.usage
    stream = await client.chat.completions.create(**given, stream=True, stream_options={"include_usage": True})
    *chunks, last = [chunk async for chunk in stream]
    annotations = [one for chunk in chunks for one in chunk.to_dict()["choices"][0]["delta"].get("annotations") or []]
    return content_of(chunks), chunks[-1].choices[0].finish_reason, annotations, last.usage


async def test_an_answer_has_citations_that_open_the_quote_and_its_evidence(client: AsyncOpenAI, address: str) -> None:
    answer: Any = await client.chat.completions.create(model="self-rag", messages=ASKED)
    (choice,) = answer.choices
    assert answer.object == "chat.completion"
    assert (choice.finish_reason, choice.message.role) == ("stop", "assistant")
    content = choice.message.content
    assert content.startswith(f"{GOOD} [1]\n")
    assert f"[1] notes.txt p. 3: “{AIR}”" in content
    (annotation,) = choice.message.annotations
    cited = annotation.url_citation
    assert content[cited.start_index : cited.end_index] == GOOD
    assert cited.url == f"{address}/#/runs/{answer.self_rag['run_id']}/citations/1"
    assert (answer.self_rag["outcome"], answer.self_rag["claims"][0]["label"]) == ("grounded", "fully supported")
    assert "retrieve: 2 passages" in choice.message.reasoning_content
    usage = answer.self_rag["usage"]
    counted = (answer.usage.prompt_tokens, answer.usage.completion_tokens)
    assert counted == (usage["input_tokens"], usage["output_tokens"])
    assert answer.usage.total_tokens == usage["input_tokens"] + usage["output_tokens"] > 0


async def test_a_stream_has_the_role_the_trace_the_answer_its_sources_and_the_usage(client: AsyncOpenAI) -> None:
    """What Open WebUI shows beside the answer stands in ``event`` of the chunks."""
    chunks = await streamed(client, stream_options={"include_usage": True})
    assert chunks[0].choices[0].delta.role == "assistant"
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert (chunks[-1].choices, chunks[-1].usage.total_tokens > 0) == ([], True)
    ends = [chunk.choices[0].finish_reason for chunk in chunks[:-1]]
    assert (ends[-1], set(ends[:-1])) == ("stop", {None})
    assert chunks[-2].choices[0].delta.annotations[0]["url_citation"]["title"] == "notes.txt p. 3"
    assert chunks[-2].self_rag["outcome"] == "grounded"
    shown = [chunk.event for chunk in chunks if hasattr(chunk, "event")]
    states = [event["data"] for event in shown if event["type"] == "status"]
    assert states[0]["description"].startswith("decide: retrieve")
    assert [state["done"] for state in states] == [False] * (len(states) - 1) + [True]
    (source,) = [event["data"] for event in shown if event["type"] == "source"]
    assert (source["document"], source["source"]["name"]) == ([AIR], "notes.txt p. 3")
    trace = "".join(getattr(chunk.choices[0].delta, "reasoning_content", "") for chunk in chunks[:-1])
    assert len(trace.splitlines()) == len(states) - 1
    whole: Any = await client.chat.completions.create(model="self-rag", messages=ASKED)
    assert (content_of(chunks), trace) == (whole.choices[0].message.content, whole.choices[0].message.reasoning_content)
    assert not [chunk for chunk in await streamed(client) if chunk.usage or not chunk.choices]


@pytest.mark.parametrize("streaming", [False, True])
async def test_an_abstention_ends_with_stop_and_cites_nothing(streaming: bool) -> None:
    with listening(scripted_app(Models(judge=critic(relevance="irrelevant")))) as address:
        async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
            content, reason, cited, _ = await said(client, ASKED, streaming)
    assert content == f"The documents do not answer “{QUESTION}”: nothing found in them answers it."
    assert (reason, cited) == ("stop", [])


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("prompt", "told"),
    [(TITLE, {"title": QUESTION}), (TAGS, {"tags": []}), (FOLLOW_UPS, {"follow_ups": []}), ("### Task:\nSay it.", {})],
)
async def test_prompts_for_titles_and_the_like_run_nothing(
    models: Models, client: AsyncOpenAI, prompt: str, told: dict[str, Any], streaming: bool
) -> None:
    content, _, _, usage = await said(client, [{"role": "user", "content": prompt}], streaming)
    assert json.loads(content) == told
    assert (models.calls, models.searches, usage.total_tokens) == ([], [], 0)


@pytest.mark.parametrize("streaming", [False, True])
async def test_messages_before_the_question_are_its_conversation(
    models: Models, client: AsyncOpenAI, streaming: bool
) -> None:
    messages: list[Any] = [*ASKED, {"role": "assistant", "content": "Zebras."}, {"role": "user", "content": FOLLOW_UP}]
    content, _, _, _ = await said(client, messages, streaming)
    assert content.startswith(f"{GOOD} [1]")
    assert models.searches == [FOLLOW_UP, f"{QUESTION} {FOLLOW_UP}"]
    asked = models.judge.inputs
    assert {inputs["question"] for inputs in asked} == {f"{QUESTION} {FOLLOW_UP}"}
    assert "Zebras" not in str(asked)


@pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <async_generator object:pytest.PytestUnraisableExceptionWarning"
)
async def test_a_model_that_fails_in_mid_answer_is_an_error_in_openais_shape() -> None:
    """After an error event the clients leave their byte streams open to the garbage collector, which may warn."""
    with listening(scripted_app(Models(failing="draft"))) as address:
        async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
            with pytest.raises(openai.InternalServerError, match="The model is gone") as refused:
                await client.chat.completions.create(model="self-rag", messages=ASKED)
            assert refused.value.status_code == 502
            with pytest.raises(openai.APIError, match="The model is gone"):
                await streamed(client)
            chat = ChatOpenAI(model="self-rag", base_url=f"{address}/v1", api_key=SecretStr("none"), max_retries=0)
            with pytest.raises(openai.APIError, match="The model is gone"):
                [chunk async for chunk in chat.astream([HumanMessage(QUESTION)])]
        async with httpx.AsyncClient(base_url=address) as raw:
            text = (await raw.post("/v1/chat/completions", json={**BODY, "stream": True})).text
    assert text.split("\n\n")[-2].startswith('event: error\ndata: {"error":{"message":"The model is gone.')
    gc.collect()  # here, and not in the middle of another test


@pytest.mark.parametrize(
    ("changed", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, None),
        ({"stream": "yes"}, "stream"),
        ({"temperature": 3}, "temperature"),
        ({"n": 2}, "n"),
        ({"stream_options": {"include_usage": "yes"}}, "stream_options.include_usage"),
        ({"self_rag": {"k": 0}}, "self_rag.k"),
    ],
)
async def test_what_is_wrong_is_refused_in_openais_shape(changed: dict[str, Any], param: str | None) -> None:
    models = Models()
    with client_of(scripted_app(models)) as client:
        refused = await client.post("/v1/chat/completions", json={**BODY, **changed})
    error = refused.json()["error"]
    assert (refused.status_code, error["type"], error["param"]) == (400, "invalid_request_error", param)
    assert error["message"].endswith((".", "something."))
    assert models.calls == []


async def test_another_model_is_not_found(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="There is no model gpt-4o: name self-rag") as refused:
        await client.chat.completions.create(model="gpt-4o", messages=ASKED)
    assert refused.value.code == "model_not_found"
    assert [model.id async for model in client.models.list()] == ["self-rag"]
    assert (await client.models.retrieve("self-rag")).object == "model"


async def test_unknown_parameters_are_ignored_and_known_ones_reach_the_graph(models: Models) -> None:
    """The list of sources is left out where the server says so."""
    with client_of(scripted_app(models, lists_sources=False)) as client:
        unknown = {"seed": 1, "tools": [], "user": "me"}
        known = {"temperature": 0.5, "max_tokens": 64, "self_rag": {"mode": "always"}}
        answer = await client.post("/v1/chat/completions", json={**BODY, **unknown, **known})
    assert answer.status_code == 200
    message = answer.json()["choices"][0]["message"]
    cited = message["annotations"][0]["url_citation"]
    assert (message["content"], cited["start_index"], cited["end_index"]) == (GOOD, 0, len(GOOD))
    assert (64, 0.5) in models.bounds
    assert "retrieve" not in models.calls, "with mode always nobody asks whether to search"


async def test_a_silent_stream_is_kept_alive_by_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventStream, "DEFAULT_PING_INTERVAL", 0.01)
    models = Models(gate=asyncio.Event())
    with listening(scripted_app(models)) as address:
        async with (
            httpx.AsyncClient(base_url=address) as client,
            client.stream("POST", "/v1/chat/completions", json={**BODY, "stream": True}) as response,
        ):
            lines: list[str] = []
            async for line in response.aiter_lines():
                lines.append(line)
                if line.startswith(":") and sum(one.startswith(":") for one in lines) == 3:
                    await models.open()
    assert [line for line in lines if line.startswith("data")][-1] == "data: [DONE]"


async def test_a_question_that_is_ended_while_it_is_streamed_ends_with_an_error() -> None:
    models = Models(gate=asyncio.Event())
    app = scripted_app(models)
    runs = app.state.service.runs
    with client_of(app) as client:
        asking = asyncio.create_task(client.post("/v1/chat/completions", json={**BODY, "stream": True}))
        await until(lambda: runs.count("running"))
        await client.delete(f"/api/runs/{runs.of()[0].id}")
        assert "The question was ended before it was answered." in (await asking).text
