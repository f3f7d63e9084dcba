"""OpenAI's chat completions, for clients that know no other API. Citations are annotations; answers may be streamed."""

import json
import re
import time
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.sse import format_sse_event
from pydantic import BaseModel, Field

from app.results.result import Result
from app.server.errors import answer_to, refusal
from app.server.json_api import json_response
from app.server.messages import TASK, Message, conversation_before, question_of
from app.server.names import without_paths
from app.server.runs import Run, RunEvent
from app.server.service import AskOptions, Service
from app.server.streams import EventStream, wait_for
from core.errors import ModelError, RequestError
from core.passages import place_of
from core.step_wording import describe
from core.text import as_json, shortened
from prompts.generate import MAX_TOKENS

MODEL = "self-rag"
LEAST_TOKENS = 20  # of an answer
ASKED_FOR = re.compile(r'"(title|tags|follow_ups|queries|text|prompt)"\s*:')
FIRST_MESSAGE = re.compile(r"<chat_history>\s*(?:USER:\s*)?(.*?)\s*(?:\nASSISTANT:|</chat_history>)", re.DOTALL)
LONGEST_TITLE = 60


class StreamOptions(BaseModel, strict=True):
    """What a stream holds beside the answer."""

    include_usage: bool | None = None


class ChatRequest(BaseModel, strict=True):
    """A chat completion; what is not named here is ignored. ``self_rag`` holds the options of `AskOptions`."""

    model: str
    messages: list[Message] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    self_rag: AskOptions | None = None

    def most_tokens(self, usual: int | None) -> int | None:
        """Return the request's limit on the answer's tokens; None if it is not set, or not below ``usual``."""
        most = self.max_completion_tokens or self.max_tokens
        return max(LEAST_TOKENS, most) if most and most < (usual or MAX_TOKENS) else None


@dataclass(frozen=True)
class Completion:
    """The answer to one request, as chunks or as a whole."""

    id: str
    created: int
    usage_follows: bool

    def chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        """Return a ``chat.completion.chunk`` as a server-sent event; ``more`` adds fields beside ``choices``."""
        choices = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
        usage = {"usage": None} if self.usage_follows else {}
        return _event({**self._head("chat.completion.chunk"), "choices": choices, **usage, **more})

    def end(self, delta: dict[str, Any], result: Result | None, **more: Any) -> Iterator[bytes]:
        """Yield the last chunks of a stream; one holds only the usage, if the client asked for it."""
        yield self.chunk(delta, "stop", **more)
        if self.usage_follows:
            yield _event({**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(result)})
        yield format_sse_event(data_str="[DONE]")

    def whole(self, message: dict[str, Any], result: Result | None, **more: Any) -> Response:
        """Return the answer in one piece."""
        full = {"role": "assistant", "refusal": None, **message}
        choices = [{"index": 0, "message": full, "logprobs": None, "finish_reason": "stop"}]
        return json_response({**self._head("chat.completion"), "choices": choices, "usage": _usage(result), **more})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-{self.id}", "object": kind, "created": self.created, "model": MODEL}


def openai_api(service: Service) -> APIRouter:
    """Return the routes below ``/v1``."""
    router = APIRouter(prefix="/v1", tags=["OpenAI"])
    model = {"id": MODEL, "object": "model", "created": int(time.time()), "owned_by": MODEL}

    @router.get("/models")
    async def models() -> Response:
        """List the one model."""
        return json_response({"object": "list", "data": [model]})

    @router.get("/models/{name}")
    async def get_model(name: str) -> Response:
        """Return the one model."""
        return json_response(model) if name == MODEL else _no_model(name)

    @router.post("/chat/completions")
    async def chat(asked: ChatRequest, request: Request) -> Response:
        """Answer the last message of the user; those before it are the conversation."""
        if asked.model != MODEL:
            return _no_model(asked.model)
        question = question_of(asked.messages)
        include_usage = bool(asked.stream and asked.stream_options and asked.stream_options.include_usage)
        if question.startswith(TASK):
            done, text = Completion("task", int(time.time()), include_usage), task_answer(question)
            return EventStream(_task_chunks(done, text)) if asked.stream else done.whole({"content": text}, None)
        options = asked.self_rag or AskOptions()
        context = options.context(
            temperature=asked.temperature, answer_tokens=asked.most_tokens(service.rag.context.answer_tokens)
        )
        conversation = conversation_before(asked.messages)
        run = await service.start(question, context, str(request.state.owner), conversation=conversation)
        completion = Completion(run.id, int(run.began.timestamp()), include_usage)
        answer = _Answer(service, run, completion, str(request.base_url))
        if asked.stream:
            return EventStream(answer.chunks(), headers={"X-Run-Id": run.id})
        with service.runs.attended(run):
            await wait_for(run, request)
        return answer.whole()

    return router


@dataclass(frozen=True)
class _Answer:
    """The response to the client of a run."""

    _service: Service
    _run: Run
    _completion: Completion
    _base_url: str

    def whole(self) -> Response:
        """Return the answer in one piece, or its error."""
        result = self._ended()
        if isinstance(result, Exception):
            return answer_to(result)
        content = self._content(result)
        trace = "".join(map(_line_of, self._run.events))
        message = {"content": content, "reasoning_content": trace, "annotations": self._annotations(result, content)}
        answer = self._completion.whole(message, result, self_rag=self._extension(result))
        answer.headers["X-Run-Id"] = self._run.id
        return answer

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the trace while the run goes on, then the answer, its sources and its end; or an error event."""
        made = self._completion
        with self._service.runs.attended(self._run):
            yield made.chunk({"role": "assistant", "content": ""})
            async for event in self._run.follow():
                if line := _line_of(event):
                    yield made.chunk({"reasoning_content": line}, event=_status(line.strip()))
        result = self._ended()
        if isinstance(result, Exception):
            yield format_sse_event(data_str=bytes(answer_to(result).body).decode(), event="error")
            return
        content = self._content(result)
        yield made.chunk({"content": content})
        for citation in result.citations:
            yield made.chunk({}, event=self._source_event(citation))
        yield made.chunk({}, event=_status(str(result.outcome), done=True))
        annotations = self._annotations(result, content)
        delta = {"annotations": annotations} if annotations else {}
        for chunk in made.end(delta, result, self_rag=self._extension(result)):
            yield chunk

    def _ended(self) -> Result | Exception:
        """Return the result, or what went wrong if there is none."""
        result = self._run.result
        if result is None:
            return self._run.error or RequestError("The question was ended before it was answered.")
        if result.stop_reason == "model_failed" and result.outcome == "stopped":
            failures = [step["failure"] for step in result.path if step.get("failure")]
            return ModelError(failures[0] if failures else "The model failed.")
        return result

    def _content(self, result: Result) -> str:
        if not self._service.options.lists_sources or not result.citations:
            return result.answer
        quoted = [f"[{one['id']}] {place_of(one)}: “{shortened(one['quote'], 200)}”" for one in result.citations]
        return "\n".join([self._run.numbered, "", *quoted])

    def _annotations(self, result: Result, content: str) -> list[dict[str, Any]]:
        """Return a citation for each quote, at the claim that it supports."""
        places: dict[int, tuple[int, int]] = {}
        end = 0
        for claim in result.claims:
            start = content.find(claim.text, end)
            if start >= 0:
                end = start + len(claim.text)
                places.update({number: (start, end) for number in claim.citations if number not in places})
        cited = []
        for one in result.citations:
            first, last = places.get(one["id"], (end, end))
            found = {"url": self._url(one["id"]), "title": place_of(one), "start_index": first, "end_index": last}
            cited.append({"type": "url_citation", "url_citation": found})
        return cited

    def _source_event(self, citation: Any) -> dict[str, Any]:
        """Return Open WebUI's own event for a source."""
        source = {"name": place_of(citation), "url": self._url(citation["id"])}
        data = {"source": source, "document": [citation["quote"]], "metadata": [{"source": source["url"], **source}]}
        return {"type": "source", "data": data}

    def _url(self, number: int) -> str:
        """Return the address at which the page shows a quote in its document."""
        return f"{self._base_url}#/runs/{self._run.id}/citations/{number}"

    def _extension(self, result: Result) -> dict[str, Any]:
        told = result.model_dump(
            mode="json",
            include={"outcome", "stop_reason", "support_level", "claims", "citations", "conflicts", "usage"},
        )
        return {"run_id": self._run.id, "url": f"{self._base_url}#/runs/{self._run.id}", **told}


def task_answer(prompt: str) -> str:
    """Answer Open WebUI's own prompts without a model: a title is the question, all else (such as tags) is empty."""
    wanted = ASKED_FOR.search(prompt.partition("<chat_history>")[0])
    if wanted is None:
        return "{}"
    if wanted[1] == "title":
        first = FIRST_MESSAGE.search(prompt)
        return json.dumps({"title": shortened(first[1] if first else "Question", LONGEST_TITLE)}, ensure_ascii=False)
    return json.dumps({wanted[1]: "" if wanted[1] in ("text", "prompt") else []})


async def _task_chunks(made: Completion, text: str) -> AsyncGenerator[bytes, None]:
    yield made.chunk({"role": "assistant", "content": ""})
    yield made.chunk({"content": text})
    for chunk in made.end({}, None):
        yield chunk


def _event(value: dict[str, Any]) -> bytes:
    return format_sse_event(data_str=as_json(without_paths(value)))


def _line_of(event: RunEvent) -> str:
    """Return a line of the trace; "" unless the event is the end of a node."""
    if event.kind != "node_finished":
        return ""
    return f"{event.data['node']}: {describe(event.data['node'], event.data['decided'])}\n"


def _status(description: str, *, done: bool = False) -> dict[str, Any]:
    """Return Open WebUI's own event for what is being done."""
    return {"type": "status", "data": {"description": description, "done": done}}


def _usage(result: Result | None) -> dict[str, Any]:
    """Return what all calls cost, in OpenAI's words."""
    spent = result.usage if result else {"input_tokens": 0, "output_tokens": 0, "cached_input_tokens": 0}
    read, written = spent["input_tokens"], spent["output_tokens"]
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": spent["cached_input_tokens"]},
    }


def _no_model(name: str) -> Response:
    told = f"There is no model {shortened(name, 60)}: name {MODEL}."
    return refusal(told, 404, param="model", code="model_not_found")
