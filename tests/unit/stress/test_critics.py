"""The critics that are put before the graph, and the loop that it is compared with."""

from collections.abc import Callable
from random import Random

import pytest

from prompts.choice import Choice
from tests.stress.critics import CRITICS, FALSE, NO, TRUE, YES, Loop, Row, ask, drafted, graph_of, unfounded


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


def test_no_two_drafts_are_all_the_same() -> None:
    dice = Random(1)
    assert len({drafted(dice) for _ in range(40)}) > 15


@pytest.mark.parametrize("name", CRITICS)
async def test_ours_is_within_its_limits_whoever_judges(name: str) -> None:
    row, dice = Row(name), Random(1)
    await ask(graph_of(CRITICS[name](dice), dice), "Why is the sky blue?", row)
    assert row.violated == []
    assert row.unfounded == 0
