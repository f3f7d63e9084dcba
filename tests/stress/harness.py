"""What the stress runs share: starting and ending processes, what is counted, and what is said at the end."""

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from benchmarks.harness import aligned, end, end_progress

PROCESSES = multiprocessing.get_context("forkserver")


def start(target: Callable[..., None], *arguments: Any) -> Any:
    """Start a process, which ends with this one."""
    process = PROCESSES.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def ended_alone(process: Any, within: float = 0.0) -> bool:
    """Kill a process unless it ends by itself within so many seconds; return whether it did."""
    if within:
        process.join(within)
    alone = process.exitcode is not None
    process.kill()
    process.join()
    return alone


@dataclass
class Tally:
    """What is counted over a run: each counts what it has."""

    kills: int = 0
    lives: int = 0
    questions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)  # phases, by name
    calls: int = 0
    again: int = 0  # calls of unfinished nodes that were made again
    counts: Counter[str] = field(default_factory=Counter)  # all else, by name
    violated: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def conclude(self, name: str, rows: Sequence[tuple[str, str]], **options: Any) -> NoReturn:
        """Print the rows, write ``bench/<name>.json``, and exit with 1 if anything was violated."""
        end_progress()
        seconds = time.perf_counter() - self.began
        print(aligned([*rows, ("seconds", f"{seconds:.0f}"), ("violations", f"{len(self.violated)}")]))
        figures = {**vars(self), **options, "began": None, "seconds": seconds, "violated": self.violated[:40]}
        end(name, figures, self.violated)
