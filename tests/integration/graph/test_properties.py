"""What holds of every run, whatever the documents, the model and the caller do: looked for in random worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.integration.graph import invariants
from tests.integration.graph.played import Played, simulate_time, stage
from tests.integration.graph.strategies import World, worlds

# The same worlds at every run, on every machine; nothing is kept beside the code. Making a failing world smaller takes
# minutes: add Phase.shrink to see it done.
ALIKE = settings(
    max_examples=400,
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
INVARIANTS: list[Callable[[Played], None]] = [
    check for name, check in vars(invariants).items() if name.startswith("holds_")
]


@pytest.fixture(autouse=True, scope="module")
def _time() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        simulate_time(patch)
        yield


def look_at(played: Played) -> None:
    for check in INVARIANTS:
        check(played)


@ALIKE
@given(worlds())
async def test_asynchronous(world: World) -> None:
    look_at(await stage(world).asynchronous())


@settings(ALIKE, max_examples=60)
@given(worlds())
def test_synchronous(world: World) -> None:
    look_at(stage(world).sync())


def test_the_invariants_were_found() -> None:
    assert len(INVARIANTS) > 10
