"""The critics that are put before the graph, and the loop that it is compared with."""

from collections.abc import Callable
from random import Random

import pytest

from prompts.choice import Choice
from tests.stress.critics import FALSE, NO, TRUE, YES, Loop, unfounded


def judge(labels: dict[str, str]) -> Callable[[Choice], str]:
    return lambda choice: labels[choice.name]


async def test_the_loop_of_the_tutorials_counts_nothing() -> None:
    loop = Loop(judge(NO), Random(1), most=500)
    assert await loop.run("Why is the sky blue?") is None
    assert loop.calls >= 500


async def test_the_loop_hands_out_whatever_a_critic_says_yes_to() -> None:
    answers = []
    for seed in range(20):
        loop = Loop(judge(YES), Random(seed), most=500)
        answers.append(await loop.run("Why is the sky blue?"))
        assert loop.calls == 7  # four grades, the draft, two checks
    assert any(answer and FALSE in answer for answer in answers)


@pytest.mark.parametrize(
    ("answer", "found"), [(TRUE, False), (FALSE, True), (f"{TRUE} {FALSE}", True), (f"{TRUE} Bees are red.", True)]
)
def test_what_no_passage_says_is_unfounded(answer: str, found: bool) -> None:
    assert unfounded(answer, [TRUE, "Bees make honey."], "Why is the sky blue?") is found
