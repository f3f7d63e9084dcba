"""Bring an index in step with the files it follows, a batch of passages in one transaction."""

import hashlib
import os
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from langchain_core.documents import Document

from core.errors import damaged
from core.files import read_regular
from core.text import shown
from retrieval.documents.load import LARGEST, documents_of
from retrieval.index.database import Database
from retrieval.index.document_rows import Record, get_records, put_passages, put_record, remove_records, touch_records
from retrieval.index.embedding import Model, agree, embed_once
from retrieval.index.schema import get_followed, get_roots
from retrieval.index.vector_rows import BATCH, drop_spare_vectors, has_spare_vectors
from retrieval.library.discovery import Found, Stamp, find_documents
from retrieval.sandbox.pool import Readers, Reading
from retrieval.splitter import SplitSettings, split
from retrieval.sync_report import Failure, Progress, Skipped, Status, SyncReport, TimeEstimate

_FILES = 256  # in one transaction
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
class _Done:
    """A file that was read and split, waiting for its vectors; one without text has no passages."""

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
            followed = get_followed(connection)
        if known and not roots:
            raise damaged()  # a root goes with its documents
        plan = Plan(find_documents(roots, followed), known)
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
                data = read_regular(_path(path), LARGEST, follow_links=False)
            except OSError:
                return ""
            self._hashes[path, stamp] = hashlib.sha256(data).hexdigest()
        return self._hashes[path, stamp]

    def carry_out(self, plan: Plan) -> None:
        """Index what changed, a batch of passages at a time, and drop what is gone."""
        files = [(_path(path), plan.found.files[path].size) for path in plan.changed]
        pace = TimeEstimate(files, self._progress)
        waiting: list[_Done] = []
        with Readers() as readers:
            for done, reading in enumerate(readers.read(plan.changed)):
                pace.tell(done)
                waiting.append(self._split(reading, plan))
                pace.passages += len(waiting[-1].passages)
                if sum(len(one.passages) for one in waiting) >= BATCH or len(waiting) >= _FILES:
                    self._index(waiting, plan)
                    waiting = []
            if readers.note:
                self.report.notes.append(readers.note)
        self._index(waiting, plan)
        self._drop(plan)
        self.touch(plan)
        pace.tell(len(plan.changed))

    def _split(self, reading: Reading, plan: Plan) -> _Done:
        """Turn what became of a file into its record and passages."""
        stamp = plan.found.files[reading.path]
        old = plan.known.get(reading.path)
        same = reading.sha256 is None or reading.size == stamp.size
        record = Record(
            reading.path,
            sha256=reading.sha256,
            size=stamp.size if reading.sha256 is None else reading.size,
            mtime_ns=stamp.mtime_ns if _settled(stamp) and same else -1,
            date=_day(stamp),
            id=old.id if old else 0,
        )
        if reading.loaded is None:
            if reading.status != "unopened":  # to be tried again only when it has changed
                record = replace(record, sha256=reading.sha256 or "")
            status: Status = "empty" if reading.status == "empty" else "failed"
            return _Done(replace(record, status=status, reason=reading.reason), [])
        loaded = reading.loaded
        record = replace(record, reason=loaded.note, date=loaded.date or record.date)
        return _Done(record, split(documents_of(_path(reading.path), loaded), self._settings), loaded.note)

    def _index(self, waiting: list[_Done], plan: Plan) -> None:
        """Embed what waits in common batches, then write all of it or none."""
        if not waiting:
            return
        texts = [passage.page_content for one in waiting for passage in one.passages]
        vectors = embed_once(self._database, self._model, texts) if texts else None
        start = 0
        with self._database.writing() as connection:
            if vectors is not None:
                agree(connection, self._database, self._model, vectors.shape[1])
            for one in waiting:
                end = start + len(one.passages)
                document = put_record(connection, one.record)
                if vectors is not None and one.passages:
                    put_passages(connection, document, one.passages, vectors[start:end])
                start = end
        for one in waiting:
            self._report(one, known=one.record.path in plan.known)

    def _report(self, one: _Done, *, known: bool) -> None:
        path = _path(one.record.path)
        if one.record.status == "indexed":
            (self.report.updated if known else self.report.added).append(path)
        else:
            lost = self.report.empty if one.record.status == "empty" else self.report.failed
            lost.append(Failure(path, one.record.reason))
        if one.note:
            self.report.notes.append(one.note)

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
        failures = [record for record in idle if record.status != "indexed"]
        kept = [path for path in plan.known if path not in plan.found.files and path not in plan.gone]
        report.still_failed = [Failure(_path(record.path), record.reason) for record in failures]
        report.unchanged = len(idle) - len(failures) + len(kept)
        report.skipped = [Skipped(_path(path), reason) for path, reason in plan.found.skipped]
        lost = sum(path in plan.found.outside for path in plan.gone)
        if lost:
            report.notes.append(
                f"Documents outside of the library's folders, to which only links lead, were removed ({lost}): "
                "add them by name, or the folder with index --follow-links."
            )
        for root, kind in plan.found.missing.items():
            if root in plan.found.links:
                report.notes.append(
                    f"{shown(_path(root))} has become a link, which is not followed: add what it leads to by name."
                )
            elif kind == "folder":
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


def _day(stamp: Stamp) -> str:
    """Return the day of a file's last change, in UTC, as 'YYYY-MM-DD'."""
    try:
        return datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return "1970-01-01"


def _settled(stamp: Stamp) -> bool:
    return time.time_ns() - stamp.mtime_ns > _RECENT


def _path(path: bytes) -> Path:
    return Path(os.fsdecode(path))
