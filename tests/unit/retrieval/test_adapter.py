from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from core.errors import RequestError
from retrieval.adapter import RetrieverAdapter
from retrieval.filters import Filter

FOUND = [Document(str(number)) for number in range(9)]
MARKDOWN = Filter(sources=("*.md",))


class Plain(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return FOUND


class SyncK(BaseRetriever):
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int = 5
    ) -> list[Document]:
        return FOUND[:k]


class AsyncK(SyncK):
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int = 5
    ) -> list[Document]:
        return FOUND[:k]


class Anything(BaseRetriever):
    asked: list[Any] = Field(default_factory=list)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        raise AssertionError("the asynchronous search is there")

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        self.asked.append(kwargs)
        return FOUND


@pytest.mark.parametrize("kind", [Plain, SyncK, AsyncK, Anything])
@pytest.mark.parametrize("k", [2, 7])
async def test_k_are_found_by_a_retriever_that_takes_k_and_no_more_by_any(kind: type[BaseRetriever], k: int) -> None:
    assert await RetrieverAdapter(kind()).ainvoke("why", k=k) == FOUND[:k]


async def test_a_filter_is_given_to_a_retriever_that_takes_it() -> None:
    retriever = Anything()
    await RetrieverAdapter(retriever).ainvoke("why", k=2, filter=MARKDOWN)
    assert retriever.asked == [{"k": 2, "filter": MARKDOWN}]


@pytest.mark.parametrize("kind", [Plain, SyncK, AsyncK])
async def test_a_filter_that_would_be_ignored_is_refused(kind: type[BaseRetriever]) -> None:
    with pytest.raises(RequestError, match=rf"The retriever {kind.__name__} takes no filter: leave it out\."):
        await RetrieverAdapter(kind()).ainvoke("why", k=2, filter=MARKDOWN)


async def test_one_document_is_searched_only_where_the_retriever_is_of_a_store() -> None:
    assert await RetrieverAdapter(Anything()).within("a.txt", "why", 2) is None
