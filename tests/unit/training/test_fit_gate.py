from collections.abc import Sequence

import numpy as np
import pytest

from evaluation.records import Example
from models.calibration import expit
from tests.scripted import passage
from training.fit_gate import Search, fitted, tally, threshold


def search(name: str, gold: Sequence[bool], evidence: Sequence[dict[str, float]] | None = None) -> Search:
    found = [passage(f"{name}{place}", source=f"{name}.txt", similarity=0.5) for place in range(len(gold))]
    known = list(evidence or [{"similarity": 0.5} for _ in gold])
    return Search(Example(name, "?", answerable=any(gold)), found, known, list(gold))


SEARCHES = [search("a", [True, False]), search("b", [False, True, True]), search("c", [False, False])]
CHANCES = [[0.01, 0.4], [0.5, 0.02, 0.3], [0.03, 0.001]]


def test_what_is_spared_and_lost_is_counted() -> None:
    found = tally(SEARCHES, CHANCES, 0.025, 0.2)
    assert found == {"passages": 7, "skipped": 3, "gold": 3, "lost": 2, "answered": 2, "unanswered": 1}


def test_the_threshold_loses_no_gold_passage_but_of_two_hundred_one() -> None:
    assert threshold(SEARCHES, CHANCES) == 0.01
    assert tally(SEARCHES, CHANCES, 0.01, 0.2)["lost"] == 0
    many = [search(str(number), [True, False]) for number in range(200)]
    least = threshold(many, [[0.1 + number / 1000, 0.9] for number in range(200)])
    assert least == pytest.approx(0.101)
    assert threshold([search("a", [True, False])], [[0.9, 0.1]]) == 1.0, "the best is never at risk"


def test_each_chance_is_by_a_regression_that_has_not_seen_its_paragraph() -> None:
    random = np.random.default_rng(1)
    searches = []
    for number in range(80):
        behind = [0.0, *random.uniform(0, 0.5, 3)]
        evidence = [{"similarity": 0.5, "similarity_behind": one, "coverage_behind": 0.0} for one in behind]
        searches.append(search(str(number % 10), [expit(2 - 20 * one) > random.random() for one in behind], evidence))
    gate, chances = fitted(searches)
    assert gate.coefficients["similarity_behind"] == pytest.approx(-20, abs=6)
    own = [[gate.probability(one) for one in each.evidence] for each in searches]
    assert np.corrcoef(np.concatenate(chances), np.concatenate(own))[0, 1] > 0.98
    flipped = [
        each if each.example.id != "3" else search("3", [not one for one in each.gold], each.evidence)
        for each in searches
    ]
    _, others = fitted(flipped)
    places = [place for place, each in enumerate(searches) if each.example.id == "3"]
    assert [others[place] for place in places] == [chances[place] for place in places]
    assert chances[0] != others[0]
