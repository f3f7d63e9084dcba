"""Bring an index in step with the files it follows, one transaction a file."""

import hashlib
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from langchain_core.documents import Document

from retrieval.database import Database
from retrieval.embed import BATCH
from retrieval.errors import UnreadableDocument, shown
from retrieval.indexing import Model, agree, embed_once
from retrieval.load import LARGEST, check_size, documents_of, parse
from retrieval.records import Record, get_records, put_passages, put_record, remove_records, touch_records
from retrieval.report import Failure, Progress, SyncReport
from retrieval.split import SplitSettings, split
from retrieval.state import get_roots
from retrieval.vector_rows import drop_spare_vectors, has_spare_vectors
from retrieval.walk import Found, Stamp, find_documents

_RECENT = 2_000_000_000  # nanoseconds: a file changed so lately may change again under the same time


@dataclass
class Plan:
    """What is to be done: files to read, documents to drop, and stamps to renew."""

    found: Found
    known: dict[bytes, Record]
    changed: list[bytes] = field(default_factory=list)
    gone: list[bytes] = field(default_factory=list)
    touched: list[bytes] = field(default_factory=list)
    unchanged: list[bytes] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether the index agrees with the disk."""
        return not self.changed and not self.gone


@dataclass
class _Read:
    """A file that was read and split, waiting for its vectors."""

    record: Record
    passages: list[Document]
    note: str = ""


class Sync:
    """One run over all files; what is done stays done when it is interrupted."""

    def __init__(self, database: Database, model: Model, settings: SplitSettings, progress: Progress | None):
        self._database = database
        self._model = model
        self._settings = settings
        self._progress = progress
        self._hashes: dict[tuple[bytes, Stamp], str] = {}
        self.report = SyncReport()

    def plan(self) -> Plan:
        """Compare the disk with the index: by size and time first, by content where these differ."""
        with self._database.reading() as connection:
            roots, known = get_roots(connection), get_records(connection)
        plan = Plan(find_documents(roots), known)
        for path, stamp in plan.found.files.items():
            self._compare(path, stamp, plan)
        plan.gone = [path for path in known if path not in plan.found.files and not plan.found.hidden_from_view(path)]
        return plan

    def _compare(self, path: bytes, stamp: Stamp, plan: Plan) -> None:
        record = plan.known.get(path)
        if record is None:
            plan.changed.append(path)
        elif record.sha256 is None:
            retry = record.status == "indexed" or os.access(path, os.R_OK)
            (plan.changed if retry else plan.unchanged).append(path)
        elif (record.size, record.mtime_ns) == (stamp.size, stamp.mtime_ns):
            plan.unchanged.append(path)
        elif record.size == stamp.size and self._hash(path, stamp) == record.sha256:
            plan.touched.append(path)
        else:
            plan.changed.append(path)

    def _hash(self, path: bytes, stamp: Stamp) -> str:
        if stamp.size > LARGEST:
            return ""
        if (path, stamp) not in self._hashes:
            try:
                self._hashes[path, stamp] = hashlib.sha256(_path(path).read_bytes()).hexdigest()
            except OSError:
                return ""
        return self._hashes[path, stamp]

    def carry_out(self, plan: Plan) -> None:
        """Index what changed, a batch of passages at a time, and drop what is gone."""
        waiting: list[_Read] = []
        passages = 0
        for done, path in enumerate(plan.changed):
            if self._progress:
                self._progress(done, len(plan.changed), passages, _path(path))
            read = self._read(path, plan)
            if read is None:
                continue
            waiting.append(read)
            passages += len(read.passages)
            if sum(len(one.passages) for one in waiting) >= BATCH:
                self._index(waiting, plan)
                waiting = []
        self._index(waiting, plan)
        self._drop(plan)
        self.touch(plan)
        if self._progress and plan.changed:
            self._progress(len(plan.changed), len(plan.changed), passages, _path(plan.changed[-1]))

    def _read(self, path: bytes, plan: Plan) -> _Read | None:
        """Read and split a file, or write down why that cannot be done."""
        stamp = plan.found.files[path]
        old = plan.known.get(path)
        record = Record(
            path,
            size=stamp.size,
            mtime_ns=stamp.mtime_ns if _settled(stamp) else -1,
            id=old.id if old else 0,
        )
        try:
            check_size(_path(path), stamp.size)
            data = _path(path).read_bytes()
        except UnreadableDocument as error:
            self._fail(replace(record, sha256="", mtime_ns=stamp.mtime_ns), str(error))
            return None
        except OSError as error:
            reason = f"{shown(_path(path).name)} cannot be opened ({error.strerror}): check its permissions."
            self._fail(record, reason)
            return None
        record = replace(record, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        try:
            loaded = parse(_path(path), data)
        except UnreadableDocument as error:
            self._fail(record, str(error))
            return None
        passages = split(documents_of(_path(path), loaded), self._settings)
        return _Read(replace(record, reason=loaded.note), passages, loaded.note)

    def _fail(self, record: Record, reason: str) -> None:
        with self._database.writing() as connection:
            put_record(connection, replace(record, status="failed", reason=reason))
        self.report.failed.append(Failure(_path(record.path), reason))

    def _index(self, waiting: list[_Read], plan: Plan) -> None:
        """Embed what waits in common batches, then write it file by file."""
        if not waiting:
            return
        texts = [passage.page_content for read in waiting for passage in read.passages]
        vectors = embed_once(self._database, self._model, texts)
        start = 0
        for read in waiting:
            end = start + len(read.passages)
            with self._database.writing() as connection:
                agree(connection, self._database, self._model, vectors.shape[1])
                put_passages(connection, put_record(connection, read.record), read.passages, vectors[start:end])
            start = end
            path = _path(read.record.path)
            (self.report.updated if read.record.path in plan.known else self.report.added).append(path)
            if read.note:
                self.report.notes.append(read.note)

    def _drop(self, plan: Plan) -> None:
        """Remove what is gone, last: a file that was moved has lent its vectors by now."""
        if plan.gone:
            with self._database.writing() as connection:
                remove_records(connection, [plan.known[path].id for path in plan.gone])
            self.report.removed += [_path(path) for path in plan.gone]
        with self._database.reading() as connection:
            leftover = has_spare_vectors(connection)
        if leftover:
            with self._database.writing() as connection:
                drop_spare_vectors(connection)

    def touch(self, plan: Plan) -> None:
        """Write down the new times of files whose content is as it was."""
        stamps = [(path, plan.found.files[path]) for path in plan.touched]
        settled = [(path, stamp.mtime_ns) for path, stamp in stamps if _settled(stamp)]
        if settled:
            with self._database.writing() as connection:
                touch_records(connection, settled)

    def finish(self, plan: Plan) -> None:
        """Complete the report with what needed no work."""
        report = self.report
        idle = [plan.known[path] for path in [*plan.unchanged, *plan.touched]]
        failures = [record for record in idle if record.status == "failed"]
        kept = [path for path in plan.known if path not in plan.found.files and path not in plan.gone]
        report.still_failed = [Failure(_path(record.path), record.reason) for record in failures]
        report.unchanged = len(idle) - len(failures) + len(kept)
        report.skipped = plan.found.skipped
        for root, kind in plan.found.missing.items():
            if kind == "folder":
                report.notes.append(
                    f"The folder {shown(_path(root))} cannot be found: its documents are kept as they were; "
                    "remove it from the library if it is gone for good."
                )
            elif root in plan.gone:
                report.notes.append(f"The file {shown(_path(root))} is gone: its passages were removed.")
        for folder in plan.found.closed:
            report.notes.append(
                f"The folder {shown(_path(folder))} cannot be opened: its documents are kept as they were."
            )
        if plan.found.links:
            report.notes.append(f"{plan.found.links} links to folders were not followed: add the folders themselves.")


def _settled(stamp: Stamp) -> bool:
    return time.time_ns() - stamp.mtime_ns > _RECENT


def _path(path: bytes) -> Path:
    return Path(os.fsdecode(path))
