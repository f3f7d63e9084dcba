"""The environment of an attack: a home, documents, a model server and secrets; every run is checked."""

import json
import multiprocessing
import os
import shutil
import signal
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import platformdirs

from tests.integration.loopback import Sent
from tests.integration.misbehaviour import Wire
from tests.integration.openai_server import OpenAIServer
from tests.stress.hostile.child_process import MODULES, Order, command_line, run

QUESTION = "When does the tenant pay the monthly rent?"
LEASE = "# Lease\n\nThe tenant pays the monthly rent in advance. Dogs are allowed in the garden.\n"
LIMIT_SECONDS = 8
NOWHERE = "http://127.0.0.1:9"  # where nothing listens
PROCESSES = multiprocessing.get_context("forkserver")
NO_ROUTE = "OutNoRoutes"  # what Linux counts of attempts to leave a network without a way out


class Server(OpenAIServer):
    """A model server that keeps what it was sent."""

    def __init__(self) -> None:
        self.received: list[str] = []
        super().__init__()

    def answer(self, sent: Sent) -> Wire:
        """The reply to one request."""
        self.received.append(str(sent.body))
        return super().answer(sent)


@dataclass(frozen=True)
class Ended:
    """The result of a run: exit code (None if it had to be killed), output and observed side effects."""

    arguments: tuple[Any, ...]
    code: int | None
    out: str
    err: str
    seconds: float
    memory: int
    connections: Sequence[str]
    lookups: Sequence[str]
    written: Sequence[str]
    unrouted: int
    changed: Sequence[str]  # outside what may be written
    exposed: Sequence[str]  # what others may read of what was written


@dataclass
class World:
    """One attack's environment; ``check`` yields violations, and ``broken`` collects them."""

    root: Path
    key: str
    password: str
    canary: str
    check: Callable[["World", Ended], Iterator[str]]
    server: Server = field(default_factory=Server)
    other: Server = field(default_factory=Server)  # another origin, which nobody named
    broken: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home = self.root / "home"
        self.kept = self.home / "selfrag"  # SELFRAG_HOME
        self.library = self.kept / "libraries" / "library"  # the index of the person's library, which holds ``docs``
        self.docs = self.root / "docs"  # two documents
        self.work = self.root / "work"  # the working folder, empty
        self.output = self.root.with_name(f"{self.root.name} output")  # of the last run
        address = f"http://user:{self.password}@127.0.0.1:{self.server.port}/v1"
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHON_DOTENV_DISABLED": "1",
            "SELFRAG_HOME": str(self.kept),
            "SELFRAG_MODEL_PATH": str(self.root / "no model.gguf"),
            "SELFRAG_CALL_SECONDS": "3",
            "SELFRAG_LIMIT_SECONDS": str(LIMIT_SECONDS),
            "OPENAI_API_KEY": self.key,
            "OPENAI_BASE_URL": address,
            "HF_ENDPOINT": NOWHERE,
            "HF_HUB_OFFLINE": "1",
            "PIP_INDEX_URL": NOWHERE,
            "PIP_RETRIES": "0",
        }

    def run(self, *words: str, **more: Any) -> Ended:
        """Run a command line and collect its violations."""
        return self.call(command_line, list(words), **more)

    def call(
        self,
        function: Callable[..., int],
        *arguments: Any,
        seconds: float = LIMIT_SECONDS,
        checked: bool = True,
    ) -> Ended:
        """Run a function in a child process for at most ``seconds`` + 10."""
        allowed = (self.kept, self.work / "eval")
        output = self.output
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir()
        order = Order(function, arguments, self.work, self.environment, output)
        before, inside, unrouted = listing(self.root, allowed), _inside(allowed), _unrouted()
        seen: dict[str, Any] = {}
        code, took, memory = _await(order, seconds + 10)
        with suppress(OSError, ValueError):
            seen = json.loads((output / "seen").read_bytes())
        after = listing(self.root, allowed)
        ended = Ended(
            arguments,
            code,
            _text(output / "out"),
            _text(output / "err"),
            seconds=took,
            memory=memory,
            connections=seen.get("connections", ()),
            lookups=seen.get("lookups", ()),
            written=[path for path in seen.get("written", ()) if not _is_below(path, (*allowed, self.root / "tmp"))],
            unrouted=_unrouted() - unrouted,
            changed=sorted(
                os.path.relpath(path, self.root)
                for path in before.keys() | after.keys()
                if before.get(path) != after.get(path)
            ),
            exposed=sorted(
                f"{os.path.relpath(path, self.root)} {stat.S_IMODE(mode):04o}"
                for path, (mode, *stamp) in _inside(allowed).items()
                if mode & 0o077 and inside.get(path) != (mode, *stamp)
            ),
        )
        if checked:
            self.broken += self.check(self, ended)
        return ended

    def write(self, path: str | bytes | Path, content: str | bytes = b"") -> Path:
        """Write a file below the world's root."""
        place = self.root / os.fsdecode(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content)
        return place


@contextmanager
def worlds(root: Path, check: Callable[["World", Ended], Iterator[str]]) -> Iterator[Callable[[str], World]]:
    """Yield a factory of worlds; each is a copy of the first and replaces the one before.

    Its documents are in the library already, and in an index of their own.
    """
    template = root / "template"
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "LANGSMITH_TRACING": "false"})
    PROCESSES.set_forkserver_preload(["tests.stress.hostile.child_process", *MODULES])
    current: list[World] = []

    def fresh(name: str) -> World:
        while current:
            _close(current.pop())
        shutil.rmtree(root / "world", onerror=_open_and_retry)
        if template.exists():
            shutil.copytree(template, root / "world", symlinks=True)
        else:
            _furnish(root / "world")
        # A key as some have it: with marks that JSON, a URL or a regular expression would write in another way.
        digits = f"{Random(name).getrandbits(64):016x}"
        world = World(root / "world", f"q7+/{digits}.Z==", f"pw{digits[::-1]}", f"canary{digits}", check)
        current.append(world)
        return world

    try:
        world = fresh("template")
        for words in (("index", str(world.docs)), (QUESTION, "--docs", str(world.docs))):
            ended = world.run(*words, checked=False, seconds=60)
            if ended.code != 0:
                raise RuntimeError(f"the program does not even work unharmed: {ended}")
        shutil.copytree(world.root, template, symlinks=True)
        yield fresh
    finally:
        while current:
            _close(current.pop())


def _furnish(root: Path) -> None:
    for name in ("home", "work", "docs", "tmp"):
        (root / name).mkdir(parents=True)
    (root / "docs/lease.md").write_text(LEASE, "utf-8")
    (root / "docs/rivers.csv").write_text("city,river\nParis,The river of Paris is the Seine.\n", "utf-8")
    (root / "home/selfrag").mkdir(mode=0o700)
    models = Path(platformdirs.user_cache_dir("selfrag", appauthor=False)) / "models"
    (root / "home/selfrag/models").symlink_to(models, target_is_directory=True)


def _close(world: World) -> None:
    world.server.close()
    world.other.close()


def _open_and_retry(function: Callable[..., Any], path: str, _: Any) -> None:
    """Make removable what an attack has closed."""
    if not os.path.lexists(path):
        return
    for one in (os.path.dirname(path), path):  # noqa: PTH120
        with suppress(OSError):
            os.chmod(one, 0o700)  # noqa: PTH101
    function(path)


def _await(order: Order, seconds: float) -> tuple[int | None, float, int]:
    """Run it; return exit code, seconds and peak memory."""
    process = PROCESSES.Process(target=run, args=(order,))
    began = time.monotonic()
    process.start()
    memory = 0
    while process.is_alive() and time.monotonic() - began < seconds:
        memory = max(memory, _memory_of(process.pid or 0))
        process.join(0.02)
    took = time.monotonic() - began
    code = process.exitcode
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid or 0, signal.SIGKILL)  # and the readers that it may have left
    process.kill()
    process.join()
    return code, took, memory


def _memory_of(number: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        text = Path(f"/proc/{number}/status").read_text("ascii", "replace")
        return int(text.split("VmHWM:")[1].split()[0]) * 1024
    return 0


def _unrouted() -> int:
    with suppress(OSError, ValueError, IndexError):
        names, values = [line.split() for line in Path("/proc/net/snmp").read_text("ascii").splitlines()[:2]]
        return int(values[names.index(NO_ROUTE)])
    return 0


def listing(root: Path, without: Sequence[Path] = ()) -> dict[str, tuple[Any, ...]]:
    """Mode, size, time and inode of everything below ``root``, except some folders."""
    found: dict[str, tuple[Any, ...]] = {}
    for top, folders, names in os.walk(root):
        folders[:] = [one for one in folders if not _is_below(f"{top}/{one}", without)]
        for path in (f"{top}/{name}" for name in (*folders, *names)):
            if not _is_below(path, without):
                status = os.lstat(path)
                stamp = (status.st_size, status.st_mtime_ns, status.st_ino)
                found[path] = (status.st_mode, *(("folder",) if stat.S_ISDIR(status.st_mode) else stamp))
    return found


def _inside(folders: Sequence[Path]) -> dict[str, tuple[Any, ...]]:
    """The regular files and folders below the writable folders."""
    found = {path: one for folder in folders for path, one in listing(folder).items()}
    return {path: one for path, one in found.items() if stat.S_ISREG(one[0]) or stat.S_ISDIR(one[0])}


def _is_below(path: str, folders: Sequence[Path]) -> bool:
    return any(path == str(folder) or path.startswith(f"{folder}{os.sep}") for folder in folders)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""
