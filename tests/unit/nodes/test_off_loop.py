"""Long work of the rules leaves the event loop free."""

import asyncio
from threading import Event, get_ident

import pytest

from nodes.concurrency import SHORT, off_loop


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


async def test_an_error_of_the_rules_is_raised() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await off_loop(SHORT + 1, int, "x")
