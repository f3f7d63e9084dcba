"""One loop in a thread serves every synchronous caller."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from core.background import in_background, stream_in_background
from core.errors import ModelError


async def test_work_in_the_background_runs_inside_a_running_loop_and_raises_here() -> None:
    async def work() -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"done": True}

    async def broken() -> dict[str, Any]:
        raise ModelError("gone")

    assert in_background(work()) == {"done": True}
    with pytest.raises(ModelError, match="gone"):
        in_background(broken())


async def counting(error: Exception | None = None) -> AsyncGenerator[int, None]:
    for number in range(3):
        yield number
        await asyncio.sleep(0)
    if error:
        raise error


def test_what_is_yielded_in_the_background_comes_in_order_with_its_error() -> None:
    assert list(stream_in_background(counting())) == [0, 1, 2]
    with pytest.raises(ModelError, match="gone"):
        list(stream_in_background(counting(ModelError("gone"))))


def test_a_stream_that_is_left_has_ended_when_its_caller_goes_on() -> None:
    ended: list[str] = []

    async def waiting() -> AsyncGenerator[int, None]:
        try:
            yield 0
            await asyncio.sleep(60)  # else it may be cancelled in its own end
        finally:
            await asyncio.sleep(0)
            ended.append("ended")

    stream = stream_in_background(waiting())
    assert next(stream) == 0
    stream.close()
    assert ended == ["ended"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_work_in_the_background_of_a_forked_process_ends() -> None:
    program = (
        "import os, signal\n"
        "from core.background import in_background\n"
        "async def work(): return {}\n"
        "in_background(work())\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    signal.alarm(10)\n"
        "    in_background(work())\n"
        "    os._exit(0)\n"
        "raise SystemExit(os.waitpid(child, 0)[1])"
    )
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", program], cwd=root, check=False).returncode == 0
