"""The base of all stores of passages: a LangChain ``VectorStore`` over a database, with three kinds of search."""

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import cached_property
from itertools import chain
from typing import Any, Protocol, Self, get_args

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from core.errors import RequestError
from core.text import clean
from retrieval.adjoining import READ, READ_OF_DOCUMENT, first, joined_text, last
from retrieval.documents.loaded import CELLS
from retrieval.filters import Filter, Visible
from retrieval.named_documents import entitle, entitle_by_file, is_named, named_documents, names_lacked
from retrieval.passage_columns import row_id
from retrieval.ranking import Candidates, alternately, best_passages
from retrieval.splitter import SplitSettings
from retrieval.store import (
    MOST_AROUND,
    WAIT,
    Contents,
    FileQueue,
    FileRecord,
    Made,
    Model,
    Roots,
    Search,
    SplitFile,
    Surroundings,
    Uploads,
    changes,
    path_of,
)
from retrieval.sync_report import Progress, SyncReport, VerifyReport
from retrieval.tables import MOST_ROWS, Table
from retrieval.unit_vectors import BATCH, OtherDimensionError, Vectors, embed_query, embed_texts, text_hash

_WITH_NAMES = 50  # passages with a name of the question, of the documents found
_UNSAVED = 512  # new vectors after which those of a partly embedded file are saved
_TOUCH = "UPDATE documents SET mtime_ns = ?"
_FILES = "SELECT passages.id, document, path, sha256 FROM passages JOIN documents ON documents.id = document"
_WITH_WORDS = (
    "SELECT path, passages FROM documents WHERE passages > 0 AND EXISTS "
    "(SELECT 1 FROM passages WHERE document = documents.id AND extra LIKE ? "
    "AND lower(text) LIKE lower(?) ESCAPE '^') ORDER BY path"
)
_LIKE = re.compile("[%_^]")  # characters that LIKE takes for others
File = tuple[int, bytes, str | None]  # a document's id, path and hash


class Database(Protocol):
    """Transactions of a store's database; ``place`` is its name in messages.

    ``notes`` say what had to be repaired; the report of the next sync takes them over.
    """

    place: str
    writable: bool
    notes: list[str]

    def reading(self) -> AbstractContextManager[Any]: ...
    def writing(self) -> AbstractContextManager[Any]: ...
    def only_writer(self, seconds: float) -> AbstractContextManager[None]: ...
    def holder(self) -> str: ...
    def close(self) -> None: ...


class Rows(Protocol):
    """The module that reads and writes a database's rows within a transaction."""

    MARK: str  # the placeholder of a value in a statement
    AT_PATH: str  # a condition on documents, with ``?`` as the mark

    def made_with(self, connection: Any) -> Made: ...
    def record_embedding(self, connection: Any, embedding: str, dimension: int) -> None: ...
    def set_meta(self, connection: Any, **values: object) -> None: ...
    def clear(self, connection: Any, embedding: str, dimension: int, settings: SplitSettings) -> None: ...
    def known_vectors(self, connection: Any, hashes: Sequence[bytes]) -> dict[bytes, Vectors]: ...
    def put_spare_vectors(self, connection: Any, vectors: Mapping[bytes, Vectors]) -> None: ...
    def put_files(self, connection: Any, files: Sequence[SplitFile], vectors: Mapping[str, Vectors]) -> None: ...
    def remove_documents(self, connection: Any, ids: Collection[int]) -> None: ...
    def remove_root(self, connection: Any, root: bytes) -> None: ...
    def set_excluded(self, connection: Any, patterns: Collection[str]) -> None: ...
    def get_records(self, connection: Any) -> dict[bytes, FileRecord]: ...
    def get_contents(self, connection: Any, documents: Collection[int]) -> dict[int, Contents]: ...
    def get_passages(self, connection: Any, ids: Sequence[int]) -> dict[int, Document]: ...


class Store(VectorStore):
    """Documents with their passages and vectors, the roots that they come from, and the search over them.

    Many threads and processes may read at once, also during a write; methods that change the store are called within
    `only_writer`, and each call is a transaction. Every method may raise ``IndexDamaged``, after which `start_over` or
    the next `Library.sync` restores what it can.
    """

    database: Database
    rows: Rows
    model: Model
    default_search: Search
    queue: FileQueue | None = None  # if many machines may read files; else each sync reads them itself
    uploads: Uploads | None = None  # if the store keeps them; else they lie in a folder of the server's machine

    @cached_property
    def _kept_tables(self) -> dict[tuple[str, Hashable], tuple[object, Table | None]]:
        return {}

    @classmethod
    def from_texts(cls, texts: list[str], embedding: Embeddings, *_: Any, **__: Any) -> Self:
        """Raise ``NotImplementedError``: LangChain requires the method, but a library is filled from files."""
        raise NotImplementedError("A library is filled from files: use Library.add and Library.sync.")

    @property
    def embeddings(self) -> Embeddings:
        """The model that passages and queries are embedded with."""
        return self.model.embeddings

    @property
    def writable(self) -> bool:
        """False if this process may only read the store."""
        return self.database.writable

    def close(self) -> None:
        """Release what the store holds open."""
        self.database.close()

    @abstractmethod
    def roots(self) -> Roots:
        """Return the files and folders that were added."""

    @abstractmethod
    def add_roots(self, roots: Mapping[bytes, str], followed: Collection[bytes]) -> None:
        """Add or replace roots; links in the roots ``followed`` are followed wherever they lead."""

    def remove_root(self, root: bytes, documents: Collection[int]) -> None:
        """Remove a root (a file or folder that was added), and the documents with these ids."""
        with self.database.writing() as connection:
            self.rows.remove_root(connection, root)
            self.rows.remove_documents(connection, documents)
        self.save_derived()

    def set_excluded(self, patterns: Collection[str], documents: Collection[int]) -> None:
        """Replace the patterns of files that are left out, and remove documents by id."""
        with self.database.writing() as connection:
            self.rows.set_excluded(connection, patterns)
            self.rows.remove_documents(connection, documents)
        self.save_derived()

    def save_derived(self) -> None:
        """Write the files derived from the database, such as the vector index; by default there are none."""

    def only_writer(self, seconds: float = WAIT) -> AbstractContextManager[None]:
        """Hold the lock against all other writers. Raises ``IndexBusy`` if another keeps it for ``seconds``."""
        return self.database.only_writer(seconds)

    def writer(self) -> str:
        """Name the process that writes, as the beginning of a sentence."""
        return self.database.holder()

    @abstractmethod
    def settle(self) -> None:
        """Drop what an interrupted write left, and bring up to date what is derived from the documents."""

    @abstractmethod
    def start_over(self) -> None:
        """Put a damaged store aside, and begin a new one with its roots and whatever is intact."""

    @abstractmethod
    def verify(self, sync: Callable[[Progress | None], SyncReport], progress: Progress | None) -> VerifyReport:
        """Check everything for damage and repair it, with ``sync`` where documents must be read again."""

    @abstractmethod
    def has_fitting(self, filter: Filter, visible: Visible | None = None) -> bool:  # noqa: A002 - the stores' name
        """Return True if a passage fits the filter and its document's path is ``visible``."""

    def records(self) -> dict[bytes, FileRecord]:
        """Return every file's record, by path."""
        with self.database.reading() as connection:
            return self.rows.get_records(connection)

    def checksums(self, visible: Visible | None = None) -> list[str]:
        """Return the SHA-256 of each document that has passages and a ``visible`` path, sorted."""
        with self.database.reading() as connection:
            found = connection.execute("SELECT path, coalesce(sha256, '') FROM documents WHERE passages > 0")
            return sorted(str(sha256) for path, sha256 in found if visible is None or visible(path))

    def made(self) -> Made:
        """Return the model and settings that the passages were made with."""
        with self.database.reading() as connection:
            return self.rows.made_with(connection)

    def contents(self, documents: Collection[int]) -> dict[int, Contents]:
        """Return the passages and vectors of documents by id; unknown ids, and those without passages, are left out."""
        with self.database.reading() as connection:
            return self.rows.get_contents(connection, documents)

    def outdated(self, settings: SplitSettings) -> list[str]:
        """Return a sentence for each setting that changed since the store was filled."""
        return changes(self.made(), self.model, settings)

    def clear_outdated(self, settings: SplitSettings) -> list[str]:
        """Remove all passages if they were made with other settings; record the settings, and return the reasons."""
        reasons = self.outdated(settings)
        if reasons:  # the new model is tried before anything is removed
            dimension = self._dimension()
            with self.database.writing() as connection:
                self.rows.clear(connection, self.model.name, dimension, settings)
        elif not self.made().splitter:
            with self.database.writing() as connection:
                self.rows.set_meta(connection, **asdict(settings))
        return reasons

    def keep_vectors(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep vectors by the hash of their text, so that `put` need not embed it; `settle` drops unused vectors."""
        with self.database.writing() as connection:
            self.rows.put_spare_vectors(connection, vectors)

    def put(self, files: Sequence[SplitFile]) -> None:
        """Embed the texts that are new to the store, then write all files or none."""
        vectors = self.embedded([passage.page_content for file in files for passage in file.passages])
        with self.database.writing() as connection:
            if vectors:
                self._record_model(connection, len(next(iter(vectors.values()))))
            self.rows.put_files(connection, files, vectors)

    def remove(self, documents: Collection[int]) -> None:
        """Remove documents by id, with their passages."""
        with self.database.writing() as connection:
            self.rows.remove_documents(connection, documents)

    def touch(self, stamps: Iterable[tuple[bytes, int]]) -> None:
        """Record the modification times of files whose content is unchanged."""
        statement = f"{_TOUCH} WHERE {self.rows.AT_PATH}".replace("?", self.rows.MARK)
        with self.database.writing() as connection:
            connection.cursor().executemany(statement, [(mtime_ns, path) for path, mtime_ns in stamps])

    def passage(self, id_: str, visible: Visible | None = None) -> Document | None:
        """Return the passage with an id; None if there is none, or the path of its document is not ``visible``."""
        if (row := row_id(id_)) is None:
            return None
        with self.database.reading() as connection:
            for passage, (_, path, _) in self._passages(connection, "passages.id = ?", row):
                return passage if visible is None or visible(path) else None
        return None

    def table_of(self, source: str, number: int) -> Table | None:
        """Return the table with this number in a document; None if there is none. See `read_once`."""
        return self.read_once(source, number, lambda passages: Table.of(passages, number))

    def read_once(self, source: str, key: Hashable, read: Callable[[list[Document]], Table | None]) -> Table | None:
        """Return the table that ``read`` finds in a document's passages.

        It is kept under ``key`` until the document changes, or later ones have `MOST_ROWS` rows together: 100,000 rows
        take seconds to read.
        """
        with self.database.reading() as connection:
            last = f"{self.rows.AT_PATH} ORDER BY passages.id DESC LIMIT 1"
            state = self._files_of(connection, last, _path_of(connection, source))
        kept = self._kept_tables.pop((source, key), None)
        table = kept[1] if kept and kept[0] == state else read(self.passages_of(source))
        self._kept_tables[source, key] = state, table
        left = MOST_ROWS
        for one, (_, known) in reversed([*self._kept_tables.items()]):
            left -= 1 + len(known.cells if known else ())
            if left < 0 and one != (source, key):
                self._kept_tables.pop(one, None)
        return table

    def sources_with(self, words: Iterable[str], visible: Visible | None = None) -> dict[str, int]:
        """Return how many passages each document has that has a table, and these words in their order in a passage."""
        pattern = "%".join(["", *(_LIKE.sub(r"^\g<0>", word) for word in words), ""])
        with self.database.reading() as connection:
            found = connection.execute(_WITH_WORDS.replace("?", self.rows.MARK), (f'%"{CELLS}"%', pattern)).fetchall()
        known = ((bytes(path), size) for path, size in found)
        return {path.decode("utf-8", "replace"): size for path, size in known if visible is None or visible(path)}

    def passages_of(self, source: str) -> list[Document]:
        """Return all passages of a document by its ``source``, in the order of its text."""
        with self.database.reading() as connection:
            path = _path_of(connection, source)
            found = self._passages(connection, f"{self.rows.AT_PATH} ORDER BY passages.id", path)
        return [passage for passage, _ in found]

    def surroundings(
        self,
        source: str,
        passage: str,
        start: int,
        end: int,
        *,
        page: int | None = None,
        row: int | None = None,
        most: int = MOST_AROUND,
    ) -> Surroundings:
        """Return up to ``most`` characters of a document before and after ``passage[start:end]``, from whole words.

        Text that two passages share is not repeated, and a blank line stands between pages and rows. If the document no
        longer has the passage, or has it more than once on that page or in that row, only the passage itself is used.
        """
        before, quote, after = passage[:start], passage[start:end], passage[end:]
        path = sha256 = None
        with self.database.reading() as connection:
            found = [
                (one, file)
                for one, file in self._passages(connection, "hash = ?", text_hash(passage))
                if (one.metadata["source"], one.metadata["page"], one.metadata["row"]) == (source, page, row)
            ]
            files = {file for _, file in found}
            if len(files) == 1:
                ((document, name, sha256),) = files
                path = path_of(name)
            if len(found) == 1:  # ids are in the order of the text
                one, near = found[0][0], f"document = ? AND passages.id {{}} LIMIT {READ}"
                place = (document, int(one.id or 0))
                earlier = self._passages(connection, near.format("< ? ORDER BY passages.id DESC"), *place)
                later = self._passages(connection, near.format("> ? ORDER BY passages.id"), *place)
                before = joined_text([*(other for other, _ in reversed(earlier)), one]).removesuffix(passage) + before
                after = after + joined_text([one, *(other for other, _ in later)]).removeprefix(passage)
        return Surroundings(last(before, most), quote, first(after, most), path, sha256)

    def text_of(self, path: bytes, page: int | None, most: int) -> tuple[str, bool]:
        """Return up to ``most`` characters of a file or of one of its pages, and whether that is all.

        Text that two passages share is not repeated, and a blank line stands between pages and rows. The text is "" if
        there are no passages.
        """
        on_page, values = ("", (path,)) if page is None else (" AND page = ?", (path, page))
        condition = f"{self.rows.AT_PATH}{on_page} ORDER BY passages.id LIMIT {READ_OF_DOCUMENT + 1}"
        with self.database.reading() as connection:
            passages = [passage for passage, _ in self._passages(connection, condition, *values)]
        text = joined_text(passages[:READ_OF_DOCUMENT])
        return first(text, most), len(passages) <= READ_OF_DOCUMENT and len(text) <= most

    def embedded(self, texts: Iterable[str]) -> dict[str, Vectors]:
        """Return the vector of each text; only texts that are new to the store are embedded.

        New vectors are saved by the hundreds, so that an interrupted sync does not start over.
        """
        hashes = {text: text_hash(text) for text in texts}
        with self.database.reading() as connection:
            dimension = self.rows.made_with(connection).dimension
            found = self.rows.known_vectors(connection, [*hashes.values()])
        missing = [(hash_, text) for text, hash_ in hashes.items() if hash_ not in found]
        unsaved: dict[bytes, Vectors] = {}
        for start in range(0, len(missing), BATCH):
            if len(unsaved) >= _UNSAVED:
                with self.database.writing() as connection:
                    self._record_model(connection, dimension)
                    self.rows.put_spare_vectors(connection, unsaved)
                unsaved = {}
            batch = missing[start : start + BATCH]
            vectors = embed_texts(self.model, [text for _, text in batch])
            dimension = dimension or vectors.shape[1]
            self._check_dimension(vectors, dimension)
            unsaved |= zip((hash_ for hash_, _ in batch), vectors, strict=True)
            found |= unsaved
        return {text: found[hash_] for text, hash_ in hashes.items()}

    def _files_of(self, connection: Any, condition: str, *values: object) -> dict[int, File]:
        """Return the document of each passage that meets an SQL condition, by the passage's id, in SQL's order."""
        query = f"{_FILES} WHERE {condition}".replace("?", self.rows.MARK)
        return {id_: (document, path, sha256) for id_, document, path, sha256 in connection.execute(query, values)}

    def _passages(self, connection: Any, condition: str, *values: object) -> list[tuple[Document, File]]:
        """Return the passages that meet an SQL condition, in SQL's order, with their documents."""
        files = self._files_of(connection, condition, *values)
        passages = self.rows.get_passages(connection, list(files))
        return [(passages[id_], file) for id_, file in files.items()]

    def _dimension(self) -> int:
        """Return the length of the embedding model's vectors."""
        return int(embed_query(self.model, "dimension").shape[1])

    def record_embedding(self, connection: Any) -> None:
        """Record the embedding model if none is recorded; call this before several processes write at the same time."""
        if not self.rows.made_with(connection).embedding:
            self.rows.record_embedding(connection, self.model.name, self._dimension())

    def _record_model(self, connection: Any, dimension: int) -> None:
        """Record the embedding model if none is recorded; raise ``RequestError`` if another model is."""
        made = self.rows.made_with(connection)
        if made.embedding:
            self._require_model(made)
        else:
            self.rows.record_embedding(connection, self.model.name, dimension)

    def _require_model(self, made: Made) -> None:
        """Raise ``RequestError`` unless the store was made with this model."""
        if made.embedding != self.model.name:
            raise RequestError(
                f"The index in {self.database.place} was made with the embedding model {made.embedding}, "
                f"not with {self.model.name}: index its documents again, or choose the first."
            )

    def _check_dimension(self, vectors: Vectors, dimension: int) -> None:
        """Raise ``OtherDimensionError`` for vectors of another dimension; the next sync then embeds all texts again."""
        given = vectors.shape[1]
        if given == dimension:
            return
        if self.database.writable:
            with self.database.writing() as connection:
                self.rows.set_meta(connection, dimension=0)
        raise OtherDimensionError(
            f"The index in {self.database.place} has vectors of {dimension} numbers and the embedding model "
            f"{self.model.name} gives {given}: index its documents again."
        )

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Return the ``k`` best passages, best first, without near-duplicates: see `similarity_search_with_score`."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **options)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        *,
        search: Search | None = None,
        filter: Filter | Mapping[str, Any] | None = None,  # noqa: A002 - the name in LangChain's stores
        visible: Visible | None = None,
        **_: Any,
    ) -> list[tuple[Document, float]]:
        """Return passages with the score they are ranked by; see `retrieval.ranking.best_passages`.

        With ``hybrid`` and no filter on sources, half of them are from the documents that the question names.
        ``filter`` may be given as a ``Filter`` or a mapping of its fields. A document whose path is not ``visible`` is
        not found, whatever the filter. The score is the cosine for ``vectors``, BM25 for ``bm25``, and for ``hybrid``
        the mean of the two, each normalised to 0 to 1, plus half the share of the question's words that stand in the
        headings above the passage.
        """
        search = search or self.default_search
        if search not in get_args(Search):
            raise ValueError(f"search is {search!r}: give 'hybrid', 'vectors' or 'bm25'.")
        only = Filter.model_validate(filter) if filter else None
        return self._search(clean(query), k, search, only, visible)

    def _search(
        self, query: str, k: int, search: Search, only: Filter | None, visible: Visible | None
    ) -> list[tuple[Document, float]]:
        """Return at most ``k`` passages with their scores, best first, all of one snapshot."""
        made = self.made()
        if k < 1 or not made.dimension:
            return []
        self._require_model(made)
        vector = embed_query(self.model, query)
        self._check_dimension(vector, made.dimension)
        with self.database.reading() as connection:
            if self.rows.made_with(connection) == made:
                found = best_passages(self._candidates(connection, query, vector, only, visible), query, k, search)
                if search == "hybrid" and not (only and only.sources):
                    paths = [path for (path,) in connection.execute("SELECT path FROM documents WHERE passages > 0")]
                    if named := named_documents(list(filter(visible, paths)) if visible else paths, query):
                        own = self._candidates(connection, query, vector, only, named.__contains__)
                        found = alternately(best_passages(own, query, k, search), found)[:k]
                        entitle([passage for passage, _ in found], named, query)
                unnamed = [passage for passage, _ in found if not is_named(passage)]
                self._entitle_by_file(connection, unnamed, query, vector)
                return found
        return self._search(query, k, search, only, visible)  # the model was changed meanwhile

    def _entitle_by_file(self, connection: Any, found: Sequence[Document], query: str, vector: Vectors) -> None:
        """Put the file's name before titles of documents in which a search finds not all names of the question."""
        if lacked := names_lacked(found, query):
            paths = {_path_of(connection, source) for source in lacked}
            names = " ".join(dict.fromkeys(chain.from_iterable(lacked.values())))
            candidates = self._candidates(connection, names, vector, None, paths.__contains__)
            further = candidates.passages([id_ for id_, _ in candidates.by_words(_WITH_NAMES)])
            entitle_by_file(found, further.values(), query)

    @abstractmethod
    def _candidates(
        self, connection: Any, query: str, vector: Vectors, only: Filter | None, visible: Visible | None
    ) -> Candidates:
        """Return passages found by searches of the connection's snapshot; ``vector`` has the shape (1, dimension)."""

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: min(1.0, max(0.0, score))


def _path_of(connection: Any, source: str) -> bytes:
    """Return the path of the document with this ``source``, in which bytes that are not valid text are replaced."""
    if "\ufffd" in source:
        for (path,) in connection.execute("SELECT path FROM documents"):
            if path.decode("utf-8", "replace") == source:
                return bytes(path)
    return os.fsencode(source)
