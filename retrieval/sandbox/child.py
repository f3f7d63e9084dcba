"""The child's side of the sandbox: parse documents in a separate process, which a hostile document can at most crash.

Parent and child exchange frames: four bytes of length, then the payload. Most frames are JSON. A batch of sections is
two frames: the sections' metadata as JSON, then their text. The picture of a page is two as well: its size, then its
pixels. The child first says ``ready`` and how it is confined. For each path the parent also sends the open file over a
socket, where the system supports it. The child then sends the hash and size of the bytes, which are thus known even if
it crashes; next the sections in batches, or what was asked of a page; and last the outcome.
"""

import base64
import errno
import hashlib
import json
import math
import os
import signal
import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import accumulate, groupby
from operator import add
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from core.errors import EmptyDocument, UnreadableDocument
from core.text import shown_path
from retrieval.documents.load import parse_document, read_opened, read_regular_file
from retrieval.documents.loaded import Loaded
from retrieval.sandbox.confinement import confine

try:
    import resource
except ImportError:  # Windows has no resource limits: only the parent's timeout applies
    resource = None  # type: ignore[assignment]

FRAME = 8_000_000  # bytes of JSON in one frame
NO_MEMORY = 70  # exit code of a reader without memory for a reply
SECTION = 100  # characters that a section counts for at least: many small ones need memory, too
_BATCH = 1_000_000  # characters of two frames, unless one section alone has more
_OPEN_FILES = 64
_GRACE = 10  # seconds beyond the parent's timeout
_WORN = 256_000_000  # bytes of growth, beyond which a reader is replaced before the next file
_LENGTH = struct.Struct(">I")
_alarm = getattr(signal, "alarm", lambda seconds: 0)  # Windows has none
_ADDRESSED, _RESIDENT = 0, 1  # fields of a process's memory


class Rules(NamedTuple):
    """The first message from the parent: limits for each file, in seconds, bytes of memory and characters of text.

    ``path`` extends ``sys.path``; ``system_calls`` is a seccomp filter in base 64; ``files`` is the descriptor of the
    socket over which open files come, or None.
    """

    seconds: float
    memory: int
    text: int
    path: list[str]
    system_calls: str
    files: int | None


class PlaceQuote(NamedTuple):
    """A request to find a quote on a page, if the file's hash is ``sha256``: see ``quote_places.place_quote``."""

    sha256: str
    page: int
    quote: str
    before: str
    after: str


class DrawPage(NamedTuple):
    """A request to draw a page ``width`` pixels wide, if the file's hash is ``sha256``."""

    sha256: str
    page: int
    width: int


Task = PlaceQuote | DrawPage
_TASKS = {kind.__name__: kind for kind in (PlaceQuote, DrawPage)}


def send(stream: IO[bytes], payload: bytes) -> None:
    """Write one frame."""
    stream.write(_LENGTH.pack(len(payload)))
    stream.write(payload)
    stream.flush()


def receive(stream: IO[bytes], longest: int = FRAME) -> bytes:
    """Return the next frame.

    Raises ``EOFError`` when the stream ends, and ``ValueError`` for a frame longer than ``longest`` bytes.
    """
    head = stream.read(_LENGTH.size)
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
    """Serve the parent process over standard input and output until it closes them."""
    requests, replies = _claim_pipes()
    try:
        _serve(requests, replies)
    except (BrokenPipeError, EOFError):  # the parent is gone
        os._exit(0)
    except MemoryError:  # not even a reply fits in memory
        os._exit(NO_MEMORY)


def _serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Apply the rules that come first, then read one file per request."""
    rules = Rules(**json.loads(receive(requests)))
    sys.path += rules.path
    files = None if rules.files is None else socket.socket(fileno=rules.files)
    statm = os.open("/proc/self/statm", os.O_RDONLY) if sys.platform == "linux" else None  # before confinement
    _limit(rules, _memory(statm, _ADDRESSED))
    confined = confine(base64.b64decode(rules.system_calls))
    _reply(replies, {"ready": True, **confined})
    initial = _memory(statm, _RESIDENT)
    while True:
        request = receive(requests)
        descriptors = [None] if files is None else socket.recv_fds(files, 1, 1)[1]
        if not descriptors:  # the parent is gone
            return
        _alarm(math.ceil(rules.seconds) + _GRACE)  # ends this process if the parent is gone
        outcome = _read_and_reply(request, descriptors[0], rules, replies)
        _alarm(0)
        _reply(replies, {"worn": _memory(statm, _RESIDENT) - initial > _WORN, **outcome})


def _reply(replies: IO[bytes], message: Mapping[str, Any]) -> None:
    send(replies, json.dumps(message, allow_nan=False).encode())


def _claim_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Move the pipes off standard input and output, so that what a parser prints cannot corrupt the replies."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)
    return requests, replies


def _limit(rules: Rules, addressed: int) -> None:
    """Lower the resource limits, which only root could raise again; ``addressed`` is the address space in bytes."""
    with suppress(OSError):  # out of memory, the kernel should kill a reader first
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
    with suppress(OSError, ValueError):  # macOS defines some limits that it does not support
        resource.setrlimit(limit, (amount, amount))


def _read_and_reply(request: bytes, descriptor: int | None, rules: Rules, replies: IO[bytes]) -> dict[str, Any]:
    """Send the hash of a file and its sections, or what is asked of a page, and return the outcome."""
    location, kind, values = json.loads(request)
    path, task = Path(location), _TASKS[kind](*values) if values else None
    name = shown_path(path.name)
    try:
        data = read_regular_file(path) if descriptor is None else read_opened(descriptor, path)
    except (UnreadableDocument, OSError, ValueError) as error:
        status, reason = not_opened(name, error)
        return {"status": status, "reason": reason, "worn": False}
    except MemoryError:
        return {"status": "failed", "reason": needs_memory(name, rules.memory), "worn": True}
    sha256 = hashlib.sha256(data).hexdigest()
    _reply(replies, {"sha256": sha256, "size": len(data)})
    try:
        if task is None:
            loaded = parse_document(path, data)
            frames = [frame for batch in _batches(name, loaded, rules) for frame in batch]
            known = {"note": loaded.note, "date": loaded.date, "title": loaded.title}
        elif task.sha256 != sha256:
            raise UnreadableDocument(f"{name} has changed since it was indexed: index it again.")
        else:
            frames, known = _page(name, data, task), {}
    except Exception as error:  # noqa: BLE001 - a hostile document can make a parser raise anything
        return _failure(name, error, rules)
    for frame in frames:
        send(replies, frame)
    return {"status": "read", **known}


def _page(name: str, data: bytes, task: Task) -> list[bytes]:
    """Return the place of a quote, or the size and the pixels of a page, as frames."""
    from retrieval.documents.pdf.quote_places import draw_page, place_quote  # imported here, as few readers need it

    if isinstance(task, PlaceQuote):
        found = place_quote(data, *task[1:])
        if found is None:
            raise EmptyDocument(f"The quote cannot be marked on page {task.page} of {name}: search for it there.")
        return [json.dumps({"page": [found.width, found.height], "rectangles": found.rectangles}).encode()]
    drawn = draw_page(data, *task[1:])
    if drawn is None:
        raise EmptyDocument(f"{name} has no page {task.page}: index it again.")
    return [json.dumps({"pixels": [drawn.width, drawn.height]}).encode(), drawn.pixels]


def not_opened(name: str, error: Exception) -> tuple[Literal["failed", "unopened"], str]:
    """Return status and reason for a file that cannot be opened; a ``ValueError`` means a zero byte in the path."""
    if isinstance(error, UnreadableDocument):
        return "failed", str(error)
    if getattr(error, "errno", None) == errno.ENOENT:
        return "unopened", f"{name} cannot be found any more: restore it, or index its folder again."
    cause = getattr(error, "strerror", None) or error
    return "unopened", f"{name} cannot be opened ({cause}): check its permissions."


def _failure(name: str, error: Exception, rules: Rules) -> dict[str, Any]:
    """Return the outcome of a file that cannot be read; after a ``MemoryError`` this process must be replaced."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return {"status": "failed", "reason": needs_memory(name, rules.memory), "worn": True}
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, ImportError):  # not the file's fault: try again next time
        reason = f"{name} cannot be read without the module {error.name}: install requirements.txt again."
        return {"status": "unopened", "reason": reason}
    if isinstance(error, EmptyDocument):
        return {"status": "empty", "reason": str(error)}
    if isinstance(error, UnreadableDocument):
        return {"status": "failed", "reason": str(error)}
    reason = f"{name} cannot be read ({type(error).__name__}): save it anew, or leave it out."
    return {"status": "failed", "reason": reason, "worn": True}


def needs_memory(name: str, memory: int) -> str:
    """Return the message for a file that needs too much memory."""
    return f"{name} needs more than {memory / 1e9:g} GB of memory to read: split it, or leave it out."


def _batches(name: str, loaded: Loaded, rules: Rules) -> Iterator[tuple[bytes, bytes]]:
    """Yield batches of sections as (frame of metadata, frame of text)."""
    told = [
        json.dumps([len(one.text), one.page, one.row, one.date, one.extra, one.headings], allow_nan=False)
        for one in loaded.sections
    ]
    counted = [max(len(section.text), SECTION) for section in loaded.sections]
    total, headers = sum(counted), 0
    sizes = accumulate(map(add, counted, map(len, told)))
    for _, batch in groupby(zip(sizes, told, loaded.sections, strict=True), key=lambda one: one[0] // _BATCH):
        _, metadata, sections = zip(*batch, strict=True)
        header = f'{{"sections": [{", ".join(metadata)}]}}'.encode()
        headers += len(header)
        if max(total, headers) > rules.text:
            raise UnreadableDocument(f"{name} gives more than {rules.text:,} characters: split it into smaller files.")
        yield header, "".join(section.text for section in sections).encode("utf-8", "replace")


def _memory(statm: int | None, field: int) -> int:
    """Return a field of Linux's ``/proc/self/statm`` in bytes; 0 elsewhere."""
    return int(os.pread(statm, 100, 0).split()[field]) * os.sysconf("SC_PAGE_SIZE") if statm is not None else 0
