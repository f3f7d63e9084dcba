"""Words and meaning are fused; what says the same again is left out."""

import pytest

from retrieval.ranking import distinct, fuse


def test_fusion_is_half_and_half_over_all_candidates() -> None:
    assert fuse({1: 0.9, 2: 0.5, 3: 0.1}, {3: 8.0, 2: 4.0}) == {1: 0.5, 2: 0.5, 3: 0.5}


def test_without_a_term_found_meaning_decides() -> None:
    scores = fuse({1: 0.2, 2: 0.8}, {})
    assert scores[2] > scores[1]


def test_one_candidate_has_the_full_score() -> None:
    assert fuse({1: 0.3}, {1: 2.0}) == {1: 1.0}


def test_of_equal_texts_the_best_is_kept() -> None:
    texts = {1: "Same  text", 2: "same\ntext", 3: "other"}
    assert distinct([(2, 0.9), (1, 0.8), (3, 0.7)], texts, 4) == [(2, 0.9), (3, 0.7)]


LONG = "The supplier shall deliver the goods within {} days of the order, at the price agreed, to the place named."


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        (LONG.format("thirty"), LONG.format("thirty").replace("goods", "wares"), 1),
        (LONG.format("30"), LONG.format("60"), 2),
        (LONG.format("thirty"), LONG.format("thirty").replace("shall", "shall not"), 2),
        (LONG.format("thirty"), LONG.format("thirty").split(", at")[0], 2),
        ("...", "---", 2),
        ("", "", 1),
    ],
)
def test_near_copies_are_left_out_unless_a_number_or_a_negation_differs(one: str, other: str, kept: int) -> None:
    assert len(distinct([(1, 0.9), (2, 0.8)], {1: one, 2: other}, 4)) == kept


def test_no_more_are_kept_than_asked_for() -> None:
    assert distinct([(1, 0.9), (2, 0.8)], {1: "one", 2: "two"}, 1) == [(1, 0.9)]
