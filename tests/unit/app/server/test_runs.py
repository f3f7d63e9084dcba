import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest

from app.results.events import DraftToken, Event
from app.server.runs import INTERNAL, Run, Runs
from core.errors import ModelError


def asking(
    *events: Event, gate: asyncio.Event | None = None, error: Exception | None = None
) -> Callable[[], AsyncGenerator[Event, None]]:
    """Events one by one; those of a run with a ``gate`` come when it opens."""

    async def ask() -> AsyncGenerator[Event, None]:
        if gate:
            await gate.wait()
        for event in events:
            yield event
            await asyncio.sleep(0)
        if error:
            raise error

    return ask


def kinds(run: Run) -> list[str]:
    return [event.kind for event in run.events]


async def test_a_run_that_is_cancelled_before_it_begins_gives_its_place_back() -> None:
    runs = Runs(at_once=1, queue=0)
    for _ in range(3):
        run = runs.start(Run("why"), asking())
        run.cancel()
        await run.wait()
        assert kinds(run) == ["queued", "cancelled"]
    run = runs.start(Run("why"), asking(DraftToken("a")))
    await run.wait()
    assert "draft_token" in kinds(run)


@pytest.mark.parametrize(
    ("error", "said"), [(ModelError("The model is gone."), "The model is gone."), (KeyError("secret"), INTERNAL)]
)
async def test_a_run_that_fails_says_so_in_a_sentence_without_insides(error: Exception, said: str) -> None:
    runs = Runs(at_once=1, queue=0)
    run = runs.start(Run("why"), asking(error=error))
    await run.wait()
    assert (run.state, run.error, run.events[-1].data) == ("failed", error, {"message": said})


async def test_the_oldest_ended_runs_of_an_owner_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.server.runs.MOST_KEPT", 2)
    runs = Runs(at_once=1, queue=0)
    other = runs.start(Run("other", "bob"), asking())
    await runs.aclose()
    for number in range(4):
        await runs.start(Run(str(number), "ann"), asking()).wait()
        await asyncio.sleep(0)
    assert [run.question for run in runs.of("ann")] == ["3", "2"]
    assert runs.get(other.id, "bob") is other


def test_ids_cannot_be_guessed() -> None:
    ids = {Run("why").id for _ in range(1000)}
    assert len(ids) == 1000
    assert min(map(len, ids)) >= 22


async def test_other_work_takes_the_place_of_a_run_and_waits_for_one() -> None:
    runs, gate, worked = Runs(at_once=1, queue=1), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        async with runs.place():
            worked.set()

    runs.start(Run("why"), asking(gate=gate))
    working = asyncio.create_task(work())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not worked.is_set()
    gate.set()
    await working
    async with runs.place():
        run = runs.start(Run("how"), asking(DraftToken("So")))
        for _ in range(5):
            await asyncio.sleep(0)
        assert run.state == "queued"
    await run.wait()
    assert "draft_token" in kinds(run)
