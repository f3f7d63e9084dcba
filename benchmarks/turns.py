"""Questions asked in several ways in turn, and what each way costs over plain retrieve-and-generate."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.harness import aligned
from evaluation.records import Example, Record, System

PLAIN, OURS = "plain", "ours"
ANSWERED = ("grounded", "answered")


@dataclass(frozen=True)
class Turn:
    """One question answered in one way, ``accepted`` at the first draft; ``chain`` is 0 unless a server counted it."""

    seconds: float
    calls: int
    uncached: int
    accepted: bool = True
    outcome: str = "answered"
    chain: int = 0


async def turn_of(system: System, question: str) -> Turn:
    """Ask a question in one way."""
    began = time.perf_counter()
    record = await system.ask(Example(id=question, question=question))
    seconds, cost = time.perf_counter() - began, record["cost"]
    uncached = max(1, cost["input_tokens"] - cost["cached_input_tokens"])
    return Turn(seconds, cost["model_calls"], uncached, is_accepted(record), record["outcome"])


def is_accepted(record: Record) -> bool:
    """Whether a record is an answer, and of our graph one that was grounded at its first draft."""
    drafts = sum(step["node"] == "generate" for step in record["decisions"])
    return record["outcome"] in ANSWERED and (record["outcome"] == "answered" or drafts == 1)


def medians(rows: Sequence[Mapping[str, Turn]]) -> dict[str, dict[str, float]]:
    """Return the medians of each way, and its medians over plain, question by question; the chain is the longest."""
    return {
        name: {
            "calls": median(row[name].calls for row in rows),
            "chain": max(row[name].chain for row in rows),
            "seconds": median(row[name].seconds for row in rows),
            "times": median(row[name].seconds / row[PLAIN].seconds for row in rows),
            "uncached": median(row[name].uncached for row in rows),
            "uncached_times": median(row[name].uncached / row[PLAIN].uncached for row in rows),
        }
        for name in rows[0]
    }


def table(ways: Mapping[str, Mapping[str, float]]) -> str:
    """Format the medians of each way, a line each; times are over plain's."""
    forms = {"calls": 0, "chain": 0, "seconds": 2, "times": 2, "uncached": 0, "uncached_times": 2}
    rows = [(name, *(f"{one[key]:.{digits}f}" for key, digits in forms.items())) for name, one in ways.items()]
    return aligned([("", "calls", "chain", "seconds", "times plain", "uncached", "times plain"), *rows])
