"""What counts as found, and which way is said to be the best."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document

from benchmarks.index.recall import all_of, best_of, found_by, judged, reciprocal, span, weighted
from evaluation.records import Example, Gold
from retrieval.ranking import fuse

EXAMPLE = Example("q", "Who grows tulips?", answerable=True, gold=(Gold(source="/a/p-01.txt", text="the Dutch"),))


def passage(name: str, text: str = "Something else.") -> Document:
    return Document(text, metadata={"source": f"/b/{name}"})


def test_a_passage_of_the_question_s_paragraph_counts_wherever_it_lies() -> None:
    few = [passage("p-02.txt"), passage("p-01.txt")]
    hit = judged(EXAMPLE, few, few)
    assert (hit.recall, hit.answer, hit.first, hit.reciprocal) == (1, 0, 0, 0.5)


def test_the_words_of_the_answer_in_another_paragraph_do_not_count() -> None:
    few = [passage("p-02.txt", "Tulips are grown by the Dutch.")]
    hit = judged(EXAMPLE, few, few)
    assert (hit.recall, hit.answer, hit.first, hit.reciprocal) == (0, 0, 0, 0)


def test_a_paragraph_found_too_late_counts_for_the_reciprocal_rank_alone() -> None:
    many = [passage("p-02.txt")] * 4 + [passage("p-01.txt", "By the Dutch.")]
    hit = judged(EXAMPLE, many[:4], many)
    assert (hit.recall, hit.reciprocal) == (0, 0.2)


@pytest.mark.parametrize(
    ("hybrid", "vectors", "bm25", "best"),
    [([1, 1], [1, 0], [0, 1], "hybrid"), ([1, 0], [1, 0], [0, 1], "hybrid"), ([1, 0], [1, 1], [0, 1], "vectors")],
)
def test_both_together_are_the_best_unless_another_is_better(
    hybrid: list[float], vectors: list[float], bm25: list[float], best: str
) -> None:
    assert best_of({"hybrid": hybrid, "vectors": vectors, "bm25": bm25}) == best


def test_questions_are_counted_by_the_ways_that_found_them() -> None:
    assert found_by({"hybrid": [1, 1, 0], "vectors": [1, 0, 0], "bm25": [1, 1, 0]}) == {
        "hybrid + vectors + bm25": 1,
        "hybrid + bm25": 1,
        "none": 1,
    }


def test_the_weight_of_a_half_is_the_index_s_own() -> None:
    similarities, words = {1: 0.9, 2: 0.5, 3: 0.1}, {2: 7.0, 3: 2.0}
    assert weighted(0.5)(similarities, words) == pytest.approx(fuse(similarities, words))
    assert max(weighted(1.0)(similarities, words).items(), key=lambda one: one[1]) == (1, 1.0)
    assert max(weighted(0.0)(similarities, words).items(), key=lambda one: one[1]) == (2, 1.0)


def test_reciprocal_ranks_put_first_what_both_sides_have() -> None:
    scores = reciprocal({1: 0.9, 2: 0.8, 3: 0.1}, {2: 7.0})
    assert max(scores, key=lambda id_: scores[id_]) == 2


def test_all_of_keeps_what_says_the_same_again() -> None:
    assert all_of([(1, 0.9), (2, 0.8), (3, 0.7)], {1: "a", 2: "a", 3: "b"}, 2) == [(1, 0.9), (2, 0.8)]


def test_a_span_is_from_and_to() -> None:
    assert (span("25-48"), span("7")) == ((25, 48), (7, 7))
