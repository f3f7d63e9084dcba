"""A model server on a loopback port, in a process of its own, of whose replies a share goes wrong.

It remembers how often each question came, by the number that stands in it, and which faults it had. What goes wrong is
drawn anew for each request, from a seed; it ends with its standard input.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from benchmarks.loopback import Loopback
from tests.stress.faults.dice import reply_to
from tests.stress.faults.misbehaviour import FAULTS, Wire, sent, status, whole

NUMBER = re.compile(r"\bticket (\d+)\b")
MOST_POURED = 64  # pieces, lest a server that pours for ever takes the processor from all that is measured


@dataclass
class Server:
    """The server's state: requests by question, and faults by name."""

    seed: int
    share: float
    requests: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it is closed, by either side."""
        try:
            open_ = True
            while open_:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"(?im)^content-length:\s*(\d+)", head)
                body = await reader.readexactly(int(length.group(1))) if length else b""
                open_ = await play(self.reply(head.split(" ")[1], body), writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the client is gone, or the server ends
        finally:
            writer.close()

    def reply(self, path: str, body: bytes) -> Wire:
        """What is sent for one request."""
        if path == "/record":
            return whole(json.dumps({"requests": self.requests, "faults": self.faults}).encode())
        request = json.loads(body)
        found = NUMBER.findall("\n".join(str(one["content"]) for one in request["messages"]))
        number = found[-1] if found else "none"
        self.requests[number] += 1
        dice = Random(f"{self.seed}/{number}/{self.requests[number]}")
        name = dice.choice(list(FAULTS)) if dice.random() < self.share else None
        if name:
            self.faults[name] += 1
        try:
            completion = reply_to(request, dice)
        except LookupError as error:
            return status(418, str(error)).carry(whole(b""))
        return sent(completion, FAULTS[name] if name else None, stream=bool(request.get("stream")))


async def play(wire: Wire, writer: asyncio.StreamWriter) -> bool:
    """Send a reply, as slowly as it is to be sent; whether the connection stays open."""
    writer.write(wire.head())
    for number, piece in enumerate(wire.frames()):
        if wire.pause or number >= MOST_POURED:
            await asyncio.sleep(wire.pause or 1.0)
        writer.write(piece)
        await writer.drain()
    if wire.end == "hang":
        await asyncio.sleep(60)
    return wire.end == "keep" and wire.framing != "none"


class Address(Loopback):
    """Where a server runs."""

    def record(self) -> dict[str, dict[str, int]]:
        """The server's own count: requests by question, and faults by name."""
        found: dict[str, dict[str, int]] = self.read("record")
        return found


@contextmanager
def serving(seed: int, share: float) -> Iterator[Address]:
    """A server in another process, ended with the block."""
    command = [sys.executable, "-m", "tests.stress.faults.server", "--seed", str(seed), "--share", str(share)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Address(int(process.stdout.readline()))
        finally:
            process.stdin.close()  # which ends it


async def run(server: Server) -> None:
    """Serve until standard input is closed; the port is printed first."""
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=1024)
    print(listening.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    listening.close()


def main() -> None:
    """Serve as told."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.2)
    options = parser.parse_args()
    asyncio.run(run(Server(options.seed, options.share)))


if __name__ == "__main__":
    main()
