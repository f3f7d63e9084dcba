"""``worker``: index the files in the queue of a PostgreSQL library; workers on other machines share the queue."""

import argparse
import signal
import sys
import time

from app.libraries import open_library
from app.settings import load_settings
from app.terminal.screen import Screen
from core.errors import RequestError
from retrieval.library.library import Library
from retrieval.library.queued_sync import worker_name
from retrieval.library.worker import Worker
from retrieval.sync_report import Advance

PAUSE = 1.0  # seconds until an empty queue is looked at again


def worker(options: argparse.Namespace) -> int:
    """Index files until a signal; then unfinished files go back to the queue at once. Returns the exit code."""
    screen = Screen(quiet=options.quiet)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with open_library(options.library, load_settings(), screen) as library:
        library.require_queue()
        try:
            while index_queue(library, screen) or not options.once:
                time.sleep(PAUSE)
        except KeyboardInterrupt:
            screen.remark("ended; what was not finished goes to another worker.")
    return 0


def index_queue(library: Library, screen: Screen) -> int:
    """Index files until no file of the queue is free to be taken; return how many were indexed."""
    told: set[str] = set()

    def tell(error: RequestError) -> None:
        if str(error) not in told:
            screen.note(f"{error} It is tried again.")
        told.add(str(error))

    queue = library.require_queue()
    began, done = time.monotonic(), 0
    with (
        screen.working("indexing", "files") as progress,
        Worker(library.store, queue, library.settings, worker_name(), unreachable=tell) as reader,
    ):
        while taken := reader.step():
            done += taken
            total = done + queue.waiting(everywhere=True)
            progress(Advance(done, total, reader.passages, time.monotonic() - began, reader.last))
    if done:
        screen.remark(f"{done:,} files read; waiting for more")
    return done
