import json
from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from retrieval.filters import Filter, matching

FULL = Filter(sources=("lease*.pdf", "a b"), pages=(3, 5), since=date(2024, 1, 1), until=date(2024, 12, 31))


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
    assert FULL
    assert not Filter()


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


@pytest.mark.parametrize(
    ("path", "pattern", "fit"),
    [
        ("/a/b/c.pdf", "c.pdf", True),
        ("/a/b/c.pdf", "b/", True),
        ("/a/b/c.pdf", "b/c.pdf", True),
        ("/a/b/c.pdf", "a/c.pdf", False),
        ("/a/b/c.pdf", "/b/c.pdf", False),
        ("/a/b/c.pdf", "/a/*/c.pdf", True),
        ("/a/b/c.pdf", "/a", True),
        ("/a/b/c.pdf", ".pdf", False),
        ("/a/b/c[1].pdf", "c[[]1].pdf", True),
        ("", "*.pdf", False),
    ],
)
def test_a_pattern_is_that_of_a_shell_on_the_end_of_the_path(path: str, pattern: str, fit: bool) -> None:
    assert matching([(1, path.encode())], [pattern]) == ([1] if fit else [])
