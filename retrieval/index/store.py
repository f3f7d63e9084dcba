"""The passages of an index as a LangChain ``VectorStore``, searched by keywords and vectors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from core.errors import IndexDamaged, RequestError, damaged
from core.text import shown
from retrieval.filters import Filter, Visible
from retrieval.index.condition import Condition
from retrieval.index.database import Database
from retrieval.index.document_rows import get_passages
from retrieval.index.embedding import check_dimension
from retrieval.index.keyword_search import search_keywords
from retrieval.index.register import Register
from retrieval.index.schema import Snapshot
from retrieval.index.vector_file import VectorIndex, keyword_index_is_intact, save_derived
from retrieval.index.vector_rows import vectors_of
from retrieval.ranking import best_passages
from retrieval.searching_store import SearchingStore
from retrieval.settings_changes import other_model
from retrieval.store import Model, Search
from retrieval.unit_vectors import Vectors, embed_query


class PassageStore(Register, SearchingStore):
    """Passages in SQLite with hybrid search: BM25 and vectors, fused.

    Many threads may read at once, also during a write. A Document found has the metadata ``id``, ``source``,
    ``page``, ``row``, ``offset``, ``date``, ``score`` (what it is ranked by) and ``similarity`` (its cosine with the
    query); where there are any, ``title`` of the document and ``heading``, those above the passage.
    """

    def __init__(
        self, database: Database, embeddings: Embeddings, embedding_name: str, *, search: Search = "hybrid"
    ) -> None:
        """Wrap an open database, which ``close`` closes; ``search`` is the default kind of search."""
        super().__init__(database, VectorIndex(database.folder), Model(embeddings, embedding_name))
        self.default_search = search
        self._keyword_index_checked = False

    @classmethod
    def open(cls, folder: Path, embeddings: Embeddings, *, embedding_name: str, search: Search = "hybrid") -> Self:
        """Open or create the store in ``folder``."""
        return cls(Database(folder), embeddings, embedding_name, search=search)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _search(
        self, query: str, k: int, search: Search, only: Filter | None, visible: Visible | None
    ) -> list[tuple[Document, float]]:
        with self._restarting_if_damaged(), self.database.reading() as connection:
            snapshot = Snapshot.of(connection)
        if k < 1 or not snapshot.dimension:
            return []
        if snapshot.embedding != self.model.name:
            raise RequestError(other_model(shown(self.database.folder), snapshot.embedding, self.model.name))
        vector = embed_query(self.embeddings, query, self.model.name)
        check_dimension(self.database, self.model, vector, snapshot.dimension)
        with self._restarting_if_damaged(), self.database.reading() as connection:
            condition = Condition.of(connection, only, visible)
            snapshot = Snapshot.of(connection)
            self._check_keyword_index(snapshot)
            found = best_passages(_Candidates(snapshot, self.vectors, query, vector, condition), query, k, search)
        self._rewrite_vector_file()
        return found

    def _check_keyword_index(self, snapshot: Snapshot) -> None:
        """Verify the keyword index's checksum, once: passages it has lost would silently never be found."""
        if not self._keyword_index_checked:
            if not keyword_index_is_intact(self.database.folder, snapshot):
                raise damaged()
            self._keyword_index_checked = True

    @contextmanager
    def _restarting_if_damaged(self) -> Iterator[None]:
        """Replace a damaged index with an empty one, for the next sync to fill; raise ``IndexDamaged``."""
        try:
            yield
        except IndexDamaged as error:
            self.database.start_over()
            raise IndexDamaged(
                f"The index in {shown(self.database.folder)} was damaged and has been put aside: "
                "ask again, and it is made anew."
            ) from error

    def _rewrite_vector_file(self) -> None:
        """Rewrite the vector file if it was missing or damaged, unless another process holds the lock."""
        if self.vectors.rebuilt and self.database.writable:
            with suppress(RequestError), self.database.only_writer(seconds=0):
                save_derived(self.database, self.vectors)


class _Candidates:
    """What a snapshot's searches find."""

    def __init__(self, snapshot: Snapshot, vectors: VectorIndex, query: str, vector: Vectors, only: Condition | None):
        self._snapshot = snapshot
        self._vectors = vectors
        self._query = query
        self._vector = vector
        self._only = only

    def near(self, count: int) -> list[int]:
        allowed = None if self._only is None else self._only.ids
        return self._vectors.search(self._snapshot, self._vector, count, allowed)

    def by_words(self, count: int) -> list[tuple[int, float]]:
        return search_keywords(self._snapshot.connection, self._query, count, self._snapshot.passages, self._only)

    def passages(self, ids: Sequence[int]) -> dict[int, Document]:
        found = get_passages(self._snapshot.connection, ids)
        if any(id_ not in found and id_ <= self._snapshot.reached.passage for id_ in ids):
            raise damaged()  # higher ids were added after this snapshot
        return found

    def similarities(self, ids: Sequence[int]) -> dict[int, float]:
        found: dict[int, float] = {}
        for chunk, vectors in vectors_of(self._snapshot.connection, ids, self._snapshot.dimension):
            found.update(zip(chunk, (vectors @ self._vector[0]).tolist(), strict=True))
        return found
