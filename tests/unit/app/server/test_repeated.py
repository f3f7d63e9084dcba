import asyncio

from app.server.threads import repeated
from core.errors import StoreUnavailable
from nodes.concurrency import meanwhile


async def test_a_look_that_fails_is_followed_by_the_next() -> None:
    failures, seen = [StoreUnavailable("The database is away."), ValueError("odd")], asyncio.Event()

    async def look() -> None:
        if failures:
            raise failures.pop()
        seen.set()

    async with meanwhile(repeated(look, 0)):
        await asyncio.wait_for(seen.wait(), 60)
