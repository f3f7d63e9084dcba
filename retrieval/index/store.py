"""The passages of an index as a LangChain ``VectorStore``, searched by keywords and vectors."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection

from langchain_core.documents import Document

from core.errors import IndexDamaged, RequestError, damaged
from retrieval.filters import Filter, Visible
from retrieval.index import document_rows as rows
from retrieval.index import schema
from retrieval.index.condition import DocumentsOfPassages
from retrieval.index.database import Database
from retrieval.index.faiss_index import Ids
from retrieval.index.keyword_search import search_keywords
from retrieval.index.schema import Snapshot
from retrieval.index.vector_file import VectorIndex, keyword_index_is_intact, save_derived
from retrieval.index.vector_rows import drop_spare_vectors, vectors_of
from retrieval.index.verification import verify
from retrieval.ranking import Candidates
from retrieval.searching_store import Store
from retrieval.store import Model, Roots, Search
from retrieval.sync_report import Progress, SyncReport, VerifyReport
from retrieval.unit_vectors import Vectors


class PassageStore(Store):
    """Passages in SQLite with hybrid search: BM25 and vectors, fused.

    Many threads may read at once, also during a write. A Document found has the metadata ``id``, ``source``,
    ``page``, ``row``, ``offset``, ``date``, ``score`` (what it is ranked by) and ``similarity`` (its cosine with the
    query); where there are any, also ``title`` of the document and ``heading``, the headings above the passage.
    """

    database: Database
    rows = rows

    def __init__(self, folder: Path, model: Model, *, search: Search = "hybrid") -> None:
        """Open or create the store in ``folder``; ``search`` is the default kind of search."""
        self.database = Database(folder)
        self.vectors = VectorIndex(folder)
        self.model = model
        self.default_search = search
        self._keyword_index_checked = False
        self._documents_of: DocumentsOfPassages | None = None

    def roots(self) -> Roots:
        with self.database.reading() as connection:
            return schema.get_roots(connection)

    def add_roots(self, roots: Mapping[bytes, str], followed: Collection[bytes]) -> None:
        """Add or replace roots, in the manifest too, so that they survive damage to the database."""
        with self.database.writing() as connection:
            schema.add_roots(connection, dict(roots), followed)
        self.save_derived()

    def settle(self) -> None:
        """Drop vectors of files that were not written, and bring the vector file and the manifest up to date."""
        with self.database.reading() as connection:
            leftover = connection.execute("SELECT 1 FROM spare_vectors LIMIT 1").fetchone()  # of files written by now
        if leftover:
            with self.database.writing() as connection:
                drop_spare_vectors(connection)
        self.save_derived()

    def save_derived(self) -> None:
        save_derived(self.database, self.vectors)

    def start_over(self) -> None:
        self.database.start_over()

    def verify(self, sync: Callable[[Progress | None], SyncReport], progress: Progress | None) -> VerifyReport:
        return verify(self.database, self.vectors, sync, progress)

    def has_fitting(self, filter: Filter, visible: Visible | None = None) -> bool:  # noqa: A002 - the stores' name
        with self.database.reading() as connection:
            ids = self._fitting(Snapshot.of(connection), filter, visible)
            return ids is None or len(ids) > 0

    def _search(
        self, query: str, k: int, search: Search, only: Filter | None, visible: Visible | None
    ) -> list[tuple[Document, float]]:
        try:
            found = super()._search(query, k, search, only, visible)
        except IndexDamaged as error:
            self.database.start_over()  # empty, for the next sync to fill
            raise IndexDamaged(
                f"The index in {self.database.place} was damaged and has been put aside: "
                "ask again, and it is made anew."
            ) from error
        if self.vectors.rebuilt and self.database.writable:
            with suppress(RequestError), self.database.only_writer(seconds=0):  # else another process may do it
                self.save_derived()
        return found

    def _candidates(
        self, connection: Connection, query: str, vector: Vectors, only: Filter | None, visible: Visible | None
    ) -> Candidates:
        snapshot = Snapshot.of(connection)
        if not self._keyword_index_checked and not keyword_index_is_intact(self.database.folder, snapshot):
            raise damaged()
        self._keyword_index_checked = True  # once: passages that it has lost would silently never be found
        return _IndexCandidates(snapshot, self.vectors, query, vector, self._fitting(snapshot, only, visible))

    def _fitting(self, snapshot: Snapshot, only: Filter | None, visible: Visible | None) -> Ids | None:
        if not only and not visible:
            return None
        self._documents_of = DocumentsOfPassages.of(snapshot, self._documents_of)
        return self._documents_of.fitting(snapshot.connection, only or Filter(), visible)


@dataclass
class _IndexCandidates:
    """What the searches of one snapshot find for a question; see ``ranking.Candidates``."""

    snapshot: Snapshot
    vectors: VectorIndex
    query: str
    vector: Vectors
    only: Ids | None

    def near(self, count: int) -> list[int]:
        return self.vectors.search(self.snapshot, self.vector, count, self.only)

    def by_words(self, count: int) -> list[tuple[int, float]]:
        snapshot = self.snapshot
        return search_keywords(snapshot.connection, self.query, count, snapshot.passages, self.only)

    def passages(self, ids: Sequence[int]) -> dict[int, Document]:
        found = rows.get_passages(self.snapshot.connection, ids)
        if any(id_ not in found and id_ <= self.snapshot.reached.passage for id_ in ids):
            raise damaged()  # higher ids were added after this snapshot
        return found

    def similarities(self, ids: Sequence[int]) -> dict[int, float]:
        vectors = vectors_of(self.snapshot.connection, ids, self.snapshot.dimension)
        return {id_: float(one @ self.vector[0]) for id_, one in vectors.items()}
