"""Ask every system every question that it has not answered yet, some at a time, and keep each answer as it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from core.errors import ModelError
from core.types import Usage, add_usage, no_usage
from evaluation.record_store import Store
from evaluation.records import Cost, Example, Record, System

FAILURES = 3  # one after another: the model is gone, and what is left would fail too


@dataclass
class Tally:
    """How far a run is: answers of ``total`` that were ``kept`` from before, ``asked`` now, and ``failed`` of these."""

    total: int
    kept: int = 0
    asked: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=no_usage)
    started: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        """Answers that there are, failures among them."""
        return self.kept + self.asked

    @property
    def rate(self) -> float | None:
        """Questions a second since the start; None before the first."""
        return self.asked / max(time.monotonic() - self.started, 1e-6) if self.asked else None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the end at the present rate; None before the first answer."""
        return (self.total - self.done) / self.rate if self.rate else None


Progress = Callable[[Tally], None]


async def run(
    systems: Sequence[System],
    examples: Sequence[Example],
    store: Store,
    concurrency: int = 1,
    progress: Progress | None = None,
) -> dict[str, list[Record]]:
    """The records of each system, by its name, in the order of the examples; ``progress`` hears of each.

    A question that fails leaves a record with its error, and the run goes on. Raises `ModelError` when the model fails
    three times running; that, like an interruption, leaves everything that was finished in ``store``.
    """
    pending = [pair for pair in _in_turns(systems, examples) if store.done(*pair) is None]
    total = len(systems) * len(examples)
    tally = Tally(total=total, kept=total - len(pending))
    failing = 0

    async def work(left: Iterator[tuple[System, Example]]) -> None:
        nonlocal failing
        for system, example in left:
            record = await _asked(system, example)
            store.append(system.fingerprint, record)
            _count(tally, record)
            if progress:
                progress(tally)
            failing = failing + 1 if _model_failed(record) else 0
            if failing >= FAILURES:
                raise ModelError(record["error"] or "The model failed.")

    if progress:
        progress(tally)
    left = iter(pending)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(pending))):
                group.create_task(work(left))
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    found = {system.name: [store.latest(system, example) for example in examples] for system in systems}
    return {name: [record for record in records if record is not None] for name, records in found.items()}


def _in_turns(systems: Sequence[System], examples: Sequence[Example]) -> Iterator[tuple[System, Example]]:
    """Each example by all systems in turn; the first to be asked changes, since it warms the server's cache for all."""
    for number, example in enumerate(examples):
        for turn in range(len(systems)):
            yield systems[(number + turn) % len(systems)], example


async def _asked(system: System, example: Example) -> Record:
    began = time.perf_counter()
    try:
        return await system.ask(example)
    except Exception as error:  # noqa: BLE001 - one question's failure is a row of the table, whatever it is
        return failed(system.name, example, error, time.perf_counter() - began)


def failed(system: str, example: Example, error: Exception, seconds: float) -> Record:
    """The record of a question that a system could not be asked."""
    by_model = isinstance(error, ModelError)
    said = (str(error).strip().splitlines() or [""])[0]
    return Record(
        system=system,
        example=example.id,
        question=example.question,
        route=None,
        route_score=None,
        outcome="stopped",
        stop_reason="model_failed" if by_model else "failed",
        answer="",
        confidence=0.0,
        queries=[],
        seen=[],
        said=[],
        citations=[],
        usefulness=None,
        cost=Cost(**no_usage(), seconds=seconds),
        decisions=[],
        error=said if by_model and said else f"{type(error).__name__}: {said}",
    )


def _model_failed(record: Record) -> bool:
    return record["error"] is not None and record["stop_reason"] == "model_failed"


def _count(tally: Tally, record: Record) -> None:
    cost = record["cost"]
    tally.asked += 1
    tally.failed += record["error"] is not None
    tally.usage = add_usage(
        tally.usage,
        Usage(
            model_calls=cost["model_calls"],
            input_tokens=cost["input_tokens"],
            cached_input_tokens=cost["cached_input_tokens"],
            output_tokens=cost["output_tokens"],
            estimated=cost["estimated"],
        ),
    )
