"""Bring the index up to date with the library's files, one batch of passages per transaction."""

import hashlib
import os
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from core.errors import damaged
from core.files import is_below, read_regular
from core.text import shown_path
from retrieval.documents.load import LARGEST, documents_of
from retrieval.library.discovery import DiscoveredFiles, FileStamp, find_documents
from retrieval.sandbox.pool import Readers, Reading
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings, split
from retrieval.store import UPLOADS, FileRecord, Roots, SplitFile, path_of
from retrieval.sync_report import Failure, Progress, Skipped, Status, SyncReport, TimeEstimate
from retrieval.unit_vectors import BATCH

_FILES = 256  # per transaction
_RECENT = 2_000_000_000  # nanoseconds: a file this recent may change again without a new modification time


@dataclass
class Plan:
    """The work of a sync: ``changed`` files to read, ``gone`` ones to remove; ``touched`` ones have only a new time."""

    found: DiscoveredFiles
    known: dict[bytes, FileRecord]
    changed: list[bytes] = field(default_factory=list)
    gone: list[bytes] = field(default_factory=list)
    touched: list[bytes] = field(default_factory=list)
    unchanged: list[bytes] = field(default_factory=list)


class Sync:
    """One sync of all files; committed batches survive an interruption."""

    def __init__(self, store: Store, settings: SplitSettings, progress: Progress | None):
        self._store = store
        self.settings = settings
        self._progress = progress
        self.report = SyncReport()

    def plan(self) -> Plan:
        """Compare the disk with the index: by size and modification time, then by content where these differ."""
        roots, known = self._store.roots(), self._store.records()
        known = {path: record for path, record in known.items() if not _is_elsewhere(path, roots)}
        if known and not roots.kinds:
            raise damaged()  # removing a root removes its documents
        plan = Plan(find_documents(roots.kinds, roots.followed, roots.excluded), known)
        for path, stamp in plan.found.files.items():
            _plan_file(path, stamp, plan)
        plan.gone = [path for path in known if path not in plan.found.files and not plan.found.is_unreachable(path)]
        return plan

    def execute(self, plan: Plan) -> None:
        """Index what changed, a batch of passages at a time, and remove what is gone."""
        files = [(path_of(path), plan.found.files[path].size) for path in plan.changed]
        estimate = TimeEstimate(files, self._progress)
        pending: list[SplitFile] = []
        with Readers() as readers:
            for done, reading in enumerate(readers.read(plan.changed)):
                estimate.update(done)
                known = plan.known.get(reading.path)
                stamp = plan.found.files[reading.path]
                pending.append(split_file(reading, stamp, self.settings, known.id if known else 0))
                estimate.passages += len(pending[-1].passages)
                if sum(len(file.passages) for file in pending) >= BATCH or len(pending) >= _FILES:
                    self._index(pending, plan)
                    pending = []
            if readers.note:
                self.report.notes.append(readers.note)
        self._index(pending, plan)
        self.remove_gone(plan)
        self.touch(plan)
        estimate.update(len(plan.changed))

    def _index(self, pending: list[SplitFile], plan: Plan) -> None:
        if not pending:
            return
        self._store.put(pending)
        for file in pending:
            self.tell(file.record, known=file.record.path in plan.known)

    def tell(self, record: FileRecord, *, known: bool) -> None:
        """Add to the report what became of a file; ``known`` says that the index had the file before."""
        path = path_of(record.path)
        if record.status == "indexed":
            (self.report.updated if known else self.report.added).append(path)
            if record.reason:
                self.report.notes.append(record.reason)
        else:
            failures = self.report.empty if record.status == "empty" else self.report.failed
            failures.append(Failure(path, record.reason))

    def remove_gone(self, plan: Plan) -> None:
        """Remove documents that are gone; to be called last, so that a moved file can reuse its vectors."""
        if plan.gone:
            self._store.remove([plan.known[path].id for path in plan.gone])
            self.report.removed += [path_of(path) for path in plan.gone]

    def touch(self, plan: Plan) -> None:
        """Record the new modification times of files whose content is unchanged."""
        stamps = [(path, plan.found.files[path]) for path in plan.touched]
        reliable = [(path, stamp.mtime_ns) for path, stamp in stamps if _is_reliable(stamp)]
        if reliable:
            self._store.touch(reliable)

    def finish(self, plan: Plan) -> SyncReport:
        """Complete the report with the files that needed no work, and return it."""
        report = self.report
        unchanged = [plan.known[path] for path in [*plan.unchanged, *plan.touched]]
        failures = [record for record in unchanged if record.status != "indexed"]
        kept = [path for path in plan.known if path not in plan.found.files and path not in plan.gone]
        report.still_failed = [Failure(path_of(record.path), record.reason) for record in failures]
        report.unchanged = len(unchanged) - len(failures) + len(kept)
        report.skipped = [Skipped(path_of(path), reason) for path, reason in plan.found.skipped]
        outside = sum(path in plan.found.outside for path in plan.gone)
        if outside:
            report.notes.append(
                f"Documents outside of the library's folders, to which only links lead, were removed ({outside}): "
                "add them by name, or the folder with index --follow-links."
            )
        for root, kind in plan.found.missing.items():
            if root in plan.found.links:
                report.notes.append(
                    f"{shown_path(path_of(root))} has become a link, which is not followed: add what it leads to by "
                    "name."
                )
            elif kind == "folder":
                report.notes.append(
                    f"The folder {shown_path(path_of(root))} cannot be found: its documents are kept as they were; "
                    "remove it from the library if it is gone for good."
                )
            elif root in plan.gone:
                report.notes.append(f"The file {shown_path(path_of(root))} is gone: its passages were removed.")
        for folder in plan.found.unlistable:
            report.notes.append(
                f"The folder {shown_path(path_of(folder))} cannot be opened: its documents are kept as they were."
            )
        report.passages = sum(record.passages for record in self._store.records().values())
        report.notes[:0] = self._store.database.notes
        self._store.database.notes.clear()
        return report


def split_file(reading: Reading, stamp: FileStamp, settings: SplitSettings, id_: int = 0) -> SplitFile:
    """Turn the outcome of reading a file into its record and passages; ``id_`` is the id of its old record, or 0."""
    same_size = reading.sha256 is None or reading.size == stamp.size
    record = FileRecord(
        reading.path,
        sha256=reading.sha256,
        size=stamp.size if reading.sha256 is None else reading.size,
        mtime_ns=stamp.mtime_ns if _is_reliable(stamp) and same_size else -1,
        date=_day(stamp),
        id=id_,
    )
    if reading.loaded is None:
        if reading.status != "unopened":  # try again only once it has changed
            record = replace(record, sha256=reading.sha256 or "")
        status: Status = "empty" if reading.status == "empty" else "failed"
        return SplitFile(replace(record, status=status, reason=reading.reason), [])
    loaded = reading.loaded
    record = replace(record, reason=loaded.note, date=loaded.date or record.date)
    return SplitFile(record, split(documents_of(path_of(reading.path), loaded), settings))


def _plan_file(path: bytes, stamp: FileStamp, plan: Plan) -> None:
    """Add a file to the plan, as changed, touched or unchanged since its record."""
    record = plan.known.get(path)
    if record is None:
        plan.changed.append(path)
    elif record.sha256 is None:
        retry = record.status == "indexed" or os.access(path, os.R_OK)
        (plan.changed if retry else plan.unchanged).append(path)
    elif (record.size, record.mtime_ns) == (stamp.size, stamp.mtime_ns):
        plan.unchanged.append(path)
    elif record.size == stamp.size and _hash(path) == record.sha256:
        plan.touched.append(path)
    else:
        plan.changed.append(path)


def _hash(path: bytes) -> str:
    """Return the SHA-256 of a file; "" if it cannot be read, or is too large to be indexed."""
    try:
        return hashlib.sha256(read_regular(path_of(path), LARGEST, follow_links=False)).hexdigest()
    except OSError:
        return ""


def _is_elsewhere(path: bytes, roots: Roots) -> bool:
    """True for a document that this machine does not read: an upload, or a file of other machines' roots or links."""
    if any(is_below(path, root) for root in roots.kinds):
        return False
    linked = bool(roots.followed) and roots.followed <= roots.elsewhere.keys()
    return linked or any(is_below(path, root) for root in (UPLOADS, *roots.elsewhere))


def _day(stamp: FileStamp) -> str:
    """Return the day of a file's last change, in UTC, as 'YYYY-MM-DD'."""
    try:
        return datetime.fromtimestamp(stamp.mtime_ns / 1e9, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return "1970-01-01"


def _is_reliable(stamp: FileStamp) -> bool:
    """True if the modification time is so old that any later change of the file is sure to alter the time."""
    return time.time_ns() - stamp.mtime_ns > _RECENT
