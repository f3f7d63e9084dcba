"""Attack with the replies of a chat or embedding server: transport, redirects and content."""

from __future__ import annotations

import base64
import gzip
import json
import math
import zlib
from collections.abc import Callable, MutableMapping
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any
from urllib.parse import quote

import zstandard

from tests.integration.misbehaviour import FAULTS, Completion, Fault, Wire, body, candidates, say, status, tokens
from tests.stress.hostile.child_process import command_line, streaming
from tests.stress.hostile.hostile_texts import UNSHOWN
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import QUESTION, World

Carry = Callable[[World, Wire], Wire]
BOMB = 1_000_000_000
SLOW = 0.2


def _text(wire: Wire) -> bytes:
    return b"".join(wire.pieces)


def _encoded(name: str, squeeze: Callable[[bytes], bytes]) -> Carry:
    def carry(world: World, wire: Wire) -> Wire:
        return replace(
            wire, pieces=tuple(map(squeeze, wire.pieces)), headers={**wire.headers, "Content-Encoding": name}
        )

    return carry


def _bomb(name: str, make: Callable[[], bytes]) -> Carry:
    return lambda world, wire: Wire((make(),), headers={**wire.headers, "Content-Encoding": name})


@cache
def _zeros(bits: int) -> bytes:
    squeeze = zlib.compressobj(9, wbits=bits)
    block = b" " * 10_000_000
    return b"".join(squeeze.compress(block) for _ in range(BOMB // len(block))) + squeeze.flush()


@cache
def _zstd_bomb() -> bytes:
    squeeze = zstandard.ZstdCompressor(level=3).compressobj()
    block = b" " * 10_000_000
    return b"".join(squeeze.compress(block) for _ in range(BOMB // len(block))) + squeeze.flush()


def _redirect(code: int, where: Callable[[World], str]) -> Carry:
    return lambda world, wire: Wire((b"",), code, {"Location": where(world)})


def _elsewhere(world: World) -> str:
    return f"{world.other.base_url}/chat/completions"


def _headers(**given: str) -> Carry:
    def carry(world: World, wire: Wire) -> Wire:
        secrets = {"key": world.key, "password": world.password}
        named = {name.replace("_", "-"): value.format(**secrets) for name, value in given.items()}
        return replace(wire, headers={**wire.headers, **named})

    return carry


def _raw(reply: bytes) -> Carry:
    return lambda world, wire: Wire((reply.replace(b"KEY", world.key.encode()),), status=0, end="cut")


def _refused(code: int, **headers: str) -> Carry:
    text = "Incorrect API key provided: {key}, of user:{password}@here. You can find it at /etc/keys/{key}\n{key}"
    return lambda world, wire: status(code, text.format(key=world.key, password=world.password), **headers).carry(wire)


def _error_body(**fields: Any) -> Carry:
    def carry(world: World, wire: Wire) -> Wire:
        text = json.dumps({"error": fields}).replace("KEY", world.key)
        return Wire((text.encode(),), 400, {"Content-Type": "application/json"})

    return carry


WIRES: dict[str, Carry] = {
    "as it is": lambda world, wire: wire,
    "gzip": _encoded("gzip", gzip.compress),
    "gzip twice": _encoded("gzip, gzip", lambda data: gzip.compress(gzip.compress(data))),
    "deflate": _encoded("deflate", zlib.compress),
    "zstd": _encoded("zstd", zstandard.compress),
    "gzip in name only": _encoded("gzip", bytes),
    "br in name only": _encoded("br", bytes),
    "unknown encoding": _encoded("rot13", bytes),
    "a hundred encodings": _encoded(", ".join(["gzip"] * 100), bytes),
    "gzip that ends early": _encoded("gzip", lambda data: gzip.compress(data)[:-12]),
    "gzip bomb": _bomb("gzip", lambda: _zeros(31)),
    "gzip bomb, twice": _bomb("gzip, gzip", lambda: gzip.compress(_zeros(31))),
    "deflate bomb": _bomb("deflate", lambda: _zeros(15)),
    "zstd bomb": _bomb("zstd", _zstd_bomb),
    "302 elsewhere": _redirect(302, _elsewhere),
    "303 elsewhere": _redirect(303, _elsewhere),
    "307 elsewhere": _redirect(307, _elsewhere),
    "308 elsewhere": _redirect(308, _elsewhere),
    "307 to another name of this machine": _redirect(
        307, lambda world: _elsewhere(world).replace("127.0.0.1", "localhost")
    ),
    "307 without a scheme": _redirect(307, lambda world: _elsewhere(world).partition(":")[2]),
    "307 to itself": _redirect(307, lambda world: f"{world.server.base_url}/chat/completions"),
    "307 to a file": _redirect(307, lambda world: "file:///etc/passwd"),
    "307 to half an address": _redirect(307, lambda world: "http://[::1"),
    "307 with the key": _redirect(
        307, lambda world: f"http://{quote(world.key, safe='')}@127.0.0.1:{world.other.port}/{world.key}"
    ),
    "307 to nowhere": _redirect(307, lambda world: ""),
    "307 to many": _redirect(307, lambda world: _elsewhere(world) + "/x" * 30_000),
    "401 with the key": _refused(401),
    "403 with the key": _refused(403),
    "404 with the key": _refused(404),
    "400 with the key": _refused(400),
    "418 with the key": _refused(418),
    "429 with the key": _refused(429, retry_after="0.01"),
    "500 with the key": _refused(500),
    "429, back in nan": _refused(429, retry_after="nan"),
    "429, back before": _refused(429, retry_after="-5"),
    "429, back in 400 digits": _refused(429, retry_after="9" * 400),
    "400 with the key as code": _error_body(message="no", code="KEY", type="KEY", param="KEY"),
    "400 with a message that is none": _error_body(message={"KEY": ["KEY"]}),
    "400 with a megabyte": _error_body(message="KEY " * 40_000),
    "204": lambda world, wire: Wire((), 204),
    "206": lambda world, wire: replace(wire, status=206, headers={**wire.headers, "Content-Range": "bytes 0-9/99"}),
    "key in the headers": _headers(x_request_id="{key}", server="{password}", www_authenticate='Bearer realm="{key}"'),
    "a cookie": _headers(set_cookie="session={key}; Domain=127.0.0.1", location="http://evil.example"),
    "a long header": _headers(x_request_id="x" * 1_000_000),
    "many headers": lambda world, wire: replace(
        wire, headers={**wire.headers, **{f"x-{number}": "y" for number in range(20_000)}}
    ),
    "a header of controls": _headers(x_request_id="\x1b[31m\x07", openai_organization="\u202e"),
    "a charset that is none": _headers(Content_Type="application/json; charset=punycode"),
    "slowly": lambda world, wire: replace(
        wire, pieces=tuple(_text(wire)[at : at + 40] for at in range(0, 400, 40)), pause=SLOW
    ),
    "no HTTP": _raw(b"SSH-2.0-OpenSSH_9.6 KEY\r\n"),
    "HTTP/0.9": _raw(b"KEY" * 100),
    "a status that is none": _raw(b"HTTP/1.1 999999 KEY\r\nContent-Length: 2\r\n\r\n{}"),
    "two lengths": _raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}KEY"),
    "less than nothing": _raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}"),
    "a chunk without end": _raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffff\r\n{}"),
    "a chunk that is none": _raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nKEY\r\n{}"),
    "continue for ever": _raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000),
    "another protocol": _raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nKEY"),
    "headers that do not end": _raw(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000),
}


def _fixed(fault: Fault) -> Callable[[World], Fault]:
    return lambda world: fault


def _edited(change: Callable[[Completion, World], object]) -> Callable[[World], Fault]:
    return lambda world: Fault(lambda completion: change(completion, world))


def _in_choice(key: str, value: Callable[[World], Any]) -> Callable[[World], Fault]:
    return _edited(lambda completion, world: completion["choices"][0].update({key: value(world)}))


def _in_message(**fields: Any) -> Callable[[World], Fault]:
    def change(completion: Completion, world: World) -> None:
        told = json.loads(json.dumps(fields).replace("KEY", world.key))
        completion["choices"][0]["message"].update(told)

    return _edited(change)


def _nested(depth: int) -> Any:
    made: Any = "x"
    for _ in range(depth):
        made = {"a": [made]}
    return made


BODIES: dict[str, Callable[[World], Fault]] = {
    **{name: _fixed(fault) for name, fault in FAULTS.items()},
    **{f"content {name}": _fixed(say(f"It is so.{text}")) for name, text in UNSHOWN.items()},
    "key in the content": lambda world: say(f"The key is {world.key}."),
    "key in the refusal": lambda world: say(None, refusal=f"I will not, {world.key}\n{world.password}."),
    "key in the finish reason": _in_choice("finish_reason", lambda world: world.key),
    "key in the model": _edited(lambda completion, world: completion.update(model=world.key, id=world.key)),
    "key in the tokens": lambda world: candidates((world.key, -0.1), ("no", -3.0)),
    "key in the role": _in_message(role="KEY"),
    "key in a tool call": _in_message(
        tool_calls=[{"id": "KEY", "type": "function", "function": {"name": "KEY", "arguments": "KEY"}}]
    ),
    "key in a function call": _in_message(function_call={"name": "KEY", "arguments": "{KEY"}),
    "key in the error": _edited(lambda completion, world: completion.update(error={"message": world.key})),
    "key where a number should be": _edited(
        lambda completion, world: completion.update(usage={"prompt_tokens": world.key, "completion_tokens": world.key})
    ),
    "key where a list should be": _edited(lambda completion, world: completion.update(choices=world.key)),
    "key as a choice": _edited(lambda completion, world: completion.update(choices=[world.key])),
    "key as the message": _in_choice("message", lambda world: world.key),
    "key as the content's parts": _in_message(content=[{"type": "KEY", "text": "KEY", "KEY": "KEY"}]),
    "controls in the refusal": lambda world: say(None, refusal="No" + "".join(UNSHOWN.values())),
    "controls in the finish reason": _in_choice("finish_reason", lambda world: "".join(UNSHOWN.values())),
    "controls in the tokens": lambda world: candidates(("".join(UNSHOWN.values()), -0.1), ("no", -3.0)),
    "content a number": _in_message(content=10**400),
    "content an object": _in_message(content={"text": {"value": "x"}}),
    "content a list of lists": _in_message(content=[[["x"]]]),
    "content nested": lambda world: Fault(
        lambda completion: completion["choices"][0]["message"].update(content=_nested(300))
    ),
    "parts without end": _in_message(content=[{"type": "text", "text": "a"}] * 50_000),
    "ten thousand choices": _edited(
        lambda completion, world: completion.update(choices=completion["choices"] * 10_000)
    ),
    "index huge": _in_choice("index", lambda world: 10**30),
    "created huge": _edited(lambda completion, world: completion.update(created=10**300, system_fingerprint=10**300)),
    "numbers of 5,000 digits": lambda world: body(b'{"choices": [], "created": ' + b"9" * 5_000 + b"}"),
    "exponents": lambda world: body(b'{"choices": [{"index": 1e999, "message": {"content": -1e999}}]}'),
    "objects in objects": lambda world: body(b'{"a":' * 200_000),
    "keys without end": lambda world: body(b"{" + b",".join(b'"%d":0' % number for number in range(150_000)) + b"}"),
    "the same key": lambda world: body(b'{"choices": [], "choices": 1, "choices": null}'),
    "half a character as a key": lambda world: body(b'{"\\ud83d": {"\\udc00": "\\ud83d"}}'),
    "not UTF-8": lambda world: body(b'{"choices": "\xff\xfe\x9b"}'),
    "UTF-16": lambda world: body('{"choices": []}'.encode("utf-16")),
    "a mark before": lambda world: body(b'\xef\xbb\xbf{"choices": []}'),
    "tokens nested": lambda world: tokens(_nested(300)),
    "tokens many": lambda world: candidates(*((f"yes{number}", -1.0) for number in range(20_000))),
    "token of a megabyte": lambda world: candidates(("yes" * 300_000, -0.1)),
    "log-probabilities huge": lambda world: candidates(("yes", 10**400), ("no", -(10**400))),
    "log-probabilities of truth": lambda world: candidates(("yes", True), ("no", [])),
    "usage nested": lambda world: Fault(lambda completion: completion.update(usage=_nested(300))),
    "usage in exponents": lambda world: body(
        b'{"choices":[{"message":{"role":"assistant","content":"x"}}],"usage":{"prompt_tokens":1e999}}'
    ),
    "an event for ever": lambda world: Fault(
        carry=lambda wire: Wire((b"data: {}\n\n",), headers={"Content-Type": "text/event-stream"}, end="drip")
    ),
    "an event without end": lambda world: Fault(
        carry=lambda wire: Wire((b"data: " + b"x" * 1_900_000,), headers={"Content-Type": "text/event-stream"})
    ),
    "events of an error": lambda world: body(
        f'data: {{"error": {{"message": "{world.key}"}}}}\n\n'.encode(), "text/event-stream"
    ),
    "events that are none": lambda world: body(
        b"data: [1\n\ndata: {]\n\nevent: error\ndata: x\n\n", "text/event-stream"
    ),
}
PROVIDER = {"OPENAI_BASE_URL": None, "SELFRAG_CHAT_MODEL": "openai:gpt-4o-mini"}
WAYS = {
    "endpoint": (command_line, False),
    "provider": (command_line, True),
    "endpoint, streamed": (streaming, False),
    "provider, streamed": (streaming, True),
}
KINDS: dict[str, tuple[str, ...]] = {
    "every call": (),
    "the draft": ("draft", "mend", "improve"),
    "the verdicts": ("relevance", "support", "usefulness", "retrieve"),
}
SHOWN = {"text": (), "JSON": ("--json",), "JSON with reasons": ("--json", "--explain")}


def _reply(
    world: World,
    dice: Random,
    way: tuple[Callable[..., int], bool],
    kinds: tuple[str, ...],
    wire: Carry,
    told: Callable[[World], Fault],
    options: tuple[str, ...],
) -> None:
    wire(world, Wire())  # what takes long to make is made before it is asked for
    fault = told(world) + Fault(carry=lambda sent: wire(world, sent))
    world.server.always = lambda asked: fault if not kinds or asked.kind in kinds else None
    run, provider = way
    address = f"http://user:{world.password}@127.0.0.1:{world.server.port}/v1"
    environment: dict[str, str | None] = {**PROVIDER, "OPENAI_API_BASE": address} if provider else {}
    world.call(run, [QUESTION, "--docs", str(world.docs), *options], environment=environment)


REPLIES = Surface("replies", (WAYS, KINDS, WIRES, BODIES, SHOWN), _reply)


def _rows(change: Callable[[list[Any]], Any]) -> Fault:
    return Fault(lambda reply: reply.update(data=change(reply["data"])))


def _each(change: Callable[[list[float]], Any]) -> Fault:
    return _rows(lambda rows: [{**row, "embedding": change(row["embedding"])} for row in rows])


def _numbered(*numbers: Any) -> Fault:
    return _rows(lambda rows: [{**row, "index": numbers[at % len(numbers)]} for at, row in enumerate(rows)])


def _error_alone(reply: MutableMapping[str, Any]) -> None:
    reply.clear()
    reply["error"] = {"message": "no"}


VECTORS: dict[str, Fault] = {
    "sound": Fault(),
    "too few": _rows(lambda rows: rows[1:]),
    "too many": _rows(lambda rows: rows * 3),
    "none": _rows(lambda rows: []),
    "null": _rows(lambda rows: None),
    "a number": _rows(lambda rows: 7),
    "strings": _each(lambda row: [str(number) for number in row]),
    "a string": _each(lambda row: "x"),
    "base64 of nothing": _each(lambda row: ""),
    "base64 of three bytes": _each(lambda row: base64.b64encode(b"abc").decode()),
    "base64 of NaN": _each(lambda row: base64.b64encode(b"\xff" * 512).decode()),
    "no numbers": _each(lambda row: []),
    "nulls": _each(lambda row: [None] * len(row)),
    "NaN": _each(lambda row: [math.nan] * len(row)),
    "one NaN": _each(lambda row: [math.nan, *row[1:]]),
    "infinite": _each(lambda row: [math.inf, *row[1:]]),
    "zeros": _each(lambda row: [0.0] * len(row)),
    "tiny": _each(lambda row: [1e-300] * len(row)),
    "huge": _each(lambda row: [1e300] * len(row)),
    "integers of 400 digits": _each(lambda row: [10**400] * len(row)),
    "truth": _each(lambda row: [True] * len(row)),
    "nested": _each(lambda row: [row]),
    "objects": _each(lambda row: [{"a": 1}]),
    "one number": _each(lambda row: row[:1]),
    "of many numbers": _each(lambda row: row * 1_000),
    "each of another length": _rows(
        lambda rows: [{**row, "embedding": row["embedding"][: 10 + at]} for at, row in enumerate(rows)]
    ),
    "no embedding": _rows(lambda rows: [{"index": at} for at, _ in enumerate(rows)]),
    "strings for rows": _rows(lambda rows: ["x" for _ in rows]),
    "backwards": _rows(lambda rows: rows[::-1]),
    "numbered alike": _numbered(0),
    "numbered from below": _numbered(-1, -2),
    "numbered far": _numbered(10**12),
    "numbered in words": _numbered("first"),
    "another object": Fault(_error_alone),
    "usage of nulls": Fault(lambda reply: reply.update(usage=None)),
    "a model of controls": Fault(lambda reply: reply.update(model="\x1b[31m\u202e")),
    **{
        name: FAULTS[name]
        for name in (
            *("hangs", "hangs up before", "hangs up in the middle", "stalls in the middle", "drips for ever"),
            *("pours for ever", "empty body", "truncated body", "malformed body", "body of another shape"),
            *("nested body", "200 with a page", "wrong content type", "500", "429, back in a year", "502 with a page"),
        )
    },
}
WHEN = {"while it indexes": True, "while it searches": False}


def _embedding(world: World, dice: Random, wire: Carry, told: Fault, indexing: bool) -> None:
    environment: dict[str, str | None] = {"SELFRAG_EMBEDDING_MODEL": "openai:text-embedding-3-small"}
    wire(world, Wire())
    attack = told + Fault(carry=lambda sent: wire(world, sent))
    if indexing:
        world.server.embed = attack
    else:
        world.run("index", str(world.docs), environment=environment)
        world.server.embed = attack
    world.run(QUESTION, "--json", environment=environment)
    if indexing:  # what came of it must not stay
        world.server.embed = Fault()
        ended = world.run(QUESTION, "--json", environment=environment)
        if ended.code != 0:
            world.broken.append(f"lasting: exit code {ended.code} when the server is sound again: {ended.err[-300:]}")


EMBEDDINGS = Surface("embeddings", (WIRES, VECTORS, WHEN), _embedding)
