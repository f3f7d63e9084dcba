"""What a library needs of the store that keeps its documents: one protocol, which every store implements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStoreRetriever
from numpy.typing import NDArray

from retrieval.filters import Filter, Visible
from retrieval.splitter import SplitSettings
from retrieval.sync_report import Progress, Status, SyncReport, VerifyReport

Search = Literal["hybrid", "vectors", "bm25"]
UPLOADS = b"uploads:"  # the folder of all uploads in a library; no disk has it, as paths of files are absolute
WAIT = 5.0  # seconds for another writer to finish
MOST_AROUND = 600  # characters before a quote, and after it


@dataclass(frozen=True)
class Model:
    """The embedding model, and the name under which the store records it."""

    embeddings: Embeddings
    name: str


@dataclass(frozen=True)
class Machine:
    """Whose files this process reads: the machine's name, and the folders that all machines have under one path."""

    name: str
    shared: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Roots:
    """The files and folders that were added: "file" or "folder" by path, and those whose links are followed.

    ``elsewhere`` are those that another machine reads, with its name. ``excluded`` are the patterns of files that are
    left out of all of them.
    """

    kinds: dict[bytes, str]
    followed: set[bytes]
    elsewhere: dict[bytes, str] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Record:
    """What is known of a file; ``id`` is 0 for a new one."""

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
    """What a library's passages were made with; nothing of one that was never filled.

    ``dimension`` is 0 where the model of this name gives vectors of another length now.
    """

    embedding: str
    dimension: int
    splitter: dict[str, int]


# The passages of a document, in the order of its text, and their vectors, one a row.
Contents = tuple[list[Document], NDArray[np.float32]]


@dataclass(frozen=True)
class SplitFile:
    """A file that was read and split; one without text has no passages."""

    record: Record
    passages: Sequence[Document]


@dataclass(frozen=True)
class Job:
    """A file that this process has taken from a queue, to read it.

    ``content`` is given where the file itself is on another machine, but for an upload (`Uploads.content`). ``deaths``
    counts the processes that ended while they read it.
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
    """The files of a library that are still to be read, by this process or any other."""

    machine: Machine

    def put(self, files: Mapping[bytes, tuple[int, int]], present: Callable[[bytes], bool]) -> None:
        """Queue files by path, with their size and modification time; drop this machine's that are not ``present``.

        Uploads that are not read yet are queued too.
        """

    def take(self, worker: str, most: int, lease: float, *, everywhere: bool) -> list[Job]:
        """Take files for ``lease`` seconds: this machine's, or with ``everywhere`` all that can be read here."""

    def renew(self, worker: str, jobs: Sequence[Job], lease: float) -> None:
        """Keep files for ``lease`` more seconds, and say that the worker lives."""

    def give_back(self, jobs: Sequence[Job]) -> None:
        """Let others take files that were not read."""

    def finish(self, files: Mapping[Job, SplitFile], settings: SplitSettings) -> list[Job]:
        """Embed the texts that are new, and write the files that are still this process's; return these.

        A file is written in place of its old record, and leaves the queue, in one transaction. Another process may have
        taken it since, or it may have changed: then nothing is written of it.
        """

    def waiting(self, *, everywhere: bool = False) -> int:
        """Return how many files of this machine, or of all, are not read yet."""

    def busy_worker(self) -> str:
        """Name a process that is reading files of this machine, as the beginning of a sentence; "" if none is."""

    def send(self, read: Callable[[bytes], bytes | None], *, most: int | None) -> int:
        """Give other machines the bytes of this machine's files; return how many files cannot be sent.

        At most so many wait to be taken; with None all are sent.
        """

    def others(self) -> bool:
        """Return True if a worker of another machine lives."""


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
    """Uploaded files that a store keeps, so that every machine can read, replace and remove them."""

    def put(self, path: bytes, content: bytes) -> None:
        """Store or replace an upload and queue it, in one transaction."""

    def keep(self, path: bytes, upload: Upload, content: bytes) -> None:
        """Store a copy of an upload, which is queued by the next sync unless its passages are copied too."""

    def remove(self, path: bytes) -> bool:
        """Remove an upload, its place in the queue and its passages, in one transaction; False if there is none."""

    def waiting(self) -> set[bytes]:
        """Return the uploads that wait in the queue, or are being read."""

    def unread(self) -> bool:
        """Return True if an upload is to be read and does not wait in the queue: `FileQueue.put` adds it."""


@dataclass(frozen=True)
class Surroundings:
    """A quote, and the text of its document ``before`` and ``after`` it.

    ``path`` is the document's file, and ``sha256`` its hash when it was indexed; both are None where the passage is of
    no file, or of none that the library still has.
    """

    before: str
    quote: str
    after: str
    path: Path | None = None
    sha256: str | None = None


class Store(Protocol):
    """Documents with their passages and vectors, the roots that they come from, and the search over them.

    Many threads and processes may read at once, also during a write; what changes the store is called within
    `only_writer`, and each call is a transaction. Every method may raise ``IndexDamaged``, after which `start_over` or
    the next `Library.sync` makes anew what can be.
    """

    model: Model
    default_search: Search

    @property
    def notes(self) -> list[str]:
        """What had to be repaired, for the next report; the caller clears it."""

    @property
    def writable(self) -> bool:
        """True if this process may change the store."""

    @property
    def queue(self) -> FileQueue | None:
        """The queue from which files are read, if many machines may do so; else each sync reads them itself."""

    @property
    def uploads(self) -> Uploads | None:
        """The uploaded files, if the store keeps them; else they lie in a folder of the server's machine."""

    def close(self) -> None:
        """Release what the store holds open."""

    # The library's files.

    def roots(self) -> Roots:
        """Return the files and folders that were added."""

    def add_roots(self, roots: Mapping[bytes, str], followed: Collection[bytes]) -> None:
        """Add or replace roots; the links of those in ``followed`` are followed wherever they lead."""

    def remove_root(self, root: bytes, documents: Collection[int]) -> None:
        """Remove a root, and documents by id."""

    def set_excluded(self, patterns: Collection[str], documents: Collection[int]) -> None:
        """Replace the patterns of files that are left out, and remove documents by id."""

    def records(self) -> dict[bytes, Record]:
        """Return every file's record, by path."""

    def checksums(self) -> list[str]:
        """Return the SHA-256 of each document that has passages, sorted."""

    # Copying.

    def made(self) -> Made:
        """Return what the passages were made with."""

    def contents(self, documents: Collection[int]) -> dict[int, Contents]:
        """Return the passages and vectors of documents by id; unknown ids, and those without passages, are left out."""

    def keep_vectors(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Keep vectors by the hash of their text (`unit_vectors.text_hash`): what is put next is not embedded.

        What nothing needs is dropped by `settle`.
        """

    # Writing.

    def only_writer(self, seconds: float = WAIT) -> AbstractContextManager[None]:
        """Be the only one that writes, of all processes. Raises ``IndexBusy`` if another does so after ``seconds``."""

    def writer(self) -> str:
        """Name the process that is writing, for messages."""

    def outdated(self, settings: SplitSettings) -> list[str]:
        """Return a sentence for each setting that changed since the store was filled."""

    def clear_outdated(self, settings: SplitSettings) -> list[str]:
        """Clear what was made with other settings, for the next sync to make anew; return the reasons."""

    def put(self, files: Sequence[SplitFile]) -> None:
        """Embed the texts that are new to the store, then write all files, each in place of its old record, or none."""

    def remove(self, documents: Collection[int]) -> None:
        """Remove documents by id, with their passages."""

    def touch(self, stamps: Iterable[tuple[bytes, int]]) -> None:
        """Record the modification times of files whose content is unchanged."""

    def settle(self) -> None:
        """Drop what an interrupted write left, and bring up to date what is derived from the documents."""

    # Recovery.

    def start_over(self) -> None:
        """Put a damaged store aside, and begin a new one with its roots and whatever is intact."""

    def verify(self, sync: Callable[[Progress | None], SyncReport], progress: Progress | None) -> VerifyReport:
        """Check everything for damage and repair it, with ``sync`` where documents must be read again."""

    # Reading.

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        search: Search | None = None,
        filter: Filter | Mapping[str, Any] | None = None,  # noqa: A002 - the name in LangChain's stores
        visible: Visible | None = None,
    ) -> list[Document]:
        """Return the ``k`` best passages that match ``filter`` and are ``visible``, best first."""

    def as_retriever(self, **options: Any) -> VectorStoreRetriever:
        """Return a LangChain retriever over the store."""

    def has_fitting(self, filter: Filter, visible: Visible | None = None) -> bool:  # noqa: A002
        """Return True if a passage fits the filter and is visible."""

    def passage(self, id_: str, visible: Visible | None = None) -> Document | None:
        """Return a passage of a visible document by its id."""

    def surroundings(
        self,
        source: str,
        passage: str,
        start: int,
        end: int,
        *,
        page: int | None = None,
        row: int | None = None,
        most: int = MOST_AROUND,
    ) -> Surroundings:
        """Return up to ``most`` characters of a document before and after ``passage[start:end]``."""

    def text_of(self, path: bytes, page: int | None, most: int) -> tuple[str, bool]:
        """Return up to ``most`` characters of a page or document, and whether that is all of it."""
