"""FAISS indexes: exact search while that is fast, then inverted lists (IVF) with 8-bit scalar quantization."""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import faiss
import numpy as np
import numpy.typing as npt

from retrieval.unit_vectors import Vectors

Index: TypeAlias = faiss.IndexIDMap2 | faiss.IndexIVFScalarQuantizer

Ids: TypeAlias = npt.NDArray[np.int64]

EXACT = 50_000  # vectors up to which search is exact: some 10 ms, and 77 MB
_LISTS = 4  # times the square root of the number of vectors
_TRAINED = 40  # training vectors per list
_ROUNDS = 8  # of k-means
_PROBED = 0.08  # share of the lists that are searched
_MIN_PROBED = 96


def make(dimension: int, passages: int, sample: Callable[[int], Vectors]) -> Index:
    """Return an empty index that suits this number of passages; ``sample`` gives vectors to train on.

    A large index has inverted lists, not an HNSW graph, since vectors can be removed from lists. A query takes half a
    millisecond; at the same recall a graph takes a third of that, but four times as long to build.
    """
    if passages <= EXACT:
        return faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))
    lists = lists_for(passages)
    index = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(dimension), dimension, lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    index.cp.niter = _ROUNDS
    index.cp.max_points_per_centroid = _TRAINED
    index.cp.min_points_per_centroid = 1
    index.train(sample(_TRAINED * lists))
    return index


def lists_for(passages: int) -> int:
    """Return how many inverted lists suit this number of vectors."""
    return max(1, int(_LISTS * passages**0.5))


def suits(index: Index, passages: int) -> bool:
    """True if the kind and the number of lists of an index still suit this number of passages."""
    if isinstance(index, faiss.IndexIDMap2):
        return passages <= 2 * EXACT
    return passages > EXACT / 2 and lists_for(passages) / 3 <= index.nlist <= 3 * lists_for(passages)


def search(index: Index, query: Vectors, count: int, only: Ids | None = None) -> list[int]:
    """Return the ids of the ``count`` nearest vectors, nearest first; ``only`` restricts the search to these ids."""
    count = min(count, index.ntotal if only is None else len(only))
    if count < 1:
        return []
    if isinstance(index, faiss.IndexIDMap2):
        options = faiss.SearchParameters()
    else:
        options = faiss.SearchParametersIVF()
        share = 1.0 if only is None else index.ntotal / len(only)
        options.nprobe = min(index.nlist, int(max(_MIN_PROBED, _PROBED * index.nlist) * share))
    if only is not None:
        bits = np.zeros(int(only.max()) + 1, dtype=bool)
        bits[only] = True
        selector: Any = faiss.IDSelectorBitmap  # its type stub has the C++ constructor
        options.sel = selector(np.packbits(bits, bitorder="little"))
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # more gain little for one query, and wait for each other on a busy machine
    try:
        _, ids = index.search(query, count, params=options)
    finally:
        faiss.omp_set_num_threads(threads)  # OpenMP keeps the limit per calling thread
    return [int(id_) for id_ in ids[0] if id_ >= 0]


def deserialize(data: npt.NDArray[np.uint8], dimension: int) -> Index | None:
    """Return the index that was serialized, or ``None`` if it cannot be read or has vectors of another length.

    FAISS's reader is not safe for untrusted bytes: verify the checksum first.
    """
    try:
        index = cast(Index, faiss.deserialize_index(data))
    except RuntimeError:
        return None
    return index if index.d == dimension else None
