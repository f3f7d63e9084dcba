"""Ask every system every question that it has not answered yet, and store each answer as it arrives."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from core.errors import ModelError
from core.types import Usage, add_usage, no_usage
from evaluation.record_store import RecordStore
from evaluation.records import Cost, Example, Provenance, Record, System

FAILURES = 3  # in a row: the model is gone, and the remaining questions would fail too


@dataclass
class Tally:
    """Progress of a run: of ``total`` answers, those ``kept`` from before, ``asked`` now, and ``failed`` of these."""

    total: int
    kept: int = 0
    asked: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=no_usage)
    started: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        return self.kept + self.asked


Progress = Callable[[Tally], None]


async def run_systems(
    systems: Sequence[System],
    examples: Sequence[Example],
    store: RecordStore,
    concurrency: int = 1,
    progress: Progress | None = None,
    provenance: Provenance | None = None,
) -> dict[str, list[Record]]:
    """Return each system's records, by its name, in the order of the examples; ``progress`` is called after each.

    ``provenance`` is added to each new record. A question that fails leaves a record with its error, and the run
    continues. Raises `ModelError` when the model fails three times in a row; this, like an interruption, leaves
    everything finished so far in ``store``.
    """
    pending = [pair for pair in _interleaved(systems, examples) if store.done(*pair) is None]
    total = len(systems) * len(examples)
    tally = Tally(total=total, kept=total - len(pending))
    failures_in_row = 0

    async def work(queue: Iterator[tuple[System, Example]]) -> None:
        nonlocal failures_in_row
        for system, example in queue:
            record = await _ask(system, example)
            if provenance:
                record["stamp"], record["calibration"] = provenance["stamp"], provenance["calibration"]
            store.append(system.fingerprint, record)
            tally.asked += 1
            tally.failed += record["error"] is not None
            tally.usage = add_usage(tally.usage, record["cost"])
            if progress:
                progress(tally)
            failures_in_row = failures_in_row + 1 if record["error"] and record["stop_reason"] == "model_failed" else 0
            if failures_in_row >= FAILURES:
                raise ModelError(record["error"] or "The model failed.")

    if progress:
        progress(tally)
    queue = iter(pending)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(pending))):
                group.create_task(work(queue))
    except BaseExceptionGroup as group_error:
        raise group_error.exceptions[0] from None
    found = {system.name: [store.latest(system, example) for example in examples] for system in systems}
    return {name: [record for record in records if record is not None] for name, records in found.items()}


def _interleaved(systems: Sequence[System], examples: Sequence[Example]) -> Iterator[tuple[System, Example]]:
    """Yield each example with all systems; they take turns in being first, since the first warms the server's cache."""
    for number, example in enumerate(examples):
        for turn in range(len(systems)):
            yield systems[(number + turn) % len(systems)], example


async def _ask(system: System, example: Example) -> Record:
    began = time.perf_counter()
    try:
        return await system.ask(example)
    except Exception as error:  # noqa: BLE001 - any failure of one question becomes a row of the table
        return failed(system.name, example, error, time.perf_counter() - began)


def failed(system: str, example: Example, error: Exception, seconds: float) -> Record:
    """Return the record of a question that a system failed to answer."""
    by_model = isinstance(error, ModelError)
    message = (str(error).strip().splitlines() or [""])[0]
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
        error=message if by_model and message else f"{type(error).__name__}: {message}",
    )
