"""A model server on a loopback port, in a process of its own, whose every call takes a set time.

It speaks the OpenAI protocol, admits so many calls at a time and lets the others wait in line, and remembers when each
call was served and what it read. Questions come on the first line of its standard input, and it ends with that.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.latency.replies import Model, PrefixCache, Reply, json_of, questions_from, questions_to
from benchmarks.latency.shelf import Asked
from benchmarks.loopback import Loopback

ANSWER_TOKENS = 100


@dataclass(frozen=True)
class Pace:
    """Seconds a call, and seconds for each token of its reply; ``admitted`` is how many calls run at a time."""

    call: float
    token: float = 0.0
    admitted: int = 64


@dataclass(frozen=True)
class Call:
    """One call: when it was asked, admitted and served, in seconds of the server's clock, and its tokens."""

    asked: float
    began: float
    ended: float
    input_tokens: int
    cached_tokens: int
    output_tokens: int


@dataclass
class Server:
    """The server's state. Each model name has a prefix cache and a record of calls of its own."""

    model: Model
    pace: Pace
    calls: dict[str, list[Call]] = field(default_factory=dict)
    caches: dict[str, PrefixCache] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._turn = asyncio.Semaphore(self.pace.admitted)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it is closed."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                line, _, rest = head.decode("latin-1").partition("\r\n")
                headers = {
                    name.lower(): value.strip() for name, _, value in (one.partition(":") for one in rest.splitlines())
                }
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                async for part in self.respond(line.split(" ")[1], body):
                    writer.write(part)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client hung up, or the server is at its end
        finally:
            writer.close()

    async def respond(self, path: str, body: bytes) -> AsyncIterator[bytes]:
        """The response to one request, in parts."""
        if path.startswith("/calls/"):
            calls = self.calls.pop(path.removeprefix("/calls/"), [])
            yield _response(json.dumps([vars(call) for call in calls]).encode())
            return
        asked = time.perf_counter()
        request = json.loads(body)
        try:
            reply = self.model.reply(request["messages"])
        except LookupError as error:
            yield _response(json.dumps({"error": {"message": str(error)}}).encode(), "400 Bad Request")
            return
        async with self._turn:
            began = time.perf_counter()
            read, cached = self.caches.setdefault(request["model"], PrefixCache()).read(request["messages"])
            usage = _usage(read, cached, reply)
            if request.get("stream"):
                async for part in self._streamed(request, reply, usage):
                    yield part
            else:
                await asyncio.sleep(self.pace.call + self.pace.token * reply.tokens)
                message = {"role": "assistant", "content": reply.text}
                choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": json_of(reply)}
                yield _response(json.dumps(_object(request, "chat.completion", [choice], usage)).encode())
            ended = time.perf_counter()
        call = Call(asked, began, ended, read, cached, reply.tokens)
        self.calls.setdefault(request["model"], []).append(call)

    async def _streamed(
        self, request: Mapping[str, Any], reply: Reply, usage: Mapping[str, Any]
    ) -> AsyncIterator[bytes]:
        """The reply word by word, spread over the time that its tokens take."""
        yield (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        await asyncio.sleep(self.pace.call)
        words = reply.text.split(" ")
        for number, word in enumerate(words):
            await asyncio.sleep(self.pace.token * reply.tokens / len(words))
            delta = {"role": "assistant", "content": f" {word}" if number else word}
            last = number == len(words) - 1
            choice = {"index": 0, "delta": delta, "finish_reason": "stop" if last else None, "logprobs": None}
            if not number:
                choice["logprobs"] = json_of(reply)
            yield _event(_object(request, "chat.completion.chunk", [choice], None))
        yield _event(_object(request, "chat.completion.chunk", [], usage))
        yield _chunk(b"data: [DONE]\n\n") + _chunk(b"")


def _object(
    request: Mapping[str, Any], kind: str, choices: Sequence[Mapping[str, Any]], usage: Mapping[str, Any] | None
) -> dict[str, Any]:
    return {
        "id": "call",
        "object": kind,
        "created": int(time.time()),
        "model": request["model"],
        "choices": choices,
        "usage": usage,
    }


def _usage(read: int, cached: int, reply: Reply) -> dict[str, Any]:
    return {
        "prompt_tokens": read,
        "completion_tokens": reply.tokens,
        "total_tokens": read + reply.tokens,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _response(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _event(value: Mapping[str, Any]) -> bytes:
    return _chunk(f"data: {json.dumps(value)}\n\n".encode())


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class Address(Loopback):
    """Where a server runs."""

    def calls_of(self, model: str) -> list[Call]:
        """The calls to ``model`` since this was last asked."""
        return [Call(**call) for call in self.read(f"calls/{model}")]


@contextmanager
def serving(asked: Sequence[Asked], pace: Pace, answer_tokens: int = ANSWER_TOKENS) -> Iterator[Address]:
    """A server in another process, ended with the block."""
    command = [sys.executable, "-m", "benchmarks.latency.server", "--answer", str(answer_tokens)]
    command += ["--call", str(pace.call), "--token", str(pace.token), "--admit", str(pace.admitted)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None  # noqa: S101 - piped above
        assert process.stdout is not None  # noqa: S101
        try:
            process.stdin.write(questions_to(asked) + "\n")
            process.stdin.flush()
            yield Address(int(process.stdout.readline()))
        finally:
            process.stdin.close()  # which ends it


async def run(model: Model, pace: Pace) -> None:
    """Serve until standard input is closed; the port is printed first."""
    server = await asyncio.start_server(Server(model, pace).serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    """Read the questions, serve."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--call", type=float, default=0.3)
    parser.add_argument("--token", type=float, default=0.0)
    parser.add_argument("--admit", type=int, default=64)
    parser.add_argument("--answer", type=int, default=ANSWER_TOKENS)
    options = parser.parse_args()
    model = Model(questions_from(sys.stdin.readline()), options.answer)
    asyncio.run(run(model, Pace(options.call, options.token, options.admit)))


if __name__ == "__main__":
    main()
