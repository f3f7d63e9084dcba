"""Search with any LangChain retriever, whichever arguments it takes."""

import glob
import inspect
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import run_in_executor

from core.errors import RequestError
from retrieval.filters import Filter
from retrieval.joined_tables import joined, tables_asked
from retrieval.searching_store import Store
from retrieval.tables import Table

T = TypeVar("T")
ARGUMENTS = {"k", "filter"}


class RetrieverAdapter:
    """A LangChain retriever that is given ``k`` and ``filter`` only if it takes them; results are cut to ``k``."""

    def __init__(self, retriever: BaseRetriever) -> None:
        kind = type(retriever)
        self._retriever = retriever
        self._async = accepted(kind._aget_relevant_documents)
        self._sync = accepted(kind._get_relevant_documents)

    @property
    def _store(self) -> Store | None:
        store = getattr(self._retriever, "vectorstore", None)
        return store if isinstance(store, Store) else None

    async def table_of(self, source: str, number: int) -> Table | None:
        """Return a document's table by number; None if there is none, or the retriever does not search a `Store`."""
        store = self._store
        return await run_in_executor(None, store.table_of, source, number) if store else None

    async def joined_table(self, table: Table, question: str, filter: Filter | None = None) -> Table | None:  # noqa: A002
        """Return the rows of a table with those of other documents that a question asks of; None if they are too many.

        See `tables_asked`.
        """
        store = self._store
        if not store:
            return table
        visible = getattr(self._retriever, "search_kwargs", {}).get("visible")
        return await run_in_executor(None, lambda: joined(tables_asked(store, table, question, filter, visible)))

    async def document_named(self, name: str, k: int, filter: Filter | None = None) -> Sequence[Document]:  # noqa: A002
        """Return the passages of the document with this file name, in the order of its text, within the filter's pages.

        If several documents match, take the first that a search for ``k`` passages finds. The result is empty if the
        search finds no such document, or the retriever does not search a `Store`.
        """
        store = self._store
        if not store:
            return ()
        found = await self.ainvoke(name, k=k, filter=filter or Filter(sources=(name,)))
        sources = (one.metadata["source"] for one in found)
        source = next((one for one in sources if Path(one).name == name), None)
        passages = await run_in_executor(None, store.passages_of, source) if source else ()
        first, last = (filter and filter.pages) or (0, math.inf)
        return [one for one in passages if first <= (one.metadata["page"] or 0) <= last]

    async def within(self, source: str, query: str, k: int) -> Sequence[Document] | None:
        """Return at most ``k`` passages of one document; None if the retriever does not search a `Store`."""
        return await self.ainvoke(query, k=k, filter=Filter(sources=(glob.escape(source),))) if self._store else None

    async def ainvoke(self, input: str, *, k: int, filter: Filter | None = None) -> Sequence[Document]:  # noqa: A002
        """Return at most ``k`` documents. Raises `RequestError` for a filter that the retriever does not take."""
        if filter and "filter" not in self._async | self._sync:
            raise RequestError(f"The retriever {type(self._retriever).__name__} takes no filter: leave it out.")
        given: dict[str, Any] = {"k": k, **({"filter": filter} if filter else {})}
        # Prefer the asynchronous search, unless only the synchronous one takes these arguments.
        if given.keys() & self._async or not given.keys() & self._sync:
            found = await self._retriever.ainvoke(input, **{name: given[name] for name in given.keys() & self._async})
        else:
            arguments = {name: given[name] for name in given.keys() & self._sync}
            found = await run_in_executor(None, self._retriever.invoke, input, **arguments)
        return found[:k]


def adapted(retriever: T) -> T | RetrieverAdapter:
    """Wrap a LangChain retriever in an adapter; return anything else unchanged."""
    return RetrieverAdapter(retriever) if isinstance(retriever, BaseRetriever) else retriever


def accepted(search: Callable[..., Any]) -> set[str]:
    """Return which of ``k`` and ``filter`` a search takes, by its signature."""
    parameters = inspect.signature(search).parameters
    has_kwargs = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    return set(ARGUMENTS) if has_kwargs else ARGUMENTS & parameters.keys()
