"""Attack with the replies of a chat server: transport, redirects and content."""

import gzip
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.integration.misbehaviour import FAULTS, Fault, Wire, body, say, status
from tests.stress.hostile.child_process import command_line, streaming
from tests.stress.hostile.strategies import HARMS, KEY, as_json, changed, changes, odd, unshown
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import QUESTION, World

BOMB = gzip.compress(bytes(10_000_000)) * 100
LOCATIONS = (
    *("http://127.0.0.1:{other}/v1", "http://localhost:{other}/v1", "//127.0.0.1:{other}/v1", "file:///etc/passwd"),
    *("http://127.0.0.1:{port}/v1/chat/completions", "http://[::1", "", "http://127.0.0.1:{other}/v1" + "/x" * 30_000),
    "http://{key}@127.0.0.1:{other}/{key}",
)
REFUSAL = "Incorrect API key provided: {key}, of user:{password}@here. You can find it at /etc/keys/{key}\n{key}"
RAW = (
    b"SSH-2.0-OpenSSH_9.6 KEY\r\n",
    b"HTTP/1.1 999999 KEY\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}KEY",
    b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffff\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nKEY\r\n{}",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nKEY",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000,
    b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000,
)
SHOWN_HEADERS = ("x-request-id", "server", "set-cookie", "www-authenticate", "openai-organization", "retry-after")
HEADERS = st.dictionaries(
    st.sampled_from((*SHOWN_HEADERS, "location", "content-encoding", "Content-Type")),
    (unshown("Cs") | odd() | st.just("{key}") | st.just("x" * 1_000_000)).map(
        lambda text: " ".join(text.encode("utf-8", "replace").decode().splitlines())
    ),
    min_size=1,
)
WIRES = st.one_of(
    st.just(("as it is", None)),
    st.tuples(st.just("encoded"), st.sampled_from(("gzip", "gzip, gzip", "deflate", "br", "zstd", "rot13"))),
    st.just(("bomb", None)),
    st.tuples(st.just("redirect"), st.tuples(st.sampled_from((301, 302, 303, 307, 308)), st.sampled_from(LOCATIONS))),
    st.tuples(st.just("refused"), st.tuples(st.sampled_from((400, 401, 403, 404, 418, 429, 500)), HEADERS)),
    st.tuples(st.just("refused by"), changes()),
    st.tuples(st.just("headers"), HEADERS),
    st.tuples(st.just("raw"), st.sampled_from(range(len(RAW)))),
    st.tuples(
        st.just("sent"),
        st.fixed_dictionaries(
            {"status": st.sampled_from([int(one) for one in HTTPStatus])},
            optional={
                "promised": st.integers(0, 10**6),
                "framing": st.sampled_from(("length", "chunks", "none")),
                "end": st.sampled_from(("cut", "hang", "drip")),
                "pause": st.just(0.2),
            },
        ),
    ),
)
EVENTS = ('data: {"error": {"message": "KEY"}}\n\n', "data: [1\n\ndata: {]\n\n")
BODIES = st.one_of(
    st.tuples(st.just("fault"), st.sampled_from(sorted(FAULTS))),
    st.tuples(st.just("changed"), changes()),
    st.tuples(st.just("says"), (unshown() | odd() | st.just(KEY)).map(lambda text: f"It is so.{text}")),
    st.tuples(st.just("refuses"), unshown() | st.just(KEY)),
    st.tuples(st.just("bytes"), st.sampled_from(sorted(HARMS))),
    st.tuples(st.just("events"), st.sampled_from(EVENTS)),
)


def carried(world: World, wire: Wire, how: tuple[str, Any]) -> Wire:
    """Return the reply as it is sent after an attack on its transport."""
    kind, given = how
    secrets = {"key": world.key, "password": world.password}
    match kind:
        case "encoded":
            squeeze = gzip.compress if given.startswith("gzip") else bytes
            return replace(
                wire, pieces=tuple(map(squeeze, wire.pieces)), headers={**wire.headers, "Content-Encoding": given}
            )
        case "bomb":
            return Wire((BOMB,), headers={**wire.headers, "Content-Encoding": "gzip"})
        case "redirect":
            code, where = given
            ports = {"port": world.server.port, "other": world.other.port}
            return Wire((b"",), code, {"Location": where.format(**ports, **secrets)})
        case "refused":
            code, headers = given
            return _with_headers(world, status(code, REFUSAL.format(**secrets)).carry(wire), headers)
        case "refused by":
            error = {"error": {"message": KEY, "type": KEY, "param": None, "code": KEY}}
            return Wire((as_json(changed(error, given), world.key),), 400, {"Content-Type": "application/json"})
        case "headers":
            return _with_headers(world, wire, given)
        case "raw":
            return Wire((RAW[given].replace(b"KEY", world.key.encode()),), status=0, end="cut")
        case "sent":
            return replace(wire, **{**given, "pieces": wire.pieces or (b"",)})
    return wire


def _with_headers(world: World, wire: Wire, headers: dict[str, str]) -> Wire:
    return replace(
        wire, headers={**wire.headers, **{name: one.replace("{key}", world.key) for name, one in headers.items()}}
    )


def told(world: World, how: tuple[str, Any]) -> Fault:
    """Return the fault of a reply whose content is attacked."""
    kind, given = how
    match kind:
        case "fault":
            return FAULTS[given]
        case "changed":
            return Fault(carry=lambda wire: _changed(world, wire, given))
        case "bytes":
            return Fault(carry=lambda wire: replace(wire, pieces=(HARMS[given](b"".join(wire.pieces)),)))
        case "events":
            return body(given.replace("KEY", world.key).encode(), "text/event-stream")
    text = given.replace(KEY, world.key)
    return say(text) if kind == "says" else say(None, refusal=text)


def _changed(world: World, wire: Wire, changes: Any) -> Wire:
    """Change the JSON of a body, or of each event of a stream."""
    pieces = []
    for data in wire.pieces:
        start = b"data: " if data.startswith(b"data: ") else b""
        with suppress(ValueError):
            value = changed(json.loads(data.removeprefix(start)), changes)
            data = start + as_json(value, world.key) + (b"\n\n" if start else b"")
        pieces.append(data)
    return replace(wire, pieces=tuple(pieces))


KINDS: tuple[tuple[str, ...], ...] = ((), ("draft", "mend", "improve"), ("relevance", "support", "usefulness"))
WAYS = {"as it is": command_line, "streamed": streaming}
OPTIONS = ((), ("--json",), ("--json", "--explain"))


def _reply(world: World, dice: Random, run: str, kinds: Sequence[str], wire: Any, content: Any, options: Any) -> None:
    fault = told(world, content) + Fault(carry=lambda sent: carried(world, sent, wire))
    world.server.always = lambda asked: fault if not kinds or asked.kind in kinds else None
    world.call(WAYS[run], [QUESTION, "--docs", str(world.docs), *options])


REPLIES = Surface(
    "replies",
    st.tuples(st.sampled_from(sorted(WAYS)), st.sampled_from(KINDS), WIRES, BODIES, st.sampled_from(OPTIONS)),
    _reply,
)
