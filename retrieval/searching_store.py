"""What every store of passages is to LangChain: a ``VectorStore`` that is searched in three ways."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self, get_args

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from core.text import clean
from retrieval.filters import Filter, Visible
from retrieval.store import Model, Search


class SearchingStore(VectorStore):
    """Passages that are searched by words, by vectors, or by both; `_search` is the store's own."""

    model: Model
    default_search: Search

    @classmethod
    def from_texts(cls, texts: list[str], embedding: Embeddings, *_: Any, **__: Any) -> Self:
        """LangChain asks for it, a library is filled from files."""
        raise NotImplementedError("A library is filled from files: use Library.add and Library.sync.")

    @property
    def embeddings(self) -> Embeddings:
        """The model that passages and queries are embedded with."""
        return self.model.embeddings

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        search: Search | None = None,
        filter: Filter | Mapping[str, Any] | None = None,  # noqa: A002 - the name in LangChain's stores
        visible: Visible | None = None,
        **_: Any,
    ) -> list[Document]:
        """Return the ``k`` best passages that match ``filter``, best first, without near-duplicates.

        ``filter`` may be given as a ``Filter`` or a mapping of its fields. A document whose path is not ``visible`` is
        not found, whatever the filter.
        """
        found = self.similarity_search_with_score(query, k, search=search, filter=filter, visible=visible)
        return [document for document, _ in found]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        *,
        search: Search | None = None,
        filter: Filter | Mapping[str, Any] | None = None,  # noqa: A002
        visible: Visible | None = None,
        **_: Any,
    ) -> list[tuple[Document, float]]:
        """Return passages with the score they are ranked by; see `retrieval.ranking.best_passages`.

        That is the cosine for ``vectors``, BM25 for ``bm25``, and for ``hybrid`` the mean of the two, each normalised
        to 0 to 1, plus half the share of the question's words that stand in the headings above the passage.
        """
        search = search or self.default_search
        if search not in get_args(Search):
            raise ValueError(f"search is {search!r}: give 'hybrid', 'vectors' or 'bm25'.")
        only = Filter.model_validate(filter) if filter else None
        return self._search(clean(query), k, search, only, visible)

    @abstractmethod
    def _search(
        self, query: str, k: int, search: Search, only: Filter | None, visible: Visible | None
    ) -> list[tuple[Document, float]]:
        """Return at most ``k`` passages with their scores, best first, all of one snapshot."""

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: min(1.0, max(0.0, score))
