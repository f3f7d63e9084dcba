"""The questions of the latency benchmark can be answered from the passages that are found for them."""

from pathlib import Path

from app.libraries import SAMPLE
from benchmarks.sample import BEGINNING, CachedRetriever, answerable
from grounding.claims import split_claims
from retrieval.library.library import Library
from tests.unit.retrieval.fakes import BagOfWords


async def test_every_question_has_one_claim_that_stands_in_the_best_of_the_passages_found_relevant(
    tmp_path: Path,
) -> None:
    with Library.open(tmp_path, BagOfWords(), embedding_name="bow") as library:
        library.add([SAMPLE])
        library.sync()
        retriever = CachedRetriever(library.store.as_retriever())
        asked, four = await answerable(retriever, 4, 1), await answerable(retriever, 4, 4)
    assert asked
    for one in asked:
        found = [document.page_content for document in await retriever.ainvoke(one.question, k=4)]
        (best,) = [text for text in found if text[:BEGINNING] == one.relevant[0]]
        assert one.answer in best
        assert split_claims(one.answer) == [one.answer]
    assert [len(one.relevant) for one in four] == [4] * len(asked)
    assert [one.relevant[0] for one in four] == [one.relevant[0] for one in asked]
