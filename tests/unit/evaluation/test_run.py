import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import ModelError, RequestError
from evaluation.record_store import NAME, RecordStore
from evaluation.records import Example, Record
from evaluation.run import Tally, run_systems
from tests.unit.evaluation.sample_records import ScriptedSystem, example, record

EXAMPLES = [example(str(i)) for i in range(8)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RecordStore]:
    with RecordStore(tmp_path / NAME) as made:
        yield made


async def test_what_was_answered_is_not_asked_again_and_progress_hears_of_the_rest_and_its_cost(
    store: RecordStore,
) -> None:
    await run_systems([ScriptedSystem()], EXAMPLES[:3], store)
    heard: list[tuple[int, int, int, int]] = []

    def progress(tally: Tally) -> None:
        heard.append((tally.done, tally.total, tally.kept, tally.usage["model_calls"]))

    again = ScriptedSystem()
    records = await run_systems([again], EXAMPLES[:6], store, progress=progress)
    assert again.asked == ["3", "4", "5"]
    assert len(records["ours"]) == 6
    assert heard == [(3, 6, 3, 0), (4, 6, 3, 2), (5, 6, 3, 4), (6, 6, 3, 6)]
    changed = ScriptedSystem(fingerprint="changed")
    await run_systems([changed], EXAMPLES[:3], store)
    assert changed.asked == ["0", "1", "2"]


async def test_the_systems_take_turns_at_being_first(store: RecordStore) -> None:
    order: list[str] = []
    systems = [ScriptedSystem(name, says=lambda _, name=name: order.append(name)) for name in ("one", "other")]  # type: ignore[misc]
    await run_systems(systems, EXAMPLES[:2], store)
    assert order == ["one", "other", "other", "one"]


@pytest.mark.parametrize("concurrency", [1, 3, 100])
async def test_concurrency_is_bounded_and_used(store: RecordStore, concurrency: int) -> None:
    class Counting(ScriptedSystem):
        now = most = 0

        async def ask(self, example: Example) -> Record:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.001)
            self.now -= 1
            return record(example.id)

    system = Counting()
    await run_systems([system], EXAMPLES, store, concurrency)
    assert system.most == min(concurrency, 8)


async def test_a_failure_is_a_row_and_the_run_goes_on(store: RecordStore) -> None:
    failures = {"2": LookupError("odd\nand long"), "5": RequestError("The question is too long.")}
    failed: list[int] = []
    system = ScriptedSystem(says=lambda example: failures.get(example.id))
    records = await run_systems([system], EXAMPLES, store, progress=lambda tally: failed.append(tally.failed))
    assert failed == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [said["error"] for said in records["ours"] if said["error"]] == [
        "LookupError: odd",
        "RequestError: The question is too long.",
    ]
    again = ScriptedSystem()
    records = await run_systems([again], EXAMPLES, store)
    assert again.asked == ["2", "5"]
    assert all(said["error"] is None for said in records["ours"])


async def test_a_model_that_is_gone_ends_the_run_and_keeps_what_there_is(store: RecordStore) -> None:
    gone = ModelError("Cannot reach the server.")
    system = ScriptedSystem(says=lambda example: gone if int(example.id) >= 3 else None)
    with pytest.raises(ModelError, match=r"^Cannot reach the server\.$"):
        await run_systems([system], EXAMPLES, store)
    assert system.asked == ["0", "1", "2", "3", "4", "5"]
    again = ScriptedSystem()
    await run_systems([again], EXAMPLES, store)
    assert again.asked == ["3", "4", "5", "6", "7"]


async def test_a_model_that_fails_now_and_then_does_not_end_the_run(store: RecordStore) -> None:
    failure = ModelError("It did not answer in time.")
    often = ScriptedSystem("often", says=lambda example: failure if int(example.id) % 3 else None)
    assert len((await run_systems([often], EXAMPLES, store))["often"]) == 8


async def test_a_record_of_a_failed_model_counts_as_a_failure(store: RecordStore) -> None:
    gone = {"error": "Gone.", "stop_reason": "model_failed", "outcome": "stopped"}
    with pytest.raises(ModelError, match=r"^Gone\.$"):
        await run_systems([ScriptedSystem(says=lambda example: record(example.id, **gone))], EXAMPLES, store)
