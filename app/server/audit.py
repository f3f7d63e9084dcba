"""The audit log of a server: who asked what, which documents were read for it, and how it ended."""

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from app.server.errors import StorageError
from core.errors import RequestError
from core.files import make_private_folder, open_regular
from core.json_lines import append, open_lines
from core.text import as_json, shown_path

START = b'{"entry": '
Entry = dict[str, Any]


class Chain:
    """The entries of a log in order. Each holds the SHA-256 of the line before it; the first holds an empty text."""

    def __init__(self, on_entry: Callable[[Entry], None] = lambda entry: None) -> None:
        self.entries = 0
        self.last = ""
        self._on_entry = on_entry
        self._whole = True

    def follow(self, line: bytes) -> bool:
        """Take the next line; return False if this or an earlier line does not hold the hash of the line before."""
        try:
            entry = json.loads(line)
            follows = self._whole and entry["before"] == self.last and entry["entry"] == self.entries + 1
        except (ValueError, TypeError, KeyError, RecursionError):
            follows = False
        if follows:
            self._on_entry(entry)
            self.entries, self.last = self.entries + 1, hash_of(line)
        self._whole = bool(follows)
        return self._whole


class Audit:
    """An append-only log, which one process writes at a time. A changed or lost line is detected."""

    def __init__(self, path: Path, on_entry: Callable[[Entry], None] = lambda entry: None) -> None:
        """Open a log, and read what is in it. Raises `RequestError` for one that was changed or cannot be written."""
        self._path = path.expanduser()
        self._chain = Chain(on_entry)
        self._lock = FileLock(f"{self._path}.lock")
        try:
            make_private_folder(self._path.parent)
            self._lock.acquire(timeout=0)
            self._descriptor, refused = open_lines(self._path, START, self._chain.follow)
        except Timeout:
            raise RequestError(
                f"Another server writes {shown_path(path)}: name another file in SELFRAG_AUDIT_FILE."
            ) from None
        except OSError as error:
            self._lock.release()
            raise _unwritable_log(self._path, error) from error
        if refused:
            self.close()
            raise changed_log_error(path, self._chain)

    def add(self, what: str, who: str, **more: Any) -> None:
        """Append an entry, and return once it is on the disk. Raises `RequestError`."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        known = {"entry": self._chain.entries + 1, "at": at, "who": who, "what": what}
        line = as_json({**known, **more, "before": self._chain.last}).encode("utf-8", "replace") + b"\n"
        size = os.fstat(self._descriptor).st_size
        try:
            append(self._descriptor, line)
        except OSError as error:
            with suppress(OSError):  # if a part of the line was written, no other line could follow
                os.ftruncate(self._descriptor, size)
            raise _unwritable_log(self._path, error) from error
        self._chain.entries, self._chain.last = self._chain.entries + 1, hash_of(line)

    def close(self) -> None:
        """Close the file, once."""
        if self._lock.is_locked:
            os.close(self._descriptor)
            self._lock.release()


def verify_log(path: Path, on_entry: Callable[[Entry], None]) -> Chain:
    """Read a log, even while it is written; pass entries to ``on_entry``. Raises `RequestError` for a changed log."""
    chain = Chain(on_entry)
    try:
        with open_regular(path.expanduser()) as file:
            for line in file:
                if not chain.follow(line) and line.endswith(b"\n"):  # a line that is being written has no end yet
                    raise changed_log_error(path, chain)
    except OSError as error:
        raise RequestError(f"{shown_path(path)} cannot be read ({error.strerror}): name an audit log.") from error
    return chain


def hash_of(line: bytes) -> str:
    """Return the SHA-256 of a line without its end."""
    return hashlib.sha256(line.rstrip(b"\n")).hexdigest()


def changed_log_error(path: Path, chain: Chain) -> RequestError:
    """Return the error for a log that was changed."""
    return RequestError(
        f"Entry {chain.entries + 1} of {shown_path(path)} does not follow the one before: the log was changed. Keep "
        "the file, and name another in SELFRAG_AUDIT_FILE."
    )


def _unwritable_log(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"The audit log {shown_path(path)} cannot be written ({error.strerror}): nothing is asked without."
    )
