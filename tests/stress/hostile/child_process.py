"""Run the program in a forked child process with its modules preloaded, watched and limited."""

import json
import os
import resource
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODULES = (
    "app.commands.ask app.commands.eval app.commands.index app.commands.graph "
    "app.terminal.show app.terminal.trace app.results.result graph.builder models.connect models.critic "
    "models.generator retrieval.library.library evaluation.reporting.report langchain_openai faiss "
    "langchain.embeddings langchain.chat_models openai tests.scripted tests.unit.retrieval.fakes"
).split()
THIS_MACHINE = ("127.0.0.1", "::1", "localhost", "", "None")
MEMORY = 3_000_000_000  # bytes of address space, beyond what a process begins with
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass(frozen=True)
class Order:
    """What to run and where; ``call`` gets the arguments and returns an exit code."""

    call: Callable[..., int]
    arguments: tuple[Any, ...]
    folder: Path
    environment: Mapping[str, str]
    output: Path  # the folder of what it printed, and of what was seen of it


@dataclass
class Watch:
    """An audit hook that records connections, look-ups and files opened for writing, and blocks outside hosts."""

    connections: set[str] = field(default_factory=set)
    lookups: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record the event; refuse it as a machine without a network would."""
        if event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
            host, port = arguments[1][:2]
            self.connections.add(f"{host}:{port}")
            if host not in THIS_MACHINE:
                raise ConnectionRefusedError(111, "Connection refused")
        elif event == "socket.getaddrinfo" and _text(arguments[0]) not in THIS_MACHINE:
            self.lookups.add(_text(arguments[0]))
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        elif event == "open" and isinstance(arguments[0], str | bytes) and (arguments[2] or 0) & WRITES:
            self.written.add(os.path.abspath(os.fsdecode(arguments[0])))  # noqa: PTH100 - a link is named as itself


def _text(host: object) -> str:
    return host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)


def run(order: Order) -> None:
    """Run the order, write what was observed beside the output, and exit with its code."""
    os.setsid()
    os.environ.clear()
    os.environ.update(order.environment)
    os.chdir(order.folder)
    os.umask(0o022)
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    bound = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(order.output / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    _embed_words()
    watch = Watch()
    sys.addaudithook(watch)
    code: int | None = None
    try:
        code = order.call(*order.arguments)
    finally:
        sys.stdout.flush()
        seen = {name: sorted(getattr(watch, name)) for name in ("connections", "lookups", "written")}
        (order.output / "seen").write_text(json.dumps(seen), "utf-8")
    sys.exit(code)


def _embed_words() -> None:
    """Replace the embedding model by a bag of words, which loads at once."""
    import models.embeddings
    from tests.unit.retrieval.fakes import BagOfWords

    class Words(BagOfWords):
        def __init__(self, *_: object, **__: object) -> None:
            super().__init__(models.embeddings.DIMENSION)

    models.embeddings.MiniLM = Words  # type: ignore[assignment,misc]


def command_line(arguments: list[str]) -> int:
    """Run the command line."""
    from app.cli import main

    return main(arguments)


def streaming(arguments: list[str]) -> int:
    """Run the command line with message streaming forced, so that the server is asked to stream."""
    from langgraph.pregel import Pregel

    from app.cli import main

    whole = Pregel.astream

    async def astream(self: Any, *given: Any, stream_mode: Any, **more: Any) -> Any:
        async for mode, chunk in whole(self, *given, stream_mode=[*stream_mode, "messages"], **more):
            if mode != "messages":
                yield mode, chunk

    Pregel.astream = astream  # type: ignore[method-assign,assignment]
    return main(arguments)
