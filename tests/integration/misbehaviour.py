"""How a server of the OpenAI protocol may go wrong: in what it says, and in the bytes that carry it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http import HTTPStatus
from itertools import chain, repeat
from typing import Any, Literal

Completion = dict[str, Any]
MEGABYTE = 1_000_000
PAGE = b"<!DOCTYPE html><html><body><h1>Bad gateway</h1></body></html>"


@dataclass(frozen=True)
class Wire:
    """A reply as it is sent: its head, the pieces of its body with ``pause`` seconds before each, and its end.

    At the end ``cut`` closes the connection, ``hang`` leaves it open and silent, ``drip`` sends the last piece for
    ever. ``promised`` is the length that the head names, if not the body's own. A status of 0 sends no head.
    """

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    framing: Literal["length", "chunks", "none"] = "length"
    promised: int | None = None
    pause: float = 0.0
    end: Literal["keep", "cut", "hang", "drip"] = "keep"

    def head(self) -> bytes:
        """The status line and the headers."""
        if not self.status:
            return b""
        length = sum(map(len, self.pieces)) if self.promised is None else self.promised
        framing = {
            "length": {"Content-Length": str(length)},
            "chunks": {"Transfer-Encoding": "chunked"},
            "none": {"Connection": "close"},
        }[self.framing]
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"]
        lines += [f"{name}: {value}" for name, value in {**self.headers, **framing}.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def frames(self) -> Iterator[bytes]:
        """The pieces as they are sent."""
        last = [b""] if self.end == "keep" and self.framing == "chunks" else []
        pieces: Iterator[bytes] = chain(self.pieces, last)
        if self.end == "drip":
            pieces = chain(self.pieces, repeat(self.pieces[-1]))
        for piece in pieces:
            yield b"%x\r\n%s\r\n" % (len(piece), piece) if self.framing == "chunks" else piece


@dataclass(frozen=True)
class Fault:
    """A fault of the completion (``edit`` may change it in place), of the bytes that carry it, or of both."""

    edit: Callable[[Completion], object] = lambda completion: None
    carry: Callable[[Wire], Wire] = lambda wire: wire

    def __add__(self, other: Fault) -> Fault:
        """Both faults, this one first."""
        return Fault(
            lambda completion: (self.edit(completion), other.edit(completion)),
            lambda wire: other.carry(self.carry(wire)),
        )


def completion_of(
    content: str, top: list[dict[str, Any]] | None = None, usage: dict[str, Any] | None = None
) -> Completion:
    """A sound chat completion; ``top`` are the candidates of its first token."""
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": content},
    }
    if top:
        choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    head = {"id": "1", "created": 1, "model": "gpt-4o-mini", "object": "chat.completion"}
    return {**head, "choices": [choice], "usage": usage}


def reply(completion: Completion, fault: Fault | None = None, *, stream: bool = False) -> Wire:
    """The reply as bytes, whole or streamed, with its fault."""
    fault = fault or Fault()
    completion = deepcopy(completion)
    fault.edit(completion)
    if not stream:
        return fault.carry(whole(json.dumps(completion).encode()))
    events = [f"data: {json.dumps(event)}\n\n".encode() for event in _events(completion)]
    return fault.carry(
        Wire((*events, b"data: [DONE]\n\n"), headers={"Content-Type": "text/event-stream"}, framing="chunks")
    )


def whole(body: bytes, status: int = 200, kind: str = "application/json", **headers: str) -> Wire:
    """A body of one piece."""
    return Wire((body,), status, {"Content-Type": kind, **headers})


def _events(completion: Completion) -> Iterator[Completion]:
    head = {**completion, "object": "chat.completion.chunk", "choices": [], "usage": None}
    if not completion["choices"]:
        yield {**head, "choices": completion["choices"]}
    for choice in completion["choices"] or []:
        message, logprobs = choice["message"], choice.get("logprobs")
        if message is None:
            yield {**head, "choices": [{"index": 0, "delta": None, "finish_reason": None}]}
            continue
        for token in re.findall(r"\s*\S+|\s+\Z", message.get("content") or "") or [None]:
            delta = {**message, "content": token}
            yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None, "logprobs": logprobs}]}
            logprobs = None
        yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if completion.get("usage") is not None:
        yield {**head, "usage": completion["usage"]}


def status(code: int, text: str = "scripted", **headers: str) -> Fault:
    """An error of the protocol, with ``headers`` such as ``retry_after``."""
    body = json.dumps({"error": {"message": text, "type": "scripted", "code": None}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(carry=lambda wire: whole(body, code, **named))


def refusal(code: int, text: str) -> Wire:
    """An error of the protocol as a reply of its own."""
    return status(code, text).carry(whole(b""))


def retry_at(seconds_from_now: float, now: float, code: int = 429) -> Fault:
    """A refusal that names a date to come back at."""
    return status(code, "slow down", retry_after=formatdate(now + seconds_from_now, usegmt=True))


def body(text: bytes, kind: str = "application/json") -> Fault:
    """This body with HTTP 200."""
    return Fault(carry=lambda wire: whole(text, kind=kind))


def say(text: str | None, *, finish: str = "stop", **message: Any) -> Fault:
    """Another text than the sound one, with no log-probabilities."""

    def edit(completion: Completion) -> None:
        choice = completion["choices"][0]
        choice.pop("logprobs", None)
        choice["finish_reason"] = finish
        choice["message"] |= {"content": text, **message}

    return Fault(edit)


def tokens(top: Any) -> Fault:
    """These candidates of the first token, where any were asked for."""

    def edit(completion: Completion) -> None:
        for choice in completion["choices"]:
            if choice.get("logprobs"):
                choice["logprobs"] = {
                    "content": [{"token": "yes", "logprob": -0.1, "bytes": None, "top_logprobs": top}]
                }

    return Fault(edit)


def candidates(*pairs: tuple[Any, Any]) -> Fault:
    """These tokens with these log-probabilities."""
    return tokens([{"token": token, "logprob": value, "bytes": None} for token, value in pairs])


def usage(figures: Any) -> Fault:
    """These figures of what the call cost."""
    return Fault(lambda completion: completion.update(usage=figures))


def spent(read: Any, written: Any, cached: Any = 0) -> Fault:
    """A usage of these figures."""
    total = read + written if isinstance(read, int) and isinstance(written, int) else None
    details = {"cached_tokens": cached}
    figures = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": total}
    return usage({**figures, "prompt_tokens_details": details})


def _half(wire: Wire, **changes: Any) -> Wire:
    text = b"".join(wire.pieces)
    return replace(wire, pieces=(text[: len(text) // 2],), **changes)


HANG = Fault(carry=lambda wire: Wire(status=0, end="hang"))
CUT = Fault(carry=lambda wire: _half(wire, promised=len(b"".join(wire.pieces)), end="cut"))


FAULTS: dict[str, Fault] = {
    "429": status(429, "slow down"),
    "429, back in 0.05 s": status(429, "slow down", retry_after="0.05"),
    "429, back in a year": status(429, "slow down", retry_after="31536000"),
    "429, back in the year 9999": status(429, "slow down", retry_after="Fri, 31 Dec 9999 23:59:59 GMT"),
    "500": status(500, "overloaded"),
    "502 with a page": Fault(carry=lambda wire: whole(PAGE, 502, "text/html")),
    "503": status(503, "overloaded"),
    "408": status(408, "too slow"),
    "hangs": HANG,
    "hangs up before": Fault(carry=lambda wire: Wire(status=0, end="cut")),
    "hangs up in the middle": CUT,
    "stalls in the middle": Fault(carry=lambda wire: _half(wire, promised=len(b"".join(wire.pieces)), end="hang")),
    "drips for ever": Fault(carry=lambda wire: replace(wire, pieces=(b" ",), framing="none", pause=1.0, end="drip")),
    "pours for ever": Fault(carry=lambda wire: replace(wire, pieces=(b" " * 65_536,), framing="none", end="drip")),
    "says the same for ever": Fault(
        carry=lambda wire: replace(wire, pieces=wire.pieces[:1], framing="none", end="drip")
    ),
    "empty body": body(b""),
    "truncated body": Fault(carry=_half),
    "malformed body": body(b'{"choices": [{]}'),
    "body of another shape": body(b"[1, 2]"),
    "nested body": body(b"[" * 10_000),
    "200 with a page": body(PAGE, "text/html"),
    "wrong content type": Fault(
        carry=lambda wire: replace(wire, headers={**wire.headers, "Content-Type": "text/plain"})
    ),
    "choices: []": Fault(lambda completion: completion.update(choices=[])),
    "choices: null": Fault(lambda completion: completion.update(choices=None)),
    "message: null": Fault(lambda completion: completion["choices"][0].update(message=None)),
    "empty content": say(""),
    "null content": say(None),
    "refusal": say(None, refusal="I cannot help with that."),
    "content filter": say("Air scatters", finish="content_filter"),
    "another word": say("Paris"),
    "thought alone": say("<think>yes"),
    "thought before": say("<think>The passage says so, yes.</think>no"),
    "malformed verdict": say('{"label": yes}'),
    "truncated verdict": say('{"label": "ye'),
    "wrong label": say('{"label": "purple"}'),
    "half a character": say("Blue \ud83d"),
    "no log-probabilities": Fault(
        lambda completion: [choice.pop("logprobs", None) for choice in completion["choices"]]
    ),
    "log-probabilities NaN": candidates(("yes", math.nan), ("no", math.nan)),
    "log-probabilities positive": candidates(("yes", 3.0), ("no", 1e308)),
    "log-probabilities odd": candidates(("yes", "high"), (None, -1.0), ("no", None)),
    "log-probabilities all minus infinity": candidates(("yes", -math.inf), ("no", -math.inf)),
    "log-probabilities no list": tokens("many"),
    "usage negative": spent(-5, -5, -5),
    "usage huge": spent(10**12, 10**12, 10**12),
    "usage of far more than was asked for": spent(50_000, 5_000),
    "usage in words": spent("many", "few", "none"),
    "usage fractional": spent(12.5, 0.5, 0.25),
    "usage null": usage(None),
    "usage of nulls": spent(None, None, None),
    "usage a list": usage([1, 2]),
    "usage missing": Fault(lambda completion: completion.pop("usage")),
    "more cached than read": spent(9, 1, 10**6),
    "a megabyte": say("all the rivers run into the sea, " * (MEGABYTE // 33)),
    "a megabyte of one word": say("x" * MEGABYTE),
}
