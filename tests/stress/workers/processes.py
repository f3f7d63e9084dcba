"""The processes of the run: a worker, and one that indexes, both with an embedding model that is quick."""

from __future__ import annotations

import time
from pathlib import Path

from core.errors import RequestError
from retrieval.library.library import Library, open_store
from retrieval.library.queued_sync import worker_name
from retrieval.library.worker import Worker
from retrieval.splitter import SplitSettings
from retrieval.store import Machine, Model
from tests.unit.retrieval.fakes import BagOfWords

LEASE = 1.0  # seconds, so that the files of what was killed are soon taken by others
SPLIT = SplitSettings(200, 20)


def open_library(url: str) -> Library:
    """Open the library that all processes of the run share."""
    return Library(open_store(url, "library", Model(BagOfWords(), "bow"), machine=Machine("here")), SPLIT)


def work(url: str) -> None:
    """Read files until the process is killed."""
    while True:
        try:
            with open_library(url) as library:
                while True:
                    with Worker(library.store, library.require_queue(), SPLIT, worker_name(), lease=LEASE) as worker:
                        while worker.step():
                            pass
                    time.sleep(0.05)
        except RequestError:  # the database is gone for a moment
            time.sleep(0.1)


def index(url: str, folder: str) -> None:
    """Bring the library in step with a folder, again and again."""
    while True:
        try:
            with open_library(url) as library:
                library.add([Path(folder)])
                while True:
                    library.sync()
                    time.sleep(0.05)
        except RequestError:
            time.sleep(0.1)
