"""The questions of the latency benchmark can be answered from the passages that are found for them."""

from __future__ import annotations

from benchmarks.sample import BEGINNING, CachedRetriever, answerable, sample_retriever
from grounding.claims import split_claims


async def test_every_question_has_one_claim_that_stands_in_the_passage_found_relevant() -> None:
    retriever = CachedRetriever(sample_retriever())
    asked = await answerable(retriever, 4, 1)
    assert asked
    for one in asked:
        found = [document.page_content for document in await retriever.ainvoke(one.question, k=4)]
        best = [text for text in found if text[:BEGINNING] == one.relevant[0]]
        assert best
        assert one.answer in best[0]
        assert split_claims(one.answer) == [one.answer]


async def test_more_passages_may_be_called_relevant_the_best_first() -> None:
    retriever = CachedRetriever(sample_retriever())
    one, four = await answerable(retriever, 4, 1), await answerable(retriever, 4, 4)
    assert [len(question.relevant) for question in four] == [4] * len(one)
    assert [question.relevant[0] for question in four] == [question.relevant[0] for question in one]
