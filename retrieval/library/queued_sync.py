"""Sync a library with this machine's disk, if many processes and machines read the library's files."""

import os
import platform
import time
from contextlib import suppress

from core.errors import IndexBusy, RequestError
from retrieval.library.sync import Plan, Sync
from retrieval.library.worker import Worker
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import FileQueue, Uploads, path_of
from retrieval.sync_report import Progress, SyncReport, TimeEstimate

PAUSE = 0.2  # seconds until the files that others read are looked for again
PATIENCE = 30.0  # seconds to wait for a database that cannot be reached, as at its restart
MOST_SENT = 32  # files in the database that wait for other machines: with as many, this one sends no more


def sync_by_queue(
    store: Store, queue: FileQueue, settings: SplitSettings, progress: Progress | None, seconds: float
) -> SyncReport:
    """Queue what changed, and read from the queue, beside other processes, until this machine's files are read.

    With ``seconds`` of 0 it raises ``IndexBusy`` instead of waiting for others.
    """
    run = Sync(store, settings, progress)
    plan = queue_changes(store, queue, run, settings, seconds)
    if plan.changed or (store.uploads and store.writable and store.uploads.waiting()):
        _read_queued(store, queue, run, plan, progress, seconds)
    if plan.gone:
        with store.only_writer(seconds):
            run.remove_gone(plan)
    if store.writable:
        with suppress(RequestError), store.only_writer(seconds=0):
            store.settle()
    return run.finish(plan)


def queue_changes(store: Store, queue: FileQueue, run: Sync, settings: SplitSettings, seconds: float) -> Plan:
    """Queue the files that are new or changed, and return the plan; what is gone is not removed yet."""
    plan = run.plan()
    unread = bool(store.uploads and store.writable and store.uploads.unread())
    if plan.changed or unread or store.outdated(settings):
        with store.only_writer(seconds):
            run.report.notes += store.clear_outdated(settings)
            plan = run.plan()
            stamps = {path: plan.found.files[path] for path in plan.changed}
            queue.put(
                {path: (stamp.size, stamp.mtime_ns) for path, stamp in stamps.items()}, plan.found.files.__contains__
            )
            run.touch(plan)
    elif plan.touched and store.writable:
        with suppress(RequestError), store.only_writer(seconds=0):
            run.touch(plan)
    return plan


def read_upload(store: Store, queue: FileQueue, uploads: Uploads, path: bytes, settings: SplitSettings) -> None:
    """Read queued files until the upload at ``path`` has been read, by this or another process."""
    with Worker(store, queue, settings, worker_name(), everywhere=False, unreachable=_raise) as worker:
        while path in uploads.waiting():
            if not worker.step():
                time.sleep(PAUSE)
    with suppress(RequestError), store.only_writer(seconds=0):
        store.settle()


def _raise(error: RequestError) -> None:
    raise error


def worker_name() -> str:
    """Name this process, for messages: "Process 12 on host"."""
    return f"Process {os.getpid()} on {platform.node()[:20]}"


def _read_queued(
    store: Store, queue: FileQueue, run: Sync, plan: Plan, progress: Progress | None, seconds: float
) -> None:
    """Read queued files until no file of this machine waits; add to the report what became of the plan's files."""
    files = [(path_of(path), plan.found.files[path].size) for path in plan.changed]
    estimate = TimeEstimate(files, progress)
    before = sum(record.passages for record in store.records().values())
    with Worker(store, queue, run.settings, worker_name(), everywhere=False, patience=PATIENCE) as worker:
        while waiting := queue.waiting():
            estimate.update(max(0, len(files) - waiting))
            if queue.others():
                queue.send(MOST_SENT)
            if worker.step():
                continue
            if not seconds:
                raise IndexBusy(f"{queue.busy_worker() or 'Another process'} is indexing: try again when it is done.")
            time.sleep(PAUSE)
        if worker.readers.note:
            run.report.notes.append(worker.readers.note)
    records = store.records()
    estimate.passages = max(0, sum(record.passages for record in records.values()) - before)
    estimate.update(len(files))
    for path in plan.changed:
        if record := records.get(path):
            run.tell(record, known=path in plan.known)
