"""The records of a run's folder: one line each, appended as they come, and kept through whatever ends the run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Self, cast

from filelock import FileLock, Timeout

from errors import RequestError
from evaluation.records import Example, Record, System
from retrieval.clean import as_json

NAME = "records.jsonl"
KEYS = frozenset(Record.__annotations__)
Key = tuple[str, str, str]


class Store:
    """An append-only JSONL file: ``{"fingerprint": str, "record": Record}`` a line, the last of a key counts.

    A record is done by its system, the system's fingerprint and its example, whose question must be the same; one
    with an ``error`` is not. Close it, or use it as a context manager. ``damaged`` counts lines that are no records.
    """

    def __init__(self, path: Path) -> None:
        """Open or make ``path`` for this process alone, and end a line that a kill left unfinished.

        Raises `RequestError` where another process has it open, or where it cannot be written.
        """
        self.path = path
        self.damaged = 0
        self._records: dict[Key, Record] = {}
        self._lock = FileLock(path.with_name(f".{path.name}.lock"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise RequestError(
                f"Another evaluation is writing {path}: wait for it, or name another folder with --out."
            ) from error
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
            try:
                self._read()
            except BaseException:
                os.close(self._file)
                raise
        except OSError as error:
            self._lock.release()
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Close the file and let others write it."""
        os.close(self._file)
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def done(self, system: System, example: Example) -> Record | None:
        """What the system said to the example, if it was asked as it is now and did not fail."""
        record = self.latest(system, example)
        return record if record is not None and record["error"] is None else None

    def latest(self, system: System, example: Example) -> Record | None:
        """As ``done``, failures among them."""
        record = self._records.get((system.name, system.fingerprint, example.id))
        return record if record is not None and record["question"] == example.question else None

    def append(self, fingerprint: str, record: Record) -> None:
        """Write one record; it is on the disk when this returns. Raises `RequestError` where the disk is full."""
        line = as_json({"fingerprint": fingerprint, "record": record}, default=str) + "\n"
        left = line.encode("utf-8", "replace")
        try:
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError as error:
            raise self._unwritable(error) from error
        self._keep(fingerprint, record)

    def _read(self) -> None:
        data = self.path.read_bytes()
        *lines, last = data.split(b"\n")
        for line in filter(None, map(bytes.strip, lines)):
            self.damaged += not self._take(line)
        if not last.strip():
            return
        if self._take(last):
            os.write(self._file, b"\n")
        else:
            os.ftruncate(self._file, len(data) - len(last))

    def _take(self, line: bytes) -> bool:
        try:
            entry: Any = json.loads(line)
            fingerprint, record = entry["fingerprint"], entry["record"]
            whole = record.keys() >= KEYS
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return False
        if whole:
            self._keep(fingerprint, cast("Record", record))
        return bool(whole)

    def _keep(self, fingerprint: str, record: Record) -> None:
        self._records[record["system"], fingerprint, record["example"]] = record

    def _unwritable(self, error: OSError) -> RequestError:
        reason = error.strerror or error
        return RequestError(f"{self.path} cannot be written ({reason}): make room, or name another folder with --out.")
