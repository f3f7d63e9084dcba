"""Store a run's records: one line each, appended as they arrive, and preserved however the run ends."""

import json
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from core.errors import RequestError
from core.files import FILE_MODE, FOLDER_MODE
from core.json_lines import append, open_lines, writing
from core.text import as_json, shown_path
from evaluation.records import Example, Record, System

NAME = "records.jsonl"
START = b'{"fingerprint": "'
RECORD = TypeAdapter(Record)
Key = tuple[str, str, str]


class RecordStore(AbstractContextManager["RecordStore"]):
    """An append-only JSONL file of ``{"fingerprint": str, "record": Record}``; the last line of a key counts.

    The key is the system's name, its fingerprint and the example's id. An example is done if its record has the same
    question and no ``error``. Close the store, or use ``with``. ``damaged`` counts lines that are not records.
    """

    def __init__(self, path: Path) -> None:
        """Open or create ``path`` for this process alone, and cut off a line that a kill left unfinished.

        Raises `RequestError` if another process has it open, or if it cannot be written.
        """
        self.path = path
        self._records: dict[Key, Record] = {}
        self._lock = FileLock(path.with_name(f".{path.name}.lock"), mode=FILE_MODE)
        with writing(path):
            path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
            try:
                self._lock.acquire(timeout=0)
            except Timeout as error:
                raise RequestError(
                    f"Another evaluation is writing {shown_path(path)}: wait for it, or name another folder with --out."
                ) from error
            try:
                self._file, self.damaged = open_lines(path, START, self._accept)
            except OSError:
                self._lock.release()
                raise

    def close(self) -> None:
        os.close(self._file)
        self._lock.release()

    def __exit__(self, *_: object) -> None:
        self.close()

    def done(self, system: System, example: Example) -> Record | None:
        """Return the system's record of the example, if its fingerprint is the same and it did not fail."""
        record = self.latest(system, example)
        return record if record is not None and record["error"] is None else None

    def latest(self, system: System, example: Example) -> Record | None:
        """Return the latest record, as ``done`` does, but including failures."""
        record = self._records.get((system.name, system.fingerprint, example.id))
        return record if record is not None and record["question"] == example.question else None

    def append(self, fingerprint: str, record: Record) -> None:
        """Write one record durably (fsync). Raises `RequestError` if the disk is full."""
        line = as_json({"fingerprint": fingerprint, "record": record}, default=str) + "\n"
        with writing(self.path):
            append(self._file, line.encode("utf-8", "replace"))
        self._keep(fingerprint, record)

    def _accept(self, line: bytes) -> bool:
        entry = parse_line(line)
        if entry:
            self._keep(*entry)
        return entry is not None

    def _keep(self, fingerprint: str, record: Record) -> None:
        self._records[record["system"], fingerprint, record["example"]] = record


def parse_line(line: bytes) -> tuple[str, Record] | None:
    """Parse a line into its fingerprint and record; return None if it holds none."""
    try:
        entry: Any = json.loads(line)
        fingerprint, record = entry["fingerprint"], entry["record"]
        RECORD.validate_python(record, strict=True)
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return (fingerprint, cast("Record", record)) if isinstance(fingerprint, str) else None
