"""What the answers under load say of threads that were mixed."""

from typing import Any

import pytest

from tests.stress.cluster import marked
from tests.stress.threads import mixed


@pytest.mark.parametrize(
    ("result", "right"),
    [
        ({"outcome": "grounded", "answer": marked(7)}, True),
        ({"outcome": "grounded", "answer": marked(7), "queries": ["thread 7"]}, True),
        ({"outcome": "grounded", "answer": marked(8)}, False),
        ({"outcome": "grounded", "answer": marked(7), "passages": [marked(8)]}, False),
        ({"outcome": "grounded", "answer": marked(77)}, False),
        ({"outcome": "abstained", "answer": marked(7)}, False),
        ({}, False),
    ],
)
def test_an_answer_has_the_word_of_its_thread_and_no_other(result: dict[str, Any], right: bool) -> None:
    assert (mixed(result, 7) == []) is right
