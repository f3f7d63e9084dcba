"""Do a piece of work in a process of its own, with a limit on its memory and its time."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

MEMORY = 2_000_000_000  # bytes of address space
PROCESSES = multiprocessing.get_context("fork")  # what the parent has imported need not be imported again


@dataclass(frozen=True)
class Outcome:
    """``result`` when it ended well; else ``error`` is its exception's text, "hung" or "crashed"."""

    result: Any
    error: str
    seconds: float


def apart(work: Callable[[], Any], seconds: float) -> Outcome:
    """Run ``work``; its time is the processor's, and three times that much may pass on the wall."""
    ours, theirs = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=_run, args=(work, theirs, seconds), daemon=True)
    process.start()
    theirs.close()
    began = time.perf_counter()
    try:
        outcome = ours.recv() if ours.poll(3 * seconds) else Outcome(None, "hung", seconds)
    except EOFError:  # it ended without a word
        process.join()
        hung = process.exitcode == -24  # SIGXCPU
        outcome = Outcome(None, "hung" if hung else "crashed", seconds if hung else time.perf_counter() - began)
    process.kill()
    process.join()
    ours.close()
    return outcome


def _run(work: Callable[[], Any], answer: Connection, seconds: float) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    began = time.process_time()
    try:
        outcome = Outcome(work(), "", time.process_time() - began)
    except BaseException as error:  # noqa: BLE001 - whatever it is belongs into the table
        outcome = Outcome(None, f"{type(error).__name__}: {error}", time.process_time() - began)
    answer.send(outcome)
