"""The register of an index's files: what `retrieval.store.Store` asks of it besides searching."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager

from langchain_core.documents import Document

from retrieval.filters import Filter, Visible
from retrieval.index.condition import Condition
from retrieval.index.database import Database
from retrieval.index.document_rows import (
    get_checksums,
    get_contents,
    get_records,
    put_passages,
    put_record,
    remove_records,
    touch_records,
)
from retrieval.index.embedding import clear_outdated, embed_once, outdated_reasons, record_model
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
from retrieval.index.surroundings import find_passage, surroundings, text_of
from retrieval.index.vector_file import VectorIndex, save_derived, save_roots
from retrieval.index.vector_rows import drop_spare_vectors, has_spare_vectors, put_spare_vectors
from retrieval.index.verification import verify
from retrieval.splitter import SplitSettings
from retrieval.store import MOST_AROUND, WAIT, Contents, Made, Model, Record, Roots, SplitFile, Surroundings
from retrieval.sync_report import Progress, SyncReport, VerifyReport
from retrieval.unit_vectors import Vectors


class Register:
    """The files of an index, and their passages as they stand in their documents."""

    def __init__(self, database: Database, vectors: VectorIndex, model: Model) -> None:
        """Wrap an open database."""
        self.database = database
        self.vectors = vectors
        self.model = model

    @property
    def notes(self) -> list[str]:
        """What had to be repaired."""
        return self.database.notes

    @property
    def uploads(self) -> None:
        """None: uploads lie in a folder of this machine."""

    @property
    def queue(self) -> None:
        """None: each sync reads its files itself."""
        return None

    @property
    def writable(self) -> bool:
        """False if the folder is read-only."""
        return self.database.writable

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
            remove_records(connection, documents)
        save_derived(self.database, self.vectors)

    def set_excluded(self, patterns: Collection[str], documents: Collection[int]) -> None:
        """Replace the patterns of files that are left out, in the manifest too, and remove documents by id."""
        with self.database.writing() as connection:
            set_excluded(connection, patterns)
            remove_records(connection, documents)
        save_derived(self.database, self.vectors)

    def records(self) -> dict[bytes, Record]:
        """Return every file's record, by path."""
        with self.database.reading() as connection:
            return get_records(connection)

    def checksums(self) -> list[str]:
        """Return the SHA-256 of each document that has passages, sorted."""
        with self.database.reading() as connection:
            return get_checksums(connection)

    def only_writer(self, seconds: float = WAIT) -> AbstractContextManager[None]:
        """Hold the writer lock; see `Database.only_writer`."""
        return self.database.only_writer(seconds)

    def writer(self) -> str:
        """Name the process that holds the writer lock, as the beginning of a sentence."""
        return lock_holder(self.database.folder)

    def outdated(self, settings: SplitSettings) -> list[str]:
        """Return a sentence for each setting that changed since the index was made."""
        return outdated_reasons(self.database, self.model, settings)

    def clear_outdated(self, settings: SplitSettings) -> list[str]:
        """Clear what was made with other settings; return the reasons."""
        return clear_outdated(self.database, self.model, settings)

    def made(self) -> Made:
        """Return what the passages were made with."""
        with self.database.reading() as connection:
            snapshot = Snapshot.of(connection)
        return Made(snapshot.embedding, snapshot.dimension, snapshot.splitter)

    def contents(self, documents: Collection[int]) -> dict[int, Contents]:
        """Return the passages and vectors of documents by id."""
        with self.database.reading() as connection:
            return get_contents(connection, documents, Snapshot.of(connection).dimension)

    def keep_vectors(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Keep vectors by the hash of their text."""
        with self.database.writing() as connection:
            put_spare_vectors(connection, ((hash_, vector.tobytes()) for hash_, vector in vectors.items()))

    def put(self, files: Sequence[SplitFile]) -> None:
        """Embed the passages of several files together, then write all of them or none."""
        texts = [passage.page_content for file in files for passage in file.passages]
        vectors = embed_once(self.database, self.model, texts) if texts else None
        start = 0
        with self.database.writing() as connection:
            if vectors is not None:
                record_model(connection, self.database, self.model, vectors.shape[1])
            for file in files:
                end = start + len(file.passages)
                document = put_record(connection, file.record)
                if vectors is not None and file.passages:
                    put_passages(connection, document, file.passages, vectors[start:end])
                start = end

    def remove(self, documents: Collection[int]) -> None:
        """Remove documents by id, with their passages."""
        with self.database.writing() as connection:
            remove_records(connection, documents)

    def touch(self, stamps: Iterable[tuple[bytes, int]]) -> None:
        """Record the modification times of files whose content is unchanged."""
        with self.database.writing() as connection:
            touch_records(connection, stamps)

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

    def passage(self, id_: str, visible: Visible | None = None) -> Document | None:
        """Return the passage with an id; None if there is none, or the path of its document is not ``visible``."""
        return find_passage(self.database, id_, visible)

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
        """Return up to ``most`` characters of a document before and after ``passage[start:end]``."""
        return surroundings(self.database, source, passage, start, end, page=page, row=row, most=most)

    def text_of(self, path: bytes, page: int | None, most: int) -> tuple[str, bool]:
        """Return up to ``most`` characters of a file or of one of its pages, and whether that is all."""
        return text_of(self.database, path, page, most)
