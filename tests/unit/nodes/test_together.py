import asyncio

import pytest

from nodes.together import together


async def test_calls_run_side_by_side_and_keep_their_order() -> None:
    barrier = asyncio.Barrier(3)

    async def call(number: int) -> int:
        async with asyncio.timeout(5):
            await barrier.wait()
        return number

    assert await together(call(number) for number in range(3)) == [0, 1, 2]


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
        await together([endless(), broken()])
    assert ended.is_set()


async def test_nothing_is_no_call() -> None:
    assert await together([]) == []
