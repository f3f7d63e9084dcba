"""What holds of every run, whatever the documents, the model and the caller do: looked for in random worlds."""

import os
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from langchain_core.documents import Document

from run.context import Context, Limits
from tests.integration.graph import invariants
from tests.integration.graph.played import Played, simulate_time, stage
from tests.integration.graph.strategies import CHOICES, SENTENCES, WRITTEN, Reply, World, worlds

# The same worlds at every run, on every machine; `make stress` sets WORLDS to see more of them. Nothing is kept beside
# the code. Making a failing world smaller takes minutes: add Phase.shrink to see it done.
ALIKE = settings(
    max_examples=int(os.environ.get("WORLDS", "80")),
    derandomize=True,
    database=None,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
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


def plain(*support: str, **limits: int) -> World:
    """A world in which all goes well but for the claims, whose verdicts are given in turn, and the limits."""
    known = SENTENCES[:3]
    said = {"retrieve": ["search"], "relevance": ["yes"], "support": support, "usefulness": ["5"]}
    judged = {kind: tuple(Reply(word, ((word, 1.0),)) for word in said[kind]) for kind in CHOICES}
    return World(
        question="Why is the sky blue?",
        context=Context(limits=Limits(**limits)),
        replies=judged | {kind: (Reply(" ".join(known)), Reply(known[0])) for kind in WRITTEN},
        found=(tuple(Document(" ".join([*known, f"It is so {count}."]), id=str(count)) for count in range(4)),),
        logprobs="served",
        retries=0,
        bytes_a_token=1,
    )


@ALIKE
@example(plain("yes", "no", "partly"))
@example(plain("yes", "no", drafts=1, rewrites=0))
@example(plain("yes", tokens=6_000))
@given(worlds())
async def test_asynchronous(world: World) -> None:
    look_at(await stage(world).asynchronous())


@settings(ALIKE, max_examples=25)
@given(worlds())
def test_synchronous(world: World) -> None:
    look_at(stage(world).sync())


def test_the_invariants_were_found() -> None:
    assert len(INVARIANTS) > 10
