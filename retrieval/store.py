"""What a store keeps of a library, how its settings changed, and the protocols of its queue and its uploads."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from retrieval.splitter import SplitSettings
from retrieval.sync_report import Status

Search = Literal["hybrid", "vectors", "bm25"]
UPLOADS = b"uploads:"  # the folder of all uploads in a library; no disk has it, as paths of files are absolute
WAIT = 5.0  # seconds for another writer to finish
MOST_AROUND = 600  # characters before a quote, and after it
LARGEST_SENT = 50_000_000  # bytes of a file that is sent to other machines; a larger one is read by its own


def path_of(path: bytes) -> Path:
    """Return a file's ``Path``; a store keeps paths as bytes, since a file's name need not be text."""
    return Path(os.fsdecode(path))


@dataclass(frozen=True)
class Model:
    """The embedding model, and the name under which the store records it."""

    embeddings: Embeddings
    name: str


@dataclass(frozen=True)
class Machine:
    """The machine whose files this process indexes: its name, and the folders that all machines mount at one path."""

    name: str
    shared: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Roots:
    """The files and folders that were added (``kinds``: "file" or "folder"), and those whose links are ``followed``.

    ``elsewhere`` maps the roots that another machine reads to its name; ``followed`` may hold such roots too.
    ``excluded`` are the patterns of files that are left out of all roots.
    """

    kinds: dict[bytes, str]
    followed: set[bytes]
    elsewhere: dict[bytes, str] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class FileRecord:
    """What is known of a file; ``id`` is 0 for a new one, ``sha256`` None for one that must be read again."""

    path: bytes
    sha256: str | None = None
    size: int = 0
    mtime_ns: int = -1
    status: Status = "indexed"
    reason: str = ""
    date: str | None = None
    passages: int = 0
    id: int = 0


@dataclass(frozen=True)
class Made:
    """The model and settings that a library's passages were made with; empty if the library was never filled.

    ``dimension`` is set to 0 when the model of this name turns out to give vectors of another length.
    """

    embedding: str
    dimension: int
    splitter: dict[str, int]


def made_of(meta: Mapping[str, str]) -> Made:
    """Return the `Made` that a store's metadata record. Raises ``ValueError`` for an invalid number."""
    splitter = {key: int(meta[key]) for key in ("chunk_size", "overlap") if key in meta}
    return Made(meta.get("embedding", ""), int(meta.get("dimension", 0)), splitter)


# The passages of a document, in the order of its text, and their vectors, one a row.
Contents = tuple[list[Document], NDArray[np.float32]]


@dataclass(frozen=True)
class SplitFile:
    """A file that was read and split; one without text has no passages."""

    record: FileRecord
    passages: Sequence[Document]


@dataclass(frozen=True)
class Job:
    """A file that this process has taken from a queue, to read it.

    ``content`` is set if the file is on another machine, but not for an upload, whose bytes are in `KeptFiles`.
    ``deaths`` counts the processes that died while they read the file. ``attempt`` tells whether another process took
    the file meanwhile, and ``version`` whether it changed.
    """

    id: int
    path: bytes
    size: int
    mtime_ns: int
    attempt: int
    version: int
    deaths: int
    content: bytes | None


class FileQueue(Protocol):
    """The files of a library that are still to be read: see `retrieval.postgres.queue.PostgresQueue`."""

    machine: Machine

    def put(self, files: Mapping[bytes, tuple[int, int]], present: Callable[[bytes], bool]) -> None: ...
    def take(self, worker: str, most: int, lease: float, *, everywhere: bool) -> list[Job]: ...
    def renew(self, worker: str, jobs: Sequence[Job], lease: float) -> None: ...
    def give_back(self, jobs: Sequence[Job]) -> None: ...
    def finish(self, files: Mapping[Job, SplitFile], settings: SplitSettings) -> list[Job]: ...
    def waiting(self, *, everywhere: bool = False) -> int: ...
    def busy_worker(self) -> str: ...
    def send(self, most: int | None = None) -> int: ...
    def others(self) -> bool: ...


@dataclass(frozen=True)
class Upload:
    """What is known of an uploaded file, without its bytes; ``mtime_ns`` is when it was uploaded."""

    sha256: str
    size: int
    mtime_ns: int


class KeptFiles(Protocol):
    """Uploaded files that are kept with a library, by a path below `UPLOADS`."""

    def stored(self) -> dict[bytes, Upload]:
        """Return what is known of every upload, by path."""

    def content(self, path: bytes) -> bytes | None:
        """Return the bytes of an upload; None if there is none."""


class Uploads(KeptFiles, Protocol):
    """The uploads that a store keeps for all machines: see `retrieval.postgres.uploads.PostgresUploads`."""

    def put(self, path: bytes, content: bytes) -> None: ...
    def keep(self, path: bytes, upload: Upload, content: bytes) -> None: ...
    def remove(self, path: bytes) -> bool: ...
    def waiting(self) -> set[bytes]: ...
    def unread(self) -> bool: ...


@dataclass(frozen=True)
class Surroundings:
    """A quote, and the text of its document ``before`` and ``after`` it.

    ``path`` is the document's file, and ``sha256`` its hash when it was indexed; both are None if the passage is from
    no file, or from one that the library no longer has.
    """

    before: str
    quote: str
    after: str
    path: Path | None = None
    sha256: str | None = None


def changes(made: Made, model: Model, settings: SplitSettings) -> list[str]:
    """Return a sentence for each setting that differs from the recorded one; none if nothing is recorded."""
    reasons = []
    if made.embedding and made.embedding != model.name:
        reasons.append(f"The embedding model changed from {made.embedding} to {model.name}")
    elif made.embedding and not made.dimension:
        reasons.append(f"The embedding model {model.name} gives vectors of another length than before")
    if made.splitter and made.splitter != asdict(settings):
        old = made.splitter
        reasons.append(
            f"The passages changed from {old.get('chunk_size')} characters overlapping by {old.get('overlap')} "
            f"to {settings.chunk_size} overlapping by {settings.overlap}"
        )
    return [f"{reason}: everything was indexed anew." for reason in reasons]
