"""Read documents in a process of its own, which a hostile one can only take down with it: the child's side.

Parent and child exchange frames: the length in four bytes, then so many bytes. A frame is JSON, but for a
batch of sections, which is JSON without their text and then a frame of the text alone. The child says
``ready`` and how it is confined. For each path it is given, whose file comes open over a socket where there can be
one, it states the hash and size of what it read, so that these are known whatever comes next, then the sections in
batches, and last what became of the file.
"""

import base64
import errno
import hashlib
import json
import math
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from core.errors import EmptyDocument, UnreadableDocument
from core.text import shown
from retrieval.documents.load import Loaded, Section, parse, read, read_opened
from retrieval.sandbox.confinement import confine

try:
    import fcntl
    import resource
except ImportError:  # Windows has no limits to set: the parent's clock is the only one there
    fcntl = resource = None  # type: ignore[assignment]

FRAME = 8_000_000  # bytes of JSON in one frame
NO_MEMORY = 70  # the code with which a reader ends when it has none left to answer with
SECTION = 100  # characters that a section counts for at least: many small ones need memory, too
_BATCH = 1_000_000  # characters to a frame of text, unless one section alone has more
_OPEN_FILES = 64
_GRACE = 10  # seconds of processor time, beyond the limit of the parent's clock
_WORN = 256_000_000  # bytes that a reader may have grown by and still be given another file
_LENGTH = struct.Struct(">I")


class Rules(NamedTuple):
    """What the parent tells a reader first.

    ``path`` is where to look for modules besides, ``system_calls`` a filter for seccomp in base 64, and ``files`` the
    descriptor of the socket over which files come, if any do.
    """

    seconds: float
    memory: int
    text: int
    path: list[str]
    system_calls: str
    files: int | None


def send(stream: IO[bytes], payload: bytes) -> None:
    """Write one frame."""
    stream.write(_LENGTH.pack(len(payload)))
    stream.write(payload)
    stream.flush()


def receive(stream: IO[bytes], longest: int) -> bytes | None:
    """Return the next frame, or None at the end.

    Raises ``EOFError`` when the stream ends within a frame and ``ValueError`` when it is too long.
    """
    head = stream.read(_LENGTH.size)
    if not head:
        return None
    if len(head) < _LENGTH.size:
        raise EOFError
    length: int = _LENGTH.unpack(head)[0]
    if length > longest:
        raise ValueError(f"a frame of {length} bytes")
    payload = stream.read(length)
    if len(payload) < length:
        raise EOFError
    return payload


def main() -> None:
    """Read one file after the other for the process at the other end of standard input and output."""
    requests, replies = _take_pipes()
    try:
        _serve(requests, replies)
    except (BrokenPipeError, EOFError):  # the parent is gone
        os._exit(0)
    except MemoryError:  # not even an answer fits in
        os._exit(NO_MEMORY)


def _serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer one request after the other, under the rules that are told first."""
    rules = Rules(**json.loads(receive(requests, FRAME) or b"{}"))
    sys.path += rules.path
    files = None if rules.files is None else socket.socket(fileno=rules.files)
    memory = _Memory()
    if fcntl:
        fcntl.fcntl(requests, fcntl.F_SETOWN, os.getpid())
    _limit(rules, memory.addressed)
    confined = confine(base64.b64decode(rules.system_calls))
    _say(replies, {"ready": True, **confined})
    first = memory.resident
    while request := receive(requests, FRAME):
        descriptor = None if files is None else _take_file(files)
        _limit_time(rules)
        with _ending_with(requests):
            outcome = _read_and_reply(request, descriptor, rules, replies)
        _say(replies, {"worn": memory.resident - first > _WORN, **outcome})


def _take_file(files: socket.socket) -> int:
    _, descriptors, _, _ = socket.recv_fds(files, 1, 1)
    if not descriptors:
        raise EOFError
    return descriptors[0]


def _say(replies: IO[bytes], message: Mapping[str, Any]) -> None:
    send(replies, json.dumps(message, allow_nan=False).encode())


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Keep the pipes to ourselves: what a parser prints must not end up among the replies."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.close(nothing)
    return requests, replies


def _limit(rules: Rules, addressed: int) -> None:
    """Give up what reading a document does not take; root can undo it, others cannot."""
    with suppress(OSError):  # where memory runs out, a reader is to go first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    if resource is None:
        return
    _lower(resource.RLIMIT_AS, addressed + rules.memory)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _lower(resource.RLIMIT_NPROC, 0)  # neither processes nor threads


def _lower(limit: int, amount: int) -> None:
    hard = resource.getrlimit(limit)[1]
    amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
    with suppress(OSError, ValueError):  # macOS knows some of the limits by name only
        resource.setrlimit(limit, (amount, amount))


def _limit_time(rules: Rules) -> None:
    """Let the system end this process if the parent does not, counted from now."""
    if resource is not None:
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        amount = math.ceil(time.process_time() + rules.seconds) + _GRACE
        amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (amount, hard))


@contextmanager
def _ending_with(requests: IO[bytes]) -> Iterator[None]:
    """Have the system end this process, however busy it is, when the parent is gone.

    The parent is silent while a file is read: the only event on the pipe is its end, and SIGIO, which
    the system then sends to its owner, ends a process that does not handle it.
    """
    if fcntl is None:
        yield
        return
    flags = fcntl.fcntl(requests, fcntl.F_GETFL)
    fcntl.fcntl(requests, fcntl.F_SETFL, flags | os.O_ASYNC)
    if select.select([requests], [], [], 0)[0]:  # gone already, just before
        os._exit(0)
    yield
    fcntl.fcntl(requests, fcntl.F_SETFL, flags)


def _read_and_reply(request: bytes, descriptor: int | None, rules: Rules, replies: IO[bytes]) -> dict[str, Any]:
    """Send the hash and the sections of a file, and return what became of it."""
    path = Path(os.fsdecode(request))
    name = shown(path.name)
    try:
        data = read(path) if descriptor is None else read_opened(descriptor, path)
    except (UnreadableDocument, OSError, ValueError) as error:
        status, reason = not_opened(name, error)
        return {"status": status, "reason": reason, "worn": False}
    except MemoryError:
        return {"status": "failed", "reason": needs_memory(name, rules.memory), "worn": True}
    _say(replies, {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)})
    try:
        loaded = parse(path, data)
        batches = list(_batches(name, loaded, rules))
    except Exception as error:  # noqa: BLE001 - a document makes a parser raise whatever it likes
        return _failure(name, error, rules)
    for header, text in batches:
        send(replies, header)
        send(replies, text)
    return {"status": "read", "note": loaded.note, "date": loaded.date}


def not_opened(name: str, error: Exception) -> tuple[Literal["failed", "unopened"], str]:
    """Return what is said of a file that cannot be opened, or is none; a ``ValueError`` is a zero byte in the path."""
    if isinstance(error, UnreadableDocument):
        return "failed", str(error)
    if getattr(error, "errno", None) == errno.ENOENT:
        return "unopened", f"{name} cannot be found any more: restore it, or index its folder again."
    why = getattr(error, "strerror", None) or error
    return "unopened", f"{name} cannot be opened ({why}): check its permissions."


def _failure(name: str, error: Exception, rules: Rules) -> dict[str, Any]:
    """Say why a file cannot be read; what ran out of memory may be in any state, so that reader is worn."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return {"status": "failed", "reason": needs_memory(name, rules.memory), "worn": True}
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, ImportError):  # it is not the file that has to change
        reason = f"{name} cannot be read without the module {error.name}: install requirements.txt again."
        return {"status": "unopened", "reason": reason}
    if isinstance(error, EmptyDocument):
        return {"status": "empty", "reason": str(error)}
    if isinstance(error, UnreadableDocument):
        return {"status": "failed", "reason": str(error)}
    reason = f"{name} cannot be read ({type(error).__name__}): save it anew, or leave it out."
    return {"status": "failed", "reason": reason, "worn": True}


def needs_memory(name: str, memory: int) -> str:
    """Return the reason of a file that filled the memory."""
    return f"{name} needs more than {memory / 1e9:g} GB of memory to read: split it, or leave it out."


def _batches(name: str, loaded: Loaded, rules: Rules) -> Iterator[tuple[bytes, bytes]]:
    """Yield sections as frames of what is known of them and of their text, one behind the other."""
    counted = headers = 0
    batch_of = []
    for section in loaded.sections:
        counted += max(len(section.text), SECTION)
        batch_of.append(counted // _BATCH)
    for _, numbered in groupby(zip(batch_of, loaded.sections, strict=True), key=lambda pair: pair[0]):
        batch: list[Section] = [section for _, section in numbered]
        known = [[len(one.text), one.page, one.row, one.date, one.extra] for one in batch]
        header = json.dumps({"sections": known}, allow_nan=False).encode()
        headers += len(header)
        if counted > rules.text or headers > rules.text or len(header) > FRAME:
            raise UnreadableDocument(f"{name} gives more than {rules.text:,} characters: split it into smaller files.")
        yield header, "".join(one.text for one in batch).encode("utf-8", "replace")


class _Memory:
    """Linux's counts of this process's memory in bytes, 0 where there are none; their file stays open."""

    def __init__(self) -> None:
        try:
            self._file: int | None = os.open("/proc/self/statm", os.O_RDONLY)
        except OSError:
            self._file = None

    @property
    def addressed(self) -> int:
        return self._pages(0)

    @property
    def resident(self) -> int:
        return self._pages(1)

    def _pages(self, field: int) -> int:
        if self._file is None:
            return 0
        return int(os.pread(self._file, 100, 0).split()[field]) * os.sysconf("SC_PAGE_SIZE")
