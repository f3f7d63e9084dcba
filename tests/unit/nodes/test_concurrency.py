import asyncio
from functools import partial

import pytest

from nodes.concurrency import gather, gather_bounded, gather_successful


async def test_calls_run_side_by_side_and_keep_their_order() -> None:
    barrier = asyncio.Barrier(3)

    async def call(number: int) -> int:
        async with asyncio.timeout(5):
            await barrier.wait()
        return number

    assert await gather(call(number) for number in range(3)) == [0, 1, 2]


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


async def test_nothing_is_no_call() -> None:
    assert await gather([]) == []


async def say(answer: int | Exception) -> int:
    await asyncio.sleep(0)
    if isinstance(answer, Exception):
        raise answer
    return answer


async def test_those_that_do_not_fail_survive_in_order() -> None:
    answers: list[int | Exception] = [1, KeyError("a"), 2, IndexError("b"), 3]
    assert await gather_successful([say(one) for one in answers], (LookupError,)) == [1, 2, 3]
    assert await gather_successful([], (LookupError,)) == []


async def test_when_none_survives_the_first_failure_is_raised() -> None:
    with pytest.raises(KeyError, match="first"):
        await gather_successful([say(KeyError("first")), say(IndexError("second"))], (LookupError,))


async def test_another_error_than_the_expected_ends_all() -> None:
    with pytest.raises(ValueError, match="odd"):
        await gather_successful([say(1), say(ValueError("odd"))], (LookupError,))


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
