"""The passages of an index as a LangChain ``VectorStore``, searched by keywords and vectors."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from core.errors import IndexDamaged, RequestError, damaged
from retrieval.filters import Filter, Visible
from retrieval.index import document_rows as rows
from retrieval.index.condition import Condition
from retrieval.index.database import Database
from retrieval.index.keyword_search import search_keywords
from retrieval.index.manifest import remove_partial_files
from retrieval.index.schema import (
    Snapshot,
    add_roots,
    get_excluded,
    get_followed,
    get_roots,
    remove_root,
    set_excluded,
)
from retrieval.index.sqlite_files import lock_holder
from retrieval.index.vector_file import VectorIndex, keyword_index_is_intact, save_derived, save_roots
from retrieval.index.vector_rows import drop_spare_vectors, has_spare_vectors, vectors_of
from retrieval.index.verification import verify
from retrieval.ranking import best_passages
from retrieval.searching_store import Store
from retrieval.settings_changes import other_model
from retrieval.store import Model, Roots, Search
from retrieval.sync_report import Progress, SyncReport, VerifyReport
from retrieval.unit_vectors import Vectors, embed_query


class PassageStore(Store):
    """Passages in SQLite with hybrid search: BM25 and vectors, fused.

    Many threads may read at once, also during a write. A Document found has the metadata ``id``, ``source``,
    ``page``, ``row``, ``offset``, ``date``, ``score`` (what it is ranked by) and ``similarity`` (its cosine with the
    query); where there are any, ``title`` of the document and ``heading``, those above the passage.
    """

    database: Database
    rows = rows

    def __init__(
        self, database: Database, embeddings: Embeddings, embedding_name: str, *, search: Search = "hybrid"
    ) -> None:
        """Wrap an open database, which ``close`` closes; ``search`` is the default kind of search."""
        self.database = database
        self.vectors = VectorIndex(database.folder)
        self.model = Model(embeddings, embedding_name)
        self.default_search = search
        self._keyword_index_checked = False

    @classmethod
    def open(cls, folder: Path, embeddings: Embeddings, *, embedding_name: str, search: Search = "hybrid") -> Self:
        """Open or create the store in ``folder``."""
        return cls(Database(folder), embeddings, embedding_name, search=search)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def roots(self) -> Roots:
        """Return the files and folders that were added."""
        with self.database.reading() as connection:
            return Roots(get_roots(connection), get_followed(connection), excluded=get_excluded(connection))

    def add_roots(self, roots: Mapping[bytes, str], followed: Collection[bytes]) -> None:
        """Add or replace roots, in the manifest too, so that they survive damage to the database."""
        with self.database.writing() as connection:
            add_roots(connection, dict(roots), followed)
        save_roots(self.database)

    def remove_root(self, root: bytes, documents: Collection[int]) -> None:
        """Remove a root, and documents by id."""
        with self.database.writing() as connection:
            remove_root(connection, root)
            rows.remove_documents(connection, documents)
        save_derived(self.database, self.vectors)

    def set_excluded(self, patterns: Collection[str], documents: Collection[int]) -> None:
        """Replace the patterns of files that are left out, in the manifest too, and remove documents by id."""
        with self.database.writing() as connection:
            set_excluded(connection, patterns)
            rows.remove_documents(connection, documents)
        save_derived(self.database, self.vectors)

    def writer(self) -> str:
        """Name the process that holds the writer lock, as the beginning of a sentence."""
        return lock_holder(self.database.folder)

    def settle(self) -> None:
        """Drop vectors of no passage and files that were not finished; bring the vector file up to date."""
        remove_partial_files(self.database.folder)
        with self.database.reading() as connection:
            leftover = has_spare_vectors(connection)
        if leftover:
            with self.database.writing() as connection:
                drop_spare_vectors(connection)
        save_derived(self.database, self.vectors)

    def start_over(self) -> None:
        """Move a damaged database aside, and make a new one of what is intact."""
        self.database.start_over()

    def verify(self, sync: Callable[[Progress | None], SyncReport], progress: Progress | None) -> VerifyReport:
        """Check the whole index for damage and repair it; see `Library.verify`."""
        return verify(self.database, self.vectors, sync, progress)

    def has_fitting(self, filter: Filter, visible: Visible | None = None) -> bool:  # noqa: A002 - the stores' name
        """Return True if a passage fits the filter and is of a ``visible`` path."""
        with self.database.reading() as connection:
            condition = Condition.of(connection, filter, visible)
            return condition is None or len(condition) > 0

    def _search(
        self, query: str, k: int, search: Search, only: Filter | None, visible: Visible | None
    ) -> list[tuple[Document, float]]:
        with self._restarting_if_damaged(), self.database.reading() as connection:
            snapshot = Snapshot.of(connection)
        if k < 1 or not snapshot.dimension:
            return []
        if snapshot.embedding != self.model.name:
            raise RequestError(other_model(self.database.place, snapshot.embedding, self.model.name))
        vector = embed_query(self.embeddings, query, self.model.name)
        self._check_dimension(vector, snapshot.dimension)
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
                f"The index in {self.database.place} was damaged and has been put aside: "
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
        found = rows.get_passages(self._snapshot.connection, ids)
        if any(id_ not in found and id_ <= self._snapshot.reached.passage for id_ in ids):
            raise damaged()  # higher ids were added after this snapshot
        return found

    def similarities(self, ids: Sequence[int]) -> dict[int, float]:
        found: dict[int, float] = {}
        for chunk, vectors in vectors_of(self._snapshot.connection, ids, self._snapshot.dimension):
            found.update(zip(chunk, (vectors @ self._vector[0]).tolist(), strict=True))
        return found
