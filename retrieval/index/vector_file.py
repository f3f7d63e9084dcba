"""Nearest-neighbour search over a vector file that is derived from the database and kept up to date with it."""

import hashlib
import threading
from pathlib import Path

import faiss
import numpy as np
import numpy.typing as npt

from core.files import open_regular
from retrieval.index import faiss_index, vector_rows
from retrieval.index.database import Database
from retrieval.index.faiss_index import Ids, Index
from retrieval.index.keyword_search import keyword_index_seal
from retrieval.index.manifest import NAME as MANIFEST
from retrieval.index.manifest import Manifest, Words, percent_encoded, read_manifest, write_atomically
from retrieval.index.manifest import Vectors as VectorsEntry
from retrieval.index.schema import FORMAT, Reached, Snapshot, get_roots
from retrieval.unit_vectors import Vectors

NAME = "vectors.faiss"
_LAG = 2_000  # passages by which the file may lag behind: reading them takes a tenth of a second


class VectorIndex:
    """Nearest-neighbour search by passage id, over an index held in memory.

    Passages of the snapshot that the index lacks are added before each search; during a write the index may hold
    passages that an older snapshot lacks. ``rebuilt`` is set when the file was missing or damaged.
    """

    def __init__(self, folder: Path) -> None:
        """Use the vector file in ``folder``, without reading it yet."""
        self.folder = folder
        self.rebuilt = False
        self._index: Index | None = None
        self._index_id = ""  # of the database's index that it was made from
        self._reached: Reached | None = None  # how far it is up to date; None during an update
        self._lock = threading.Lock()

    def search(self, snapshot: Snapshot, query: Vectors, count: int, only: Ids | None = None) -> list[int]:
        """Return the ``count`` nearest passages; ``only`` restricts the search to these ids.

        Approximate beyond ``faiss_index.EXACT`` passages: a few of the nearest may be missing.
        """
        with self._lock:
            return faiss_index.search(self._up_to_date(snapshot), query, count, only)

    def save(self, snapshot: Snapshot) -> VectorsEntry:
        """Write the index of this snapshot to its file atomically; return the file's entry for the manifest."""
        with self._lock:
            if not faiss_index.suits(self._up_to_date(snapshot), snapshot.passages):
                self._index, self._reached = _new_index(snapshot), Reached()
            index = self._up_to_date(snapshot)
            data: npt.NDArray[np.uint8] = faiss.serialize_index(index)
            write_atomically(self.folder / NAME, data.data)
            self.rebuilt = False
            return VectorsEntry(
                sha256=hashlib.sha256(data.data).hexdigest(),
                size=len(data),
                passages=index.ntotal,
                reached=snapshot.reached,
            )

    def discard(self) -> None:
        """Delete the file and the index in memory, so that the next save rebuilds them; needs the writer lock."""
        with self._lock:
            (self.folder / NAME).unlink(missing_ok=True)
            self._index = self._reached = None

    def is_current(self, snapshot: Snapshot, entry: VectorsEntry) -> bool:
        """True if the file may stay: since it was saved, no passage was removed and comparatively few were added."""
        if not (self.folder / NAME).is_file() or self.rebuilt:
            return False
        if snapshot.reached.removal != entry.reached.removal:
            return False  # removed text must not live on in the file
        added = snapshot.reached.passage - entry.reached.passage
        return not added or (entry.passages >= _LAG and 0 < added <= max(_LAG, entry.passages // 100))

    def is_intact(self, snapshot: Snapshot) -> bool:
        """True if the file has its checksum and, once up to date, as many vectors as the snapshot has passages."""
        found = self._from_file(snapshot)
        return found is not None and _catch_up(*found, snapshot)

    def _up_to_date(self, snapshot: Snapshot) -> Index:
        """Return the index, brought up to date with the snapshot."""
        if self._index is None or self._index.d != snapshot.dimension or self._index_id != snapshot.index:
            found = self._from_file(snapshot)
            self.rebuilt = self.rebuilt or found is None
            self._index, self._reached = found or (_new_index(snapshot), Reached())
            self._index_id = snapshot.index
        if self._reached is None or not self._reached.includes(snapshot.reached):
            reached, self._reached = self._reached, None  # stays None if the update fails half way
            if reached is None or not _catch_up(self._index, reached, snapshot):
                self.rebuilt = True
                self._index = _new_index(snapshot)
                _catch_up(self._index, Reached(), snapshot)
            self._reached = snapshot.reached
        return self._index

    def _from_file(self, snapshot: Snapshot) -> tuple[Index, Reached] | None:
        """Return the file's index and how far it is up to date; None if the file is damaged or of another index."""
        manifest = read_manifest(self.folder)
        entry = manifest.vectors if manifest and manifest.index == snapshot.index else None
        if entry is None:
            return None
        try:
            with open_regular(self.folder / NAME, entry.size) as file:
                data: npt.NDArray[np.uint8] = np.memmap(file, dtype=np.uint8, mode="r")
        except (OSError, ValueError):  # ValueError: an empty file
            return None
        if hashlib.sha256(data.data).hexdigest() != entry.sha256:
            return None
        index = faiss_index.deserialize(data, snapshot.dimension)
        return (index, entry.reached) if index else None


def _new_index(snapshot: Snapshot) -> Index:
    """Return an empty index, with lists trained for the passages of the snapshot."""
    connection, dimension = snapshot.connection, snapshot.dimension
    # Counted row by row, not from the documents' counts.
    (passages,) = connection.execute("SELECT count(*) FROM passages").fetchone()
    return faiss_index.make(dimension, passages, lambda count: vector_rows.sample_vectors(connection, count, dimension))


def _catch_up(index: Index, reached: Reached, snapshot: Snapshot) -> bool:
    """Apply the removals and additions since ``reached``; return whether the index now has the right size.

    The size is wrong if removals since ``reached`` are no longer recorded: vectors of removed passages are then left.
    """
    if reached.passage > snapshot.reached.passage:
        return False
    removals = snapshot.connection.execute("SELECT passage FROM removed WHERE number > ?", (reached.removal,))
    if gone := [id_ for (id_,) in removals]:
        index.remove_ids(faiss.IDSelectorBatch(np.array(gone, dtype=np.int64)))
    for ids, vectors in vector_rows.vectors_after(snapshot.connection, reached.passage, snapshot.dimension):
        index.add_with_ids(vectors, np.array(ids, dtype=np.int64))
    return bool(index.ntotal == snapshot.passages)


def save_derived(database: Database, vectors: VectorIndex, *, keywords_changed: bool = False) -> None:
    """Bring the vector file and the manifest up to date with the database; needs the writer lock."""
    with database.reading() as connection:
        snapshot = Snapshot.of(connection)
        old = read_manifest(database.folder)
        if old and old.index != snapshot.index:
            old = None
        kept = entry = old.vectors if old else None
        if snapshot.dimension and not (entry and vectors.is_current(snapshot, entry)):
            entry = vectors.save(snapshot)
        words = old.words if old and old.format == FORMAT and not keywords_changed else None
        if words is None or words.reached != snapshot.reached:
            words = _keyword_entry(snapshot)
        roots = get_roots(connection)
        manifest = Manifest(
            format=FORMAT,
            index=snapshot.index,
            roots={percent_encoded(path): kind for path, kind in roots.kinds.items()},
            follow_links=sorted(map(percent_encoded, roots.followed)),
            excluded=sorted(roots.excluded),
            vectors=entry,
            words=words,
        )
        if manifest != old:
            write_atomically(database.folder / MANIFEST, manifest.model_dump_json(indent=1).encode())
    if entry and entry != kept:
        with database.writing() as connection:
            # The saved file no longer has these passages.
            connection.execute("DELETE FROM removed WHERE number <= ?", (entry.reached.removal,))


def keyword_index_is_intact(folder: Path, snapshot: Snapshot) -> bool:
    """False if the keyword index differs from its checksum; True if the checksum is out of date, as during a write."""
    manifest = read_manifest(folder)
    if manifest is None or (manifest.format, manifest.index) != (FORMAT, snapshot.index):
        return True
    words = manifest.words
    return words is None or words.reached != snapshot.reached or words == _keyword_entry(snapshot)


def _keyword_entry(snapshot: Snapshot) -> Words:
    return Words(seal=keyword_index_seal(snapshot.connection), reached=snapshot.reached)
