"""The questions of the latency benchmark can be answered from the passages that are found for them."""

from __future__ import annotations

from benchmarks.latency.shelf import BEGINNING, Remembered, answerable, sample_shelf
from grounding.claims import split_claims


async def test_every_question_has_one_claim_that_stands_in_the_passage_found_relevant() -> None:
    shelf = Remembered(sample_shelf())
    asked = await answerable(shelf, 4, 1)
    assert asked
    for one in asked:
        found = [document.page_content for document in await shelf.ainvoke(one.question, k=4)]
        best = [text for text in found if text[:BEGINNING] == one.relevant[0]]
        assert best
        assert one.answer in best[0]
        assert split_claims(one.answer) == [one.answer]


async def test_more_passages_may_be_called_relevant_the_best_first() -> None:
    shelf = Remembered(sample_shelf())
    one, four = await answerable(shelf, 4, 1), await answerable(shelf, 4, 4)
    assert [len(question.relevant) for question in four] == [4] * len(one)
    assert [question.relevant[0] for question in four] == [question.relevant[0] for question in one]
