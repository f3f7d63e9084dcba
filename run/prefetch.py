"""Search before it is known that a search is needed."""

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from retrieval.filters import Filter
from retrieval.tables import Table
from run.context import RetrieverLike


class PrefetchingRetriever:
    """The retriever of one question, whose first search runs while ``decide`` is asked whether it is needed."""

    def __init__(self, retriever: RetrieverLike) -> None:
        self._retriever = retriever
        self._tasks: dict[tuple[str, int, Filter | None], asyncio.Task[Sequence[Document]]] = {}

    def prefetch(self, query: str, k: int, within: Filter | None = None) -> None:
        """Start a search; `ainvoke` with the same arguments then awaits its result."""
        task = asyncio.ensure_future(self._search(query, k, within))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # or asyncio would warn
        self._tasks[query, k, within or None] = task

    async def prefetched(self, query: str, k: int, within: Filter | None = None) -> Sequence[Document] | None:
        """Await a search that `prefetch` started, and leave its result for `ainvoke`; None if it failed."""
        task = self._tasks[query, k, within or None]
        await asyncio.wait([task])
        return None if task.cancelled() or task.exception() else task.result()

    async def table_of(self, source: str, number: int) -> Table | None:
        """Return a table of a document; None if the retriever has no tables."""
        found = getattr(self._retriever, "table_of", None)
        return await found(source, number) if found else None

    async def joined_table(self, table: Table, question: str, filter: Filter | None = None) -> Table | None:  # noqa: A002
        """Return a table with the rows of others that have its columns; None if they are too many together."""
        found = getattr(self._retriever, "joined_table", None)
        return await found(table, question, filter) if found else table

    async def document_named(self, name: str, k: int, filter: Filter | None = None) -> Sequence[Document]:  # noqa: A002
        """Return the passages of the document with this file name; none if the retriever cannot look it up."""
        found = getattr(self._retriever, "document_named", None)
        return await found(name, k, filter) if found else ()

    async def within(self, source: str, query: str, k: int) -> Sequence[Document] | None:
        """Return at most ``k`` passages of one document; None if the retriever cannot search in one."""
        found = getattr(self._retriever, "within", None)
        return await found(source, query, k) if found else None

    async def ainvoke(self, input: str, *, k: int, filter: Filter | None = None) -> Sequence[Document]:  # noqa: A002
        """Return the result of a search that `prefetch` started with the same arguments, else search."""
        task = self._tasks.pop((input, k, filter or None), None)
        return await (task or self._search(input, k, filter))

    def cancel(self) -> None:
        """Cancel the searches that nobody awaited."""
        while self._tasks:
            self._tasks.popitem()[1].cancel()

    async def _search(self, query: str, k: int, within: Filter | None) -> Sequence[Document]:
        """Search, passing a filter only if one is set: not every retriever accepts one."""
        filtered: dict[str, Any] = {"filter": within} if within else {}
        return await self._retriever.ainvoke(query, k=k, **filtered)
