"""FAISS indexes: exact while that is fast, then inverted lists of vectors in a byte a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from retrieval.index.vector_rows import Vectors

if TYPE_CHECKING:
    import faiss

    Index: TypeAlias = faiss.IndexIDMap2 | faiss.IndexIVFScalarQuantizer

Ids: TypeAlias = npt.NDArray[np.int64]

EXACT = 50_000  # vectors up to which every one is compared with the query: some 10 ms, and 77 MB
_LISTS = 4  # times the root of the number of vectors
_TRAINED = 40  # vectors for each list that its centre is learnt from
_ROUNDS = 8  # of k-means
_PROBED = 0.08  # of the lists are searched, at least
_LEAST_PROBED = 96


def make(dimension: int, passages: int, sample: Callable[[int], Vectors]) -> Index:
    """Return an empty index that suits so many passages; ``sample`` gives vectors to learn from.

    Lists, and not HNSW's graph, because vectors can be removed from them. A graph finds as many in a
    third of the half millisecond, and takes four times as long to build (``benchmarks.index.kinds``).
    """
    import faiss

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
    """Return how many lists suit so many vectors."""
    return max(1, int(_LISTS * passages**0.5))


def most_bytes(dimension: int, passages: int) -> int:
    """Return how many bytes an index of so many vectors has at most, of either kind, when it is dumped."""
    lists = 3 * lists_for(passages)  # beyond which `suits` has it made anew
    return (passages + lists) * (4 * dimension + 64) + 1_000_000


def suits(index: Index, passages: int) -> bool:
    """Whether the kind and the lists of an index are still fit for so many passages."""
    import faiss

    if isinstance(index, faiss.IndexIDMap2):
        return passages <= 2 * EXACT
    return passages > EXACT / 2 and lists_for(passages) / 3 <= index.nlist <= 3 * lists_for(passages)


def search(index: Index, query: Vectors, count: int, only: Ids | None = None) -> list[int]:
    """Return the ids of the ``count`` nearest vectors, of all or of those with the ids in ``only``."""
    import faiss

    count = min(count, index.ntotal if only is None else len(only))
    if count < 1:
        return []
    if isinstance(index, faiss.IndexIDMap2):
        options = faiss.SearchParameters()
    else:
        options = faiss.SearchParametersIVF()
        share = 1.0 if only is None else index.ntotal / len(only)
        options.nprobe = min(index.nlist, int(max(_LEAST_PROBED, _PROBED * index.nlist) * share))
    if only is not None:
        options.sel = _selector(only)
    with _threads(1):  # of one query two have little, and wait long for each other on a busy machine
        _, ids = index.search(query, count, params=options)
    return [int(id_) for id_ in ids[0] if id_ >= 0]


def remove(index: Index, ids: Sequence[int]) -> None:
    """Take vectors out; ids that are not in it do no harm."""
    import faiss

    if ids:
        index.remove_ids(faiss.IDSelectorBatch(np.asarray(ids, dtype=np.int64)))


def dump(index: Index) -> npt.NDArray[np.uint8]:
    """Return the index as bytes."""
    import faiss

    data: npt.NDArray[np.uint8] = faiss.serialize_index(index)
    return data


def undump(data: npt.NDArray[np.uint8], dimension: int) -> Index | None:
    """Return the index that was dumped, or ``None`` if it is of no known kind.

    FAISS's reader is not made for hostile bytes: give it only those whose checksum is right.
    """
    import faiss

    try:
        index = faiss.deserialize_index(data)
    except RuntimeError:
        return None
    if index.d != dimension or index.metric_type != faiss.METRIC_INNER_PRODUCT:
        return None
    if isinstance(index, faiss.IndexIDMap2):
        return index if isinstance(faiss.downcast_index(index.index), faiss.IndexFlatIP) else None
    if isinstance(index, faiss.IndexIVFScalarQuantizer):
        return index
    return None


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """Let FAISS use so many threads; OpenMP keeps the number for each thread that calls it."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(number)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _selector(ids: Ids) -> Any:
    """Select by a bit for each id up to the highest."""
    import faiss

    bits = np.zeros(int(ids.max()) + 1, dtype=bool)
    bits[ids] = True
    selects: Any = faiss.IDSelectorBitmap  # its stub has the constructor of C++
    return selects(np.packbits(bits, bitorder="little"))
