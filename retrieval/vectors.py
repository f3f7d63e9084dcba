"""Nearest-neighbour search with FAISS, over an index that is derived from the database."""

import hashlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from retrieval.embed import Vectors
from retrieval.manifest import Vectors as VectorsEntry
from retrieval.manifest import read_manifest, write_in_one_step
from retrieval.state import Snapshot
from retrieval.vector_rows import passage_ids, vectors_of

if TYPE_CHECKING:
    import faiss

NAME = "vectors.faiss"


class VectorIndex:
    """Exact search by cosine over unit vectors, by passage id.

    The index in memory always agrees with the snapshot it is asked with: what differs is taken out
    or put in before the search. ``mended`` says that the file was not the one that was written.
    """

    def __init__(self, folder: Path) -> None:
        """Search what lies in ``folder``; nothing is read yet."""
        self.folder = folder
        self.mended = False
        self._index: faiss.IndexIDMap2 | None = None
        self._state = ("", -1)  # index and generation that the memory agrees with
        self._guard = threading.Lock()

    def search(self, snapshot: Snapshot, query: Vectors, count: int) -> list[tuple[int, float]]:
        """Return the ``count`` nearest passages as (id, cosine), the nearest first."""
        with self._guard:
            index = self._agreed(snapshot)
            scores, ids = index.search(query, max(1, min(count, index.ntotal)))
        return [(int(id_), float(score)) for id_, score in zip(ids[0], scores[0], strict=True) if id_ >= 0]

    def save(self, snapshot: Snapshot) -> VectorsEntry:
        """Write the index of this snapshot to its file, in one step, and say what was written."""
        import faiss

        with self._guard:
            index = self._agreed(snapshot)
            data = faiss.serialize_index(index).tobytes()
            write_in_one_step(self.folder / NAME, data)
            self.mended = False
            return VectorsEntry(
                sha256=hashlib.sha256(data).hexdigest(),
                generation=snapshot.generation,
                passages=index.ntotal,
            )

    def has_file(self) -> bool:
        """Whether there is a vector file at all."""
        return (self.folder / NAME).is_file()

    def _agreed(self, snapshot: Snapshot) -> "faiss.IndexIDMap2":
        """Return the index, brought in step with the snapshot."""
        if self._index is None or self._index.d != snapshot.dimension or self._state[0] != snapshot.index:
            self._index, self._state = self._begin(snapshot)
        if self._state != (snapshot.index, snapshot.generation):
            self._state = (snapshot.index, -1)  # until all of it is done
            _bring_in_step(self._index, snapshot)
            self._state = (snapshot.index, snapshot.generation)
        return self._index

    def _begin(self, snapshot: Snapshot) -> tuple["faiss.IndexIDMap2", tuple[str, int]]:
        """Begin with the file's index, of whatever generation, or with an empty one."""
        import faiss

        manifest = read_manifest(self.folder)
        if manifest and manifest.index == snapshot.index and manifest.vectors:
            index = _read(self.folder / NAME, manifest.vectors, snapshot.dimension)
            if index is not None:
                return index, (snapshot.index, manifest.vectors.generation)
        self.mended = True
        return faiss.IndexIDMap2(faiss.IndexFlatIP(snapshot.dimension)), (snapshot.index, -1)


def _bring_in_step(index: "faiss.IndexIDMap2", snapshot: Snapshot) -> None:
    import faiss

    present = set(faiss.vector_to_array(index.id_map).tolist())
    wanted = passage_ids(snapshot.connection)
    if gone := present.difference(wanted):
        index.remove_ids(faiss.IDSelectorBatch(np.fromiter(gone, dtype=np.int64)))
    missing = [id_ for id_ in wanted if id_ not in present]
    for ids, vectors in vectors_of(snapshot.connection, missing, snapshot.dimension):
        index.add_with_ids(vectors, np.array(ids, dtype=np.int64))


def _read(path: Path, expected: VectorsEntry, dimension: int) -> "faiss.IndexIDMap2 | None":
    """Read the file if its checksum is the expected one: FAISS's reader is not made for hostile bytes."""
    import faiss

    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data).hexdigest() != expected.sha256:
        return None
    try:
        index = faiss.deserialize_index(np.frombuffer(data, dtype=np.uint8))
    except RuntimeError:
        return None
    if not isinstance(index, faiss.IndexIDMap2) or index.ntotal != expected.passages:
        return None
    flat = faiss.downcast_index(index.index)
    fits = isinstance(flat, faiss.IndexFlatIP) and flat.d == dimension and flat.ntotal == index.ntotal
    return index if fits else None
