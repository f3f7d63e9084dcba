from typing import Any, cast

import pytest
from langchain_core.documents import Document

from benchmarks.index.recall import found
from evaluation.records import Example, Gold
from retrieval.searching_store import Store

EXAMPLE = Example("q", "Who grows tulips?", answerable=True, gold=(Gold(source="p-01.txt", text="the Dutch"),))


@pytest.mark.parametrize(("k", "hit"), [(1, 0), (2, 1)])
def test_a_passage_of_the_question_s_paragraph_counts_and_no_other_with_the_answer_s_words(k: int, hit: float) -> None:
    class Finds:
        def similarity_search(self, question: str, k: int, **_: Any) -> list[Document]:
            texts = {"p-02.txt": "Tulips are grown by the Dutch.", "p-01.txt": "Something else."}
            return [Document(text, metadata={"source": f"/b/{name}"}) for name, text in texts.items()][:k]

    assert found(cast("Store", Finds()), EXAMPLE, k, "hybrid") == hit
