"""The store of a library in PostgreSQL: see `retrieval.store.Store`."""

import json
import os
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from langchain_core.documents import Document

from core.errors import RequestError
from retrieval.adjoining import READ, READ_OF_DOCUMENT, first, following, joined, last, preceding
from retrieval.filters import Filter, Visible
from retrieval.passage_columns import row_id
from retrieval.postgres import rows
from retrieval.postgres.candidates import Condition, Found
from retrieval.postgres.consistency import verify
from retrieval.postgres.database import Connection, Database
from retrieval.postgres.queue import PostgresQueue, owner
from retrieval.postgres.uploads import PostgresUploads
from retrieval.ranking import best_passages
from retrieval.searching_store import SearchingStore
from retrieval.settings_changes import changes, other_dimension, other_model
from retrieval.splitter import SplitSettings
from retrieval.store import (
    MOST_AROUND,
    WAIT,
    Contents,
    Machine,
    Made,
    Model,
    Record,
    Roots,
    Search,
    SplitFile,
    Surroundings,
)
from retrieval.sync_report import Progress, SyncReport, VerifyReport
from retrieval.unit_vectors import OtherDimensionError, Vectors, embed_new, embed_query, text_hash

_ADD_ROOT = """
INSERT INTO roots (path, kind, followed, machine) VALUES (%s, %s, %s, %s)
ON CONFLICT (sha256(path)) DO UPDATE
SET kind = excluded.kind, followed = excluded.followed, machine = excluded.machine
"""
# The last says whether nobody reads files, or only a tenth as many as are read still wait.
_UNSETTLED = """
SELECT EXISTS (SELECT FROM spare_vectors), EXISTS (SELECT FROM frequency_changes), greatest(reltuples, 0),
    NOT EXISTS (SELECT FROM queue WHERE taken_until > clock_timestamp())
    OR 10 * (SELECT count(*) FROM queue) < (SELECT count(*) FROM documents)
FROM pg_class WHERE oid = 'passages'::regclass
"""


class PostgresStore(SearchingStore):
    """A library in a schema of a PostgreSQL database; many threads, processes and machines may share it."""

    def __init__(
        self, url: str, library: str, model: Model, *, search: Search = "hybrid", machine: Machine | None = None
    ) -> None:
        """Open or create the library; ``search`` is the default kind of search, ``machine`` says which files are
        read here, this host's if not given.

        Raises ``RequestError`` where the database will not do, ``StoreUnavailable`` where it cannot be reached.
        """
        self.database = Database(url, library)
        self.model = model
        self.default_search = search
        self.queue = PostgresQueue(self, machine or Machine(platform.node() or "this machine"))
        self.uploads = PostgresUploads(self)
        self.notes: list[str] = []

    @property
    def writable(self) -> bool:
        """False if the role may only read, or the server is a replica."""
        return self.database.writable

    def close(self) -> None:
        """Close the connections."""
        self.database.close()

    def roots(self) -> Roots:
        """Return the files and folders that were added."""
        with self.database.reading() as connection:
            found = rows.get_roots(connection)
            excluded = rows.get_excluded(connection)
        own = {path for path, _, _, machine in found if machine in ("", self.queue.machine.name)}
        return Roots(
            {path: kind for path, kind, _, _ in found if path in own},
            {path for path, _, followed, _ in found if followed and path in own},
            {path: machine for path, _, _, machine in found if path not in own},
            excluded,
        )

    def add_roots(self, roots: Mapping[bytes, str], followed: Collection[bytes]) -> None:
        """Add or replace roots."""
        with self.database.writing() as connection:
            for path, kind in roots.items():
                connection.execute(_ADD_ROOT, (path, kind, path in followed, owner(path, self.queue.machine)))

    def remove_root(self, root: bytes, documents: Collection[int]) -> None:
        """Remove a root, and documents by id."""
        with self.database.writing() as connection:
            connection.execute("DELETE FROM roots WHERE path = %s", (root,))
            self.queue.drop_below(connection, root)
            rows.remove_documents(connection, documents)
            rows.fold_frequencies(connection)

    def set_excluded(self, patterns: Collection[str], documents: Collection[int]) -> None:
        """Replace the patterns of files that are left out, and remove documents by id."""
        with self.database.writing() as connection:
            rows.set_meta(connection, excluded=json.dumps(sorted(patterns)))
            rows.remove_documents(connection, documents)
            rows.fold_frequencies(connection)

    def records(self) -> dict[bytes, Record]:
        """Return every file's record, by path."""
        with self.database.reading() as connection:
            return rows.get_records(connection)

    def checksums(self) -> list[str]:
        """Return the SHA-256 of each document that has passages, sorted."""
        with self.database.reading() as connection:
            found = connection.execute("SELECT coalesce(sha256, '') FROM documents WHERE passages > 0").fetchall()
        return sorted(sha256 for (sha256,) in found)

    def only_writer(self, seconds: float = WAIT) -> AbstractContextManager[None]:
        """Hold the library's lock; see `Database.only_writer`."""
        return self.database.only_writer(seconds)

    def writer(self) -> str:
        """Name the process that writes, as the beginning of a sentence."""
        return self.database.holder()

    def outdated(self, settings: SplitSettings) -> list[str]:
        """Return a sentence for each setting that changed since the library was filled."""
        with self.database.reading() as connection:
            made = rows.made_with(connection)
        return changes(made.embedding, made.dimension, made.splitter, self.model, settings)

    def clear_outdated(self, settings: SplitSettings) -> list[str]:
        """Remove all passages if they were made with other settings; return the reasons."""
        reasons = self.outdated(settings)
        if reasons:  # the new model is tried first
            dimension = embed_query(self.embeddings, "dimension", self.model.name).shape[1]
            with self.database.writing() as connection:
                rows.clear(connection, self.model.name, dimension, settings)
        else:
            with self.database.writing() as connection:
                if not rows.made_with(connection).splitter:
                    rows.set_meta(connection, **asdict(settings))
        return reasons

    def made(self) -> Made:
        """Return what the passages were made with."""
        with self.database.reading() as connection:
            return rows.made_with(connection)

    def contents(self, documents: Collection[int]) -> dict[int, Contents]:
        """Return the passages and vectors of documents by id."""
        with self.database.reading() as connection:
            return rows.get_contents(connection, documents)

    def keep_vectors(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep vectors by the hash of their text; of each number 11 bits."""
        with self.database.writing() as connection:
            rows.put_spare_vectors(connection, vectors)

    def put(self, files: Sequence[SplitFile]) -> None:
        """Embed the texts that are new to the library, then write all files or none."""
        texts = [passage.page_content for file in files for passage in file.passages]
        vectors = self.embedded(texts)
        with self.database.writing() as connection:
            if vectors is not None:
                self._record_model(connection, vectors.shape[1])
            rows.put_files(connection, files, vectors)

    def remove(self, documents: Collection[int]) -> None:
        """Remove documents by id, with their passages."""
        with self.database.writing() as connection:
            rows.remove_documents(connection, documents)

    def touch(self, stamps: Iterable[tuple[bytes, int]]) -> None:
        """Record the modification times of files whose content is unchanged."""
        with self.database.writing() as connection:
            rows.touch(connection, stamps)

    def settle(self) -> None:
        """Drop vectors of no passage, add up the words' frequencies, tell the planner of many new passages, and make
        the indexes that many passages need once the library is filled.
        """
        with self.database.reading() as connection:
            (spare, changed, analyzed, filled) = connection.execute(_UNSETTLED).fetchone() or (False, False, 0, False)
            grown = rows.count_passages(connection) > 1.2 * analyzed
            missing = rows.missing_indexes(connection) if filled else {}
        if spare or changed:
            with self.database.writing() as connection:
                connection.execute("DELETE FROM spare_vectors WHERE NOT EXISTS (SELECT FROM queue)")
                rows.fold_frequencies(connection)
                if grown:
                    connection.execute("ANALYZE passages")
        if missing:
            with self.database.writing() as connection:
                rows.make_indexes(connection, missing.values())

    def start_over(self) -> None:
        """Refuse: what many share is not moved aside by one."""
        raise RequestError(
            f"The {self.database.place} is damaged: restore the database from a backup, or drop the library's schema "
            "and index its documents again."
        )

    def verify(self, sync: Callable[[Progress | None], SyncReport], progress: Progress | None) -> VerifyReport:
        """Check all passages and frequencies; what is wrong is read again."""
        return verify(self.database, sync, progress)

    def _search(
        self, query: str, k: int, search: Search, only: Filter | None, visible: Visible | None
    ) -> list[tuple[Document, float]]:
        if k < 1:
            return []
        vector = embed_query(self.embeddings, query, self.model.name)
        with self.database.reading() as connection:
            made = rows.made_with(connection)
            if made.embedding and made.embedding != self.model.name:
                raise RequestError(other_model(self.database.place, made.embedding, self.model.name))
            if made.dimension == vector.shape[1]:
                found = Found(connection, query, vector, Condition(connection, only, visible))
                return best_passages(found, query, k, search)
        if made.dimension:
            self._check_dimension(vector, made.dimension)
        return []

    def has_fitting(self, filter: Filter, visible: Visible | None = None) -> bool:  # noqa: A002 - the stores' name
        """Return True if a passage fits the filter and is of a ``visible`` path."""
        with self.database.reading() as connection:
            return Condition(connection, filter, visible).count(connection, 1) > 0

    def passage(self, id_: str, visible: Visible | None = None) -> Document | None:
        """Return the passage with an id; None if there is none, or the path of its document is not ``visible``."""
        if (row := row_id(id_)) is None:
            return None
        with self.database.reading() as connection:
            found = rows.get_passages(connection, [row]).get(row)
            path = _file(connection, row)[1]
        return found if found and (visible is None or visible(path)) else None

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
        """Return up to ``most`` characters of a document before and after ``passage[start:end]``, from whole words."""
        before, quote, after = passage[:start], passage[start:end], passage[end:]
        path = sha256 = None
        with self.database.reading() as connection:
            same = connection.execute("SELECT id FROM passages WHERE hash = %s", (text_hash(passage),)).fetchall()
            found = {
                id_: one
                for id_, one in rows.get_passages(connection, [id_ for (id_,) in same]).items()
                if (one.metadata["source"], one.metadata["page"], one.metadata["row"]) == (source, page, row)
            }
            files = {_file(connection, id_) for id_ in found}
            if len(files) == 1:
                _, name, sha256 = files.pop()
                path = Path(os.fsdecode(name))
            if len(found) == 1:
                ((id_, one),) = found.items()
                earlier = _neighbours(connection, id_, "id < %s ORDER BY id DESC")
                later = _neighbours(connection, id_, "id > %s ORDER BY id")
                before = preceding(one, earlier, most - len(before)) + before
                after = after + following(one, later, most - len(after))
        return Surroundings(last(before, most), quote, first(after, most), path, sha256)

    def text_of(self, path: bytes, page: int | None, most: int) -> tuple[str, bool]:
        """Return up to ``most`` characters of a file or of one of its pages, and whether that is all."""
        with self.database.reading() as connection:
            found = connection.execute(
                "SELECT passages.id FROM passages JOIN documents ON documents.id = document "
                "WHERE path = %(path)s AND sha256(path) = sha256(%(path)s) "
                "AND (%(page)s::bigint IS NULL OR page = %(page)s) ORDER BY passages.id LIMIT %(most)s",
                {"path": path, "page": page, "most": READ_OF_DOCUMENT + 1},
            ).fetchall()
            ids = [id_ for (id_,) in found]
            passages = rows.get_passages(connection, ids[:READ_OF_DOCUMENT])
        text = joined(passages[id_] for id_ in ids[:READ_OF_DOCUMENT])
        return first(text, most), len(ids) <= READ_OF_DOCUMENT and len(text) <= most

    def make_room(self, connection: Connection) -> None:
        """Record the model of a library that was never filled: processes that write side by side could not."""
        if not rows.made_with(connection).embedding:
            dimension = embed_query(self.embeddings, "dimension", self.model.name).shape[1]
            rows.make_room_for(connection, self.model.name, dimension)

    def embedded(self, texts: Sequence[str]) -> Vectors | None:
        """Return a vector for each text, of which new ones are embedded; None for no texts."""
        if not texts:
            return None
        with self.database.reading() as connection:
            dimension = rows.made_with(connection).dimension
            known = rows.known_vectors(connection, [*{text_hash(text) for text in texts}])

        def check(vectors: Vectors) -> None:
            nonlocal dimension
            dimension = dimension or vectors.shape[1]
            self._check_dimension(vectors, dimension)

        def save(new: Mapping[bytes, Vectors]) -> None:
            with self.database.writing() as connection:
                self._record_model(connection, dimension)
                rows.put_spare_vectors(connection, new)

        return embed_new(self.model, texts, known, check, save)

    def _record_model(self, connection: Connection, dimension: int) -> None:
        """Record the model with the first vectors. Raises ``RequestError`` for vectors of any other model."""
        made = rows.made_with(connection)
        if not made.embedding:
            rows.make_room_for(connection, self.model.name, dimension)
        elif made.embedding != self.model.name:
            raise RequestError(other_model(self.database.place, made.embedding, self.model.name))

    def _check_dimension(self, vectors: Vectors, dimension: int) -> None:
        """Raise ``OtherDimensionError`` unless vectors have the library's dimension, and tell the next sync."""
        given = vectors.shape[1]
        if given == dimension:
            return
        if self.database.writable:
            with self.database.writing() as connection:
                rows.set_meta(connection, dimension=0)
        raise OtherDimensionError(other_dimension(self.database.place, self.model, dimension, given))


def _file(connection: Connection, passage: int) -> tuple[int, bytes, str | None]:
    """Return the id, path and hash of a passage's file."""
    row = connection.execute(
        "SELECT documents.id, path, sha256 FROM documents JOIN passages ON documents.id = document "
        "WHERE passages.id = %s",
        (passage,),
    ).fetchone()
    return row or (0, b"", None)


def _neighbours(connection: Connection, id_: int, which: str) -> Iterator[Document]:
    """Yield the nearest passages of the same document, the nearest first: ids are in the order of the text."""
    of_document = "SELECT id FROM passages WHERE document = (SELECT document FROM passages WHERE id = %s)"
    found = connection.execute(f"{of_document} AND {which} LIMIT {READ}".encode(), (id_, id_)).fetchall()
    ids = [one for (one,) in found]
    passages = rows.get_passages(connection, ids)
    yield from (passages[one] for one in ids)
