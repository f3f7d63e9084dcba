"""Attack with the replies of a chat server: transport, redirects and content."""

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st
from langgraph.pregel import Pregel

from tests.integration.misbehaviour import FAULTS, Fault, Wire, body, say, status
from tests.stress.hostile.run_checks import check
from tests.stress.hostile.strategies import HARMS, changed, changes, odd, unshown
from tests.stress.hostile.world import KEY, PASSWORD, World

BOMB = gzip.compress(bytes(10_000_000)) * 100
LOCATIONS = (
    *("http://127.0.0.1:{other}/v1", "http://localhost:{other}/v1", "//127.0.0.1:{other}/v1", "file:///etc/passwd"),
    *("http://127.0.0.1:{port}/v1/chat/completions", "http://[::1", "", "http://127.0.0.1:{other}/v1" + "/x" * 30_000),
    f"http://{KEY}@127.0.0.1:{{other}}/{KEY}",
)
REFUSAL = f"Incorrect API key provided: {KEY}, of user:{PASSWORD}@here. You can find it at /etc/keys/{KEY}\n{KEY}"
RAW = (
    f"SSH-2.0-OpenSSH_9.6 {KEY}\r\n",
    f"HTTP/1.1 999999 {KEY}\r\nContent-Length: 2\r\n\r\n{{}}",
    f"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{{}}{KEY}",
    "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffff\r\n{}",
    f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{KEY}\r\n{{}}",
    f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n{KEY}",
    "HTTP/1.1 100 Continue\r\n\r\n" * 100_000,
    "HTTP/1.1 200 OK\r\n" + "x: y\r\n" * 100_000,
)
SHOWN_HEADERS = ("x-request-id", "server", "set-cookie", "www-authenticate", "openai-organization", "retry-after")
HEADERS = st.dictionaries(
    st.sampled_from((*SHOWN_HEADERS, "location", "content-encoding", "Content-Type")),
    (unshown("Cs") | odd() | st.just(KEY) | st.just("x" * 1_000_000)).map(
        lambda text: " ".join(text.encode("utf-8", "replace").decode().splitlines())
    ),
    min_size=1,
)
SENT = st.fixed_dictionaries(
    {"status": st.sampled_from([int(one) for one in HTTPStatus])},
    optional={
        "promised": st.integers(0, 10**6),
        "framing": st.sampled_from(("length", "chunks", "none")),
        "end": st.sampled_from(("cut", "hang", "drip")),
        "pause": st.just(0.2),
    },
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
    st.tuples(st.just("sent"), SENT),
)
EVENTS = (f'data: {{"error": {{"message": "{KEY}"}}}}\n\n', "data: [1\n\ndata: {]\n\n")
BODIES = st.one_of(
    st.tuples(st.just("fault"), st.sampled_from(sorted(FAULTS))),
    st.tuples(st.just("changed"), changes()),
    st.tuples(st.just("says"), (unshown() | odd() | st.just(KEY)).map(lambda text: f"It is so.{text}")),
    st.tuples(st.just("refuses"), unshown() | st.just(KEY)),
    st.tuples(st.just("bytes"), st.sampled_from(sorted(HARMS))),
    st.tuples(st.just("events"), st.sampled_from(EVENTS)),
)
KINDS: tuple[tuple[str, ...], ...] = ((), ("draft", "mend", "improve"), ("relevance", "support", "usefulness"))
OPTIONS = ((), ("--json",), ("--json", "--explain"))
ATTACKS = st.tuples(st.booleans(), st.sampled_from(KINDS), WIRES, BODIES, st.sampled_from(OPTIONS))


def play(
    world: World, stream: bool, kinds: Sequence[str], wire: Any, content: Any, options: Sequence[str]
) -> Iterator[str]:
    """Ask a server whose replies, of these kinds or all, are attacked in transport and content; yield violations."""
    fault = told(content) + Fault(carry=lambda sent: carried(world, sent, wire))
    world.server.always = lambda asked: fault if not kinds or asked.kind in kinds else None
    with streamed() if stream else nullcontext():
        ended = world.ask(*options)
    yield from check(world, ended, as_json="--json" in options)


@contextmanager
def streamed() -> Iterator[None]:
    """Stream what models write too, so that the server is asked to stream."""
    whole = Pregel.astream

    async def astream(self: Any, *given: Any, stream_mode: Any, **more: Any) -> Any:
        async for mode, chunk in whole(self, *given, stream_mode=[*stream_mode, "messages"], **more):
            if mode != "messages":
                yield mode, chunk

    with patch.object(Pregel, "astream", astream):
        yield


def carried(world: World, wire: Wire, how: tuple[str, Any]) -> Wire:
    kind, given = how
    match kind:
        case "encoded":
            squeeze = gzip.compress if given.startswith("gzip") else bytes
            return _with_headers(replace(wire, pieces=tuple(map(squeeze, wire.pieces))), {"Content-Encoding": given})
        case "bomb":
            return _with_headers(replace(wire, pieces=(BOMB,)), {"Content-Encoding": "gzip"})
        case "redirect":
            code, where = given
            return Wire((b"",), code, {"Location": where.format(port=world.server.port, other=world.other.port)})
        case "refused":
            code, headers = given
            return _with_headers(status(code, REFUSAL).carry(wire), headers)
        case "refused by":
            error = {"error": {"message": KEY, "type": KEY, "param": None, "code": KEY}}
            return Wire((changed(error, given),), 400, {"Content-Type": "application/json"})
        case "headers":
            return _with_headers(wire, given)
        case "raw":
            return Wire((RAW[given].encode(),), status=0, end="cut")
        case "sent":
            return replace(wire, **{**given, "pieces": wire.pieces or (b"",)})
    return wire


def _with_headers(wire: Wire, headers: dict[str, str]) -> Wire:
    return replace(wire, headers={**wire.headers, **headers})


def told(how: tuple[str, Any]) -> Fault:
    kind, given = how
    match kind:
        case "fault":
            return FAULTS[given]
        case "changed":
            return Fault(carry=lambda wire: _changed(wire, given))
        case "bytes":
            return Fault(carry=lambda wire: replace(wire, pieces=(HARMS[given](b"".join(wire.pieces)),)))
        case "events":
            return body(given.encode(), "text/event-stream")
        case "refuses":
            return say(None, refusal=given)
    return say(given)


def _changed(wire: Wire, changes: Any) -> Wire:
    """Change the JSON of a body, or of each event of a stream."""
    pieces = []
    for data in wire.pieces:
        start = b"data: " if data.startswith(b"data: ") else b""
        with suppress(ValueError):
            value = changed(json.loads(data.removeprefix(start)), changes)
            data = start + value + (b"\n\n" if start else b"")
        pieces.append(data)
    return replace(wire, pieces=tuple(pieces))
