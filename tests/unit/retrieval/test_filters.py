"""What a filter may ask for, and how it is told."""

import json
from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from retrieval.filters import Filter

FULL = Filter(sources=("lease*.pdf", "a b"), pages=(3, 5), since=date(2024, 1, 1), until=date(2024, 12, 31))


@pytest.mark.parametrize(
    "given", [{"sources": ["x"]}, {"pages": (1, 1)}, {"since": "2024-01-01"}, {"until": "2024-01-01"}]
)
def test_one_condition_makes_a_filter(given: dict[str, Any]) -> None:
    assert Filter(**given)
    assert not Filter()


@pytest.mark.parametrize(
    "wrong",
    [
        {"pages": (0, 1)},
        {"pages": (5, 3)},
        {"since": "2024-02-01", "until": "2024-01-31"},
        {"since": "soon"},
        {"source": ["x"]},
    ],
)
def test_what_no_passage_could_fit_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Filter(**wrong)


def test_a_filter_survives_json_and_is_known_again() -> None:
    again = Filter(**json.loads(FULL.model_dump_json()))
    assert again == FULL
    assert {FULL: "found"}[again] == "found"


@pytest.mark.parametrize(
    ("filter_", "options"),
    [
        (FULL, "--source 'lease*.pdf' --source 'a b' --page 3-5 --since 2024-01-01 --until 2024-12-31"),
        (Filter(pages=(7, 7)), "--page 7"),
        (Filter(sources=("notes.md",)), "--source notes.md"),
        (Filter(), ""),
    ],
)
def test_it_is_told_as_one_gives_it(filter_: Filter, options: str) -> None:
    assert filter_.as_options() == options
