"""What counts as an answer that no passage carries."""

import pytest

from tests.stress.critics import FALSE, TRUE, unfounded


@pytest.mark.parametrize(
    ("answer", "found"), [(TRUE, False), (FALSE, True), (f"{TRUE} {FALSE}", True), (f"{TRUE} Bees are red.", True)]
)
def test_what_no_passage_says_is_unfounded(answer: str, found: bool) -> None:
    assert unfounded(answer, [TRUE, "Bees make honey."], "Why is the sky blue?") is found
