import asyncio
from functools import partial
from threading import Event, get_ident

import pytest

from core.errors import RequestError
from nodes.concurrency import SHORT, gather, gather_bounded, off_loop


async def test_calls_run_side_by_side_and_keep_their_order() -> None:
    barrier = asyncio.Barrier(3)

    async def call(number: int) -> int:
        async with asyncio.timeout(5):
            await barrier.wait()
        return number

    assert await gather(call(number) for number in range(3)) == [0, 1, 2]
    assert await gather([]) == []


async def test_the_first_error_ends_the_others() -> None:
    ended = asyncio.Event()

    async def endless() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    async def broken() -> None:
        await asyncio.sleep(0)
        raise LookupError

    with pytest.raises(LookupError):
        await gather([endless(), broken()])
    assert ended.is_set()


@pytest.mark.parametrize("at_once", [0, -1])
async def test_no_call_at_a_time_is_refused(at_once: int) -> None:
    async with asyncio.timeout(5):
        with pytest.raises(RequestError, match=rf"^at_once is {at_once}: "):
            await gather_bounded([partial(asyncio.sleep, 0)], at_once)


async def test_no_more_calls_run_than_allowed_and_their_order_is_kept() -> None:
    running, most, told = 0, 0, []

    async def call(number: int) -> int:
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0)
        running -= 1
        return number

    calls = [partial(call, number) for number in range(5)]
    assert await gather_bounded(calls, 2, lambda *progress: told.append(progress)) == [0, 1, 2, 3, 4]
    assert most == 2
    assert told == [(number, 5) for number in range(1, 6)]


@pytest.mark.parametrize(("size", "here"), [(SHORT, True), (SHORT + 1, False)])
async def test_a_long_text_is_read_in_a_thread_and_a_short_one_at_once(size: int, here: bool) -> None:
    assert (await off_loop(size, get_ident) == get_ident()) is here


async def test_what_has_not_begun_when_its_question_ends_never_does() -> None:
    begun, go_on, read = Event(), Event(), list[str]()

    def first() -> None:
        begun.set()
        go_on.wait(10)

    under_way = asyncio.ensure_future(off_loop(SHORT + 1, first))
    waiting = asyncio.ensure_future(off_loop(SHORT + 1, read.append, "of a question that ended"))
    await asyncio.to_thread(begun.wait, 10)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    go_on.set()
    await under_way
    await off_loop(SHORT + 1, read.append, "of another")
    assert read == ["of another"]
