"""Index two folders in a child process that reports each phase to its parent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from multiprocessing.connection import Connection
from pathlib import Path
from sqlite3 import Connection as Rows
from typing import Any
from unittest.mock import patch

from benchmarks.index.bag_of_words import NAME, BagOfWords
from retrieval.index.database import Database
from retrieval.index.vector_file import VectorIndex
from retrieval.library.library import Library
from retrieval.library.sync import Sync

FAILED = "failed: "


class Teller:
    """Report to the parent the phase that begins, and the enclosing one when it ends."""

    def __init__(self, parent: Connection) -> None:
        self._parent = parent
        self._phases: list[str] = []

    def say(self, text: str) -> None:
        """Send one message atomically."""
        self._parent.send_bytes(text.encode("utf-8", "replace")[:500])

    @contextmanager
    def within(self, phase: str) -> Iterator[None]:
        """Report the start and the end of a phase."""
        self._phases.append(phase)
        self.say(" ".join(self._phases))
        yield
        self._phases.pop()
        self.say(" ".join(self._phases) or "between")

    def telling(self, phase: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the method so that it reports itself as a phase."""

        @wraps(method)
        def told(*arguments: Any, **named: Any) -> Any:
            with self.within(phase):
                return method(*arguments, **named)

        return told

    def telling_transaction(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap ``Database.writing`` as a phase that ends with the commit."""

        @contextmanager
        def told(database: Database) -> Iterator[Rows]:
            with self.within("write"), method(database) as connection:
                yield connection

        return told


def live(home: Path, documents: Path, extra: Path, remove: bool, parent: Connection) -> None:
    """Index both folders; then remove the second from the library if ``remove``."""
    teller = Teller(parent)
    try:
        with ExitStack() as stack:
            stack.enter_context(patch.object(VectorIndex, "save", teller.telling("save", VectorIndex.save)))
            stack.enter_context(patch.object(Sync, "plan", teller.telling("plan", Sync.plan)))
            stack.enter_context(patch.object(Database, "writing", teller.telling_transaction(Database.writing)))
            _live(home, documents, extra, remove, teller)
    except Exception as error:  # noqa: BLE001 - whatever ends a life is for the parent to judge
        teller.say(f"{FAILED}{type(error).__name__}: {error}")


def _live(home: Path, documents: Path, extra: Path, remove: bool, teller: Teller) -> None:
    with teller.within("open"):
        library = Library.open(home, BagOfWords(), embedding_name=NAME)
    with library:
        with teller.within("add"):
            library.add([documents, extra])
        with teller.within("sync"):
            library.sync(lambda advance: teller.say(f"sync read {advance.files}"))
        if remove:
            with teller.within("remove"):
                library.remove(extra)
