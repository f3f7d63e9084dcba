"""The program over two documents, with a model server that attacks it, and secrets."""

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.command_line import Ended, new_program
from tests.integration.loopback import Sent
from tests.integration.misbehaviour import Wire
from tests.integration.openai_server import OpenAIServer

QUESTION = "When does the tenant pay the monthly rent?"
LEASE = "# Lease\n\nThe tenant pays the monthly rent in advance. Dogs are allowed in the garden.\n"
# As some have it: with marks that JSON, a URL or a regular expression would write in another way.
KEY = "q7+/5d0c1be2a9f84637.Z=="
PASSWORD = "pw73648f9a2eb1c0d5"
LIMIT_SECONDS = 8
NOWHERE = "http://127.0.0.1:9"  # where nothing listens
Attack = tuple[Any, ...]
Play = Callable[..., Iterator[str]]


class Server(OpenAIServer):
    def __init__(self) -> None:
        self.received: list[str] = []
        super().__init__()

    def answer(self, sent: Sent) -> Wire:
        self.received.append(str(sent.body))
        return super().answer(sent)


class World:
    """The program in a folder of its own; ``server`` is its model's, and ``other`` one that nobody named."""

    def __init__(self, root: Path) -> None:
        self.root, self.docs = root, root / "docs"
        self.seconds, self.memory = 0.0, 0  # what the last run took, and the most bytes of this process meanwhile
        self.server, self.other = Server(), Server()
        self.docs.mkdir()
        (self.docs / "lease.md").write_text(LEASE, "utf-8")
        (self.docs / "rivers.csv").write_text("city,river\nParis,The river of Paris is the Seine.\n", "utf-8")
        self.program = new_program(
            root,
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=f"http://user:{PASSWORD}@127.0.0.1:{self.server.port}/v1",
            SELFRAG_CALL_SECONDS="3",
            SELFRAG_LIMIT_SECONDS=str(LIMIT_SECONDS),
            HF_ENDPOINT=NOWHERE,
            PIP_INDEX_URL=NOWHERE,
        )
        if (ended := self.program(QUESTION, "--docs", str(self.docs))).code != 0:
            raise RuntimeError(f"the program does not even work unharmed: {ended}")

    def ask(self, *words: str) -> Ended:
        for server in (self.server, self.other):
            server.received.clear()
            server.connections = 0
        Path("/proc/self/clear_refs").write_text("5")  # the peak of the memory begins anew
        began = time.monotonic()
        ended = self.program(QUESTION, "--docs", str(self.docs), *words)
        self.seconds = time.monotonic() - began
        (peak,) = re.findall(r"VmHWM:\s*([0-9]+) kB", Path("/proc/self/status").read_text("utf-8"))
        self.memory = int(peak) * 1024
        return ended


def played(folder: str, play: Play, attack: Attack) -> list[str]:
    return list(play(_world_in(folder), *attack))


@cache
def _world_in(folder: str) -> World:
    return World(Path(tempfile.mkdtemp(dir=folder)))
