"""A loopback server of the OpenAI protocol that answers from what it is shown, and misbehaves when told to."""

from __future__ import annotations

import json
import math
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from langchain_core.prompts import ChatPromptTemplate

from models.critic import WHY
from prompts.answer_check import USEFULNESS
from prompts.choice import Choice
from prompts.decide import RETRIEVE
from prompts.direct_generate import DIRECT_GENERATE
from prompts.generate import GENERATE, REDRAFT_NOT_USEFUL, REDRAFT_UNSUPPORTED
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from prompts.rewrite_query import REWRITE_QUERY
from tests.stress.faults.misbehaviour import CUT, HANG, Fault, Wire, completion_of, say, sent, status, whole

__all__ = ["CUT", "HANG", "Asked", "Fault", "OpenAIServer", "Policy", "say", "serving", "status"]

Support = Literal["serve", "ignore", "refuse"]
Inputs = Mapping[str, str]
CHOICES = {"retrieve": RETRIEVE, "relevance": RELEVANCE, "support": SUPPORT, "usefulness": USEFULNESS}
PROMPTS: dict[str, ChatPromptTemplate] = {
    **{name: choice.messages for name, choice in CHOICES.items()},
    "mend": REDRAFT_UNSUPPORTED,
    "improve": REDRAFT_NOT_USEFUL,
    "draft": GENERATE,
    "query": REWRITE_QUERY,
    "direct": DIRECT_GENERATE,
}
IN_WORDS = re.compile(r"\nReply with one word of: [^\n]*\Z")


@dataclass(frozen=True)
class Asked:
    """A request as the server understood it: which prompt, with what inputs."""

    kind: str
    inputs: Inputs
    body: Mapping[str, Any]
    key: str


def recognise(messages: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, str]]:
    """Which prompt the messages are, and its inputs. Raises LookupError for none of ours."""
    texts = [str(message["content"]) for message in messages]
    if texts[-1] == WHY:
        return "reason", {}
    texts[-1] = IN_WORDS.sub("", texts[-1])
    for name, prompt in PROMPTS.items():
        inputs = _inputs(prompt, texts)
        if inputs is not None:
            return name, inputs
    raise LookupError(f"no prompt of ours: {texts[-1][:200]}")


def _inputs(prompt: ChatPromptTemplate, texts: Sequence[str]) -> dict[str, str] | None:
    marks = {name: f"\x00{name}\x00" for name in prompt.input_variables}
    templates = [message.text for message in prompt.format_messages(**marks)]
    if len(templates) != len(texts):
        return None
    inputs: dict[str, str] = {}
    for template, text in zip(templates, texts, strict=True):
        parts = re.split("\x00(\\w+)\x00", template)
        seen: set[str] = set()
        pattern = ""
        for index, part in enumerate(parts):
            if index % 2 == 0:
                pattern += re.escape(part)
            else:
                pattern += f"(?P={part})" if part in seen else f"(?P<{part}>.*)"
                seen.add(part)
        match = re.fullmatch(pattern, text, re.DOTALL)
        if match is None:
            return None
        inputs |= match.groupdict()
    return inputs


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def passages_of(shown: str) -> list[str]:
    return re.findall(r'<passage id="\d+">\n(.*?)\n</passage>', shown, re.DOTALL)


class Policy:
    """Reads what it is shown: a passage is relevant that shares two words with the question; drafts quote."""

    def label(self, kind: str, inputs: Inputs) -> str:
        if kind == "retrieve":
            return "direct" if re.search(r"\d\s*[+*]\s*\d", inputs["question"]) else "retrieve"
        if kind == "relevance":
            shared = words(inputs["question"]) & words(inputs["passage"])
            return "relevant" if len(shared) >= 2 else "irrelevant"
        if kind == "support":
            return "fully supported" if inputs["claim"] in inputs["passages"] else "no support"
        return "5"

    def text(self, kind: str, inputs: Inputs) -> str:
        if kind == "reason":
            return "The passages do not say so."
        if kind == "query":
            return f"other words {inputs['tried'].count(chr(10))}"
        if kind == "direct":
            return "The answer is 4."
        sentences = [one for text in passages_of(inputs["passages"]) for one in re.findall(r"[A-Z][^.\n]*\.", text)]
        asked = words(inputs["question"])
        return max(sentences, key=lambda one: len(words(one) & asked), default="I don't know.")


class OpenAIServer:
    """Serve on a free loopback port until closed. ``faults`` are used up one a request, ``always`` never.

    ``logprobs`` and ``schema`` say what is done with a request for them; ``usage`` is reported or not.
    """

    def __init__(
        self,
        *,
        policy: Policy | None = None,
        logprobs: Support = "serve",
        schema: Support = "serve",
        usage: bool = True,
        models: Sequence[str] = ("gpt-4o-mini",),
        key: str | None = None,
    ) -> None:
        self.policy = policy or Policy()
        self.logprobs: Support = logprobs
        self.schema: Support = schema
        self.usage = usage
        self.models = models
        self.key = key
        self.faults: list[Fault | None] = []
        self.always: Callable[[Asked], Fault | None] = lambda asked: None
        self.asked: list[Asked] = []
        self._arrived = threading.Condition()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def kinds(self) -> list[str]:
        return [one.kind for one in self.asked]

    def wait_for(self, kind: str, seconds: float = 60) -> None:
        """Return when a request of this kind has arrived. Raises TimeoutError."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: kind in self.kinds(), seconds):
                raise TimeoutError(f"no {kind} was asked for")

    def _next_fault(self, asked: Asked) -> Fault | None:
        with self._lock:
            self.asked.append(asked)
            fault = self.faults.pop(0) if self.faults else None
        return fault or self.always(asked)

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler's own is self
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                key = (self.headers["Authorization"] or "").removeprefix("Bearer ")
                try:
                    server.serve(self, body, key)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

        return Handler

    def serve(self, http: BaseHTTPRequestHandler, body: dict[str, Any], key: str) -> None:
        if http.path != "/v1/chat/completions":
            return self._play(http, _error(404, f"no such path: {http.path}"))
        if self.key is not None and key != self.key:
            return self._play(http, _error(401, f"Incorrect API key provided: {key}."))
        if body["model"] not in self.models:
            return self._play(http, _error(404, f"The model `{body['model']}` does not exist."))
        try:
            kind, inputs = recognise(body["messages"])
        except LookupError as error:
            return self._play(http, _error(418, str(error)))
        asked = Asked(kind, inputs, body, key)
        fault = self._next_fault(asked)
        with self._arrived:
            self._arrived.notify_all()
        for name, means in (("logprobs", self.logprobs), ("response_format", self.schema)):
            if body.get(name) and means == "refuse":
                refusal = _error(400, f"{name} is not supported")
                return self._play(http, fault.carry(refusal) if fault else refusal)
        content, top = self._reply(asked)
        completion = completion_of(content, top, self._usage(asked, content))
        if body.get("stream") and not (body.get("stream_options") or {}).get("include_usage"):
            completion["usage"] = None
        return self._play(http, sent(completion, fault, stream=bool(body.get("stream"))))

    def _play(self, http: BaseHTTPRequestHandler, wire: Wire) -> None:
        """Send what is to be sent, as slowly as it is to be sent, and end it so."""
        http.wfile.write(wire.head())
        for piece in wire.frames():
            if self._closing.wait(wire.pause):
                break
            http.wfile.write(piece)
        if wire.end == "keep" and wire.framing != "none":
            return
        if wire.end == "hang":
            self._closing.wait(60)
        with suppress(OSError):
            http.connection.shutdown(socket.SHUT_RDWR)
        http.close_connection = True

    def _reply(self, asked: Asked) -> tuple[str, list[dict[str, Any]] | None]:
        if asked.kind not in CHOICES:
            return self.policy.text(asked.kind, asked.inputs), None
        choice = CHOICES[asked.kind]
        word = reply_for(choice, self.policy.label(asked.kind, asked.inputs))
        if asked.body.get("response_format") and self.schema == "serve":
            return json.dumps({"label": word}), None
        if not asked.body.get("logprobs") or self.logprobs != "serve":
            return word, None
        others = [other for other in choice.replies if other != word]
        top = [(word.capitalize(), 0.6), (f" {word}", 0.3), *((other, 0.1 / len(others)) for other in others)]
        return word, [{"token": token, "logprob": math.log(p), "bytes": None} for token, p in top]

    def _usage(self, asked: Asked, content: str) -> dict[str, Any] | None:
        if not self.usage:
            return None
        read = sum(len(str(message["content"]).split()) + 4 for message in asked.body["messages"])
        written = max(1, len(content.split()))
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": read // 2},
        }


def _error(code: int, text: str) -> Wire:
    return status(code, text).carry(whole(b""))


def reply_for(choice: Choice, label: str) -> str:
    return next(word for word, one in choice.replies.items() if one == label)


@contextmanager
def serving(**settings: Any) -> Iterator[OpenAIServer]:
    server = OpenAIServer(**settings)
    try:
        yield server
    finally:
        server.close()
