"""Nearest-neighbour search over a vector file that is derived from the database and kept in step with it."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from core.files import open_regular
from retrieval.index import faiss_index as nearest
from retrieval.index.database import Database
from retrieval.index.keyword_search import seal_of_words
from retrieval.index.manifest import Manifest, Words, quoted, read_manifest, write_in_one_step, write_manifest
from retrieval.index.manifest import Vectors as VectorsEntry
from retrieval.index.schema import FORMAT, Reached, Snapshot, get_followed, get_roots
from retrieval.index.sqlite_files import translated
from retrieval.index.vector_rows import (
    METRIC,
    Vectors,
    count_passages,
    count_removed,
    forget_removed,
    removed_after,
    some_passage_ids,
    vectors_after,
    vectors_of,
)

if TYPE_CHECKING:
    from retrieval.index.faiss_index import Ids, Index


NAME = "vectors.faiss"
_LAG = 2_000  # passages that a file of as many may be behind: reading them takes a tenth of a second


class VectorIndex:
    """The passages nearest to a query, by passage id.

    What the snapshot that it is asked with has and the index in memory has not is put in before the
    search; beside a writer the index may know passages that an older snapshot does not. ``mended``
    says that the file was not the one that was written.
    """

    def __init__(self, folder: Path) -> None:
        """Search what lies in ``folder``; nothing is read yet."""
        self.folder = folder
        self.mended = False
        self._index: Index | None = None
        self._of = ""  # the index in the database that it is of
        self._reached: Reached | None = None  # what it has seen; None while that is changing
        self._guard = threading.Lock()

    def search(self, snapshot: Snapshot, query: Vectors, count: int, only: Ids | None = None) -> list[int]:
        """Return about the ``count`` nearest passages, of all or of those in ``only``.

        Beyond ``nearest.EXACT`` passages a few of the nearest may be missing.
        """
        with self._guard:
            return nearest.search(self._agreed(snapshot), query, count, only)

    def save(self, snapshot: Snapshot) -> VectorsEntry:
        """Write the index of this snapshot to its file, in one step, and say what was written."""
        with self._guard:
            if not nearest.suits(self._agreed(snapshot), snapshot.passages):
                self._index, self._reached = _made(snapshot), Reached()
            index = self._agreed(snapshot)
            data = nearest.dump(index)
            write_in_one_step(self.folder / NAME, data.data)
            self.mended = False
            return VectorsEntry(
                sha256=hashlib.sha256(data.data).hexdigest(), passages=index.ntotal, reached=snapshot.reached
            )

    def discard(self) -> None:
        """Drop the file and what is in memory, so that the next save makes them anew; for the only writer."""
        with self._guard:
            (self.folder / NAME).unlink(missing_ok=True)
            self._index = self._reached = None

    def is_current(self, snapshot: Snapshot, entry: VectorsEntry) -> bool:
        """Whether the file can stay as it is: nothing was removed since, and at most a little added to much."""
        if not (self.folder / NAME).is_file() or self.mended:
            return False
        if snapshot.reached.removal != entry.reached.removal:
            return False  # what was removed is to be gone from the file as well
        added = snapshot.reached.passage - entry.reached.passage
        return not added or (entry.passages >= _LAG and 0 < added <= max(_LAG, entry.passages // 100))

    def is_whole(self, snapshot: Snapshot) -> bool:
        """Whether the file is the one that was written, and has the passages that it should."""
        manifest = read_manifest(self.folder)
        entry = manifest.vectors if manifest and manifest.index == snapshot.index else None
        index = _read(self.folder / NAME, entry, snapshot) if entry else None
        if not index or not entry:
            return False
        return _brought_in_step(index, entry.reached, snapshot)

    def _agreed(self, snapshot: Snapshot) -> Index:
        """Return the index, brought in step with the snapshot."""
        if self._index is None or self._index.d != snapshot.dimension or self._of != snapshot.index:
            self._index, self._reached = self._begun(snapshot)
            self._of = snapshot.index
        if self._reached is None or not self._reached.includes(snapshot.reached):
            reached, self._reached = self._reached, None  # until all of it is done
            if reached is None or not _brought_in_step(self._index, reached, snapshot):
                self.mended = True
                self._index = _made(snapshot)
                _brought_in_step(self._index, Reached(), snapshot)
            self._reached = snapshot.reached
        return self._index

    def _begun(self, snapshot: Snapshot) -> tuple[Index, Reached]:
        """Begin with the file's index, however far it reaches, or with an empty one."""
        manifest = read_manifest(self.folder)
        if manifest and manifest.index == snapshot.index and manifest.vectors:
            index = _read(self.folder / NAME, manifest.vectors, snapshot)
            if index is not None:
                return index, manifest.vectors.reached
        self.mended = True
        return _made(snapshot), Reached()


def _made(snapshot: Snapshot) -> Index:
    """Make an empty index, with lists that suit the passages of the snapshot."""

    def sample(count: int) -> Vectors:
        ids = some_passage_ids(snapshot.connection, count)
        return np.concatenate([vectors for _, vectors in vectors_of(snapshot.connection, ids, snapshot.dimension)])

    return nearest.make(snapshot.dimension, count_passages(snapshot.connection), sample)


def _brought_in_step(index: Index, reached: Reached, snapshot: Snapshot) -> bool:
    """Take out and put in what changed since; return whether the index then has what it should."""
    gone = removed_after(snapshot.connection, reached.removal) if reached != Reached() else []
    if gone is None or reached.passage > snapshot.reached.passage:
        return False
    nearest.remove(index, gone)
    for ids, vectors in vectors_after(snapshot.connection, reached.passage, snapshot.dimension):
        index.add_with_ids(vectors, np.array(ids, dtype=np.int64))
    return bool(index.ntotal == snapshot.passages)


def _read(path: Path, expected: VectorsEntry, snapshot: Snapshot) -> Index | None:
    """Read the file if its checksum is the expected one; what is larger than all vectors there are is not looked at."""
    held = count_passages(snapshot.connection) + count_removed(snapshot.connection)
    try:
        with open_regular(path, nearest.most_bytes(snapshot.dimension, held)) as file:
            data: npt.NDArray[np.uint8] = np.memmap(file, dtype=np.uint8, mode="r")
    except (OSError, ValueError):  # ValueError: it is empty
        return None
    if hashlib.sha256(data.data).hexdigest() != expected.sha256:
        return None
    index = nearest.undump(data, snapshot.dimension)
    return index if index is not None and index.ntotal == expected.passages else None


def save_derived(database: Database, vectors: VectorIndex, *, words_changed: bool = False) -> None:
    """Write the vector file and the manifest where they are behind the database; for its only writer."""
    with translated(database.folder), database.reading() as connection:
        snapshot = Snapshot.of(connection)
        old = read_manifest(database.folder)
        if old and old.index != snapshot.index:
            old = None
        kept = entry = old.vectors if old else None
        if snapshot.dimension and not (entry and vectors.is_current(snapshot, entry)):
            entry = vectors.save(snapshot)
        known = old.words if old and not words_changed and _is_of(old.words, snapshot) else None
        manifest = _manifest(snapshot, vectors=entry, words=known or _sealed(snapshot))
        if manifest != old:
            write_manifest(database.folder, manifest)
    if entry and entry != kept:
        with database.writing() as connection:
            forget_removed(connection, entry.reached.removal)


def words_are_whole(folder: Path, snapshot: Snapshot) -> bool:
    """Whether the word index is what was written, as far as that is known: not beside a writer."""
    manifest = read_manifest(folder)
    if not manifest or manifest.index != snapshot.index or not _is_of(manifest.words, snapshot):
        return True
    return manifest.words == _sealed(snapshot)


def _is_of(words: Words | None, snapshot: Snapshot) -> bool:
    return words is not None and words.reached == snapshot.reached


def _sealed(snapshot: Snapshot) -> Words:
    return Words(seal=seal_of_words(snapshot.connection), reached=snapshot.reached)


def save_roots(database: Database) -> None:
    """Write the roots to the manifest, so that they outlive the database."""
    with translated(database.folder), database.reading() as connection:
        snapshot = Snapshot.of(connection)
        old = read_manifest(database.folder)
        manifest = _manifest(snapshot)
        if old and old.index == snapshot.index:  # what else it says is of what was derived then
            manifest = old.model_copy(update={"roots": manifest.roots, "follow_links": manifest.follow_links})
        write_manifest(database.folder, manifest)


def _manifest(snapshot: Snapshot, *, vectors: VectorsEntry | None = None, words: Words | None = None) -> Manifest:
    return Manifest(
        format=FORMAT,
        index=snapshot.index,
        embedding=snapshot.embedding,
        dimension=snapshot.dimension,
        metric=METRIC,
        splitter=snapshot.splitter,
        roots={quoted(path): kind for path, kind in get_roots(snapshot.connection).items()},
        follow_links=sorted(map(quoted, get_followed(snapshot.connection))),
        vectors=vectors,
        words=words,
    )
