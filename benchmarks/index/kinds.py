"""Kinds of approximate index side by side: how long each takes to build and to search, how large it is, what it finds.

    python -m benchmarks.index.kinds [--passages 100000] [--texts … --vectors … --questions …]

Each is searched more and more widely until it finds 0.95 of the ten nearest, with the fifty candidates ranked by their
exact cosine, as the store does it. HNSW cannot remove a vector: what it takes to do without one is a new graph.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.figures import FOLDER, write_figures
from benchmarks.index.corpus import DIMENSION, corpus_of, corpus_options
from retrieval.index import faiss_index as nearest
from retrieval.index.vector_rows import Vectors

TOP, CANDIDATES = 10, 50
ENOUGH = 0.95
WIDTHS = (16, 32, 64, 96, 128, 192, 256, 384, 512)


def main() -> int:
    """Build each kind, search it, print a row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.index.kinds")
    parser.add_argument("--passages", type=int, default=100_000)
    corpus_options(parser)
    options = parser.parse_args()
    corpus = corpus_of(options, FOLDER / f"kinds-{options.passages}", 200)
    vectors = np.concatenate([block for _, block in corpus.blocks(options.passages)])
    _, asked = corpus.asked()
    wanted = _exact(vectors, asked)
    rows = [_measured(name, make, vectors, asked, wanted) for name, make in _kinds(vectors).items()]
    print(
        f"{len(vectors):,} vectors{'build':>14}{'MB':>8}{'recall@10':>11}{'at width':>10}{'median':>11}{'removes':>9}"
    )
    for row in rows:
        print(
            f"{row['kind']:17}{row['build_seconds']:>11.1f} s{row['bytes'] / 1e6:>8.0f}{row['recall']:>11.3f}"
            f"{row['width']:>10}{1000 * row['median_seconds']:>8.2f} ms{'yes' if row['removes'] else 'no':>9}"
        )
    write_figures("index_kinds", {"passages": len(vectors), "kinds": rows})
    return 0


def _kinds(vectors: Vectors) -> dict[str, Callable[[], Any]]:
    import faiss as library

    faiss: Any = library  # the stubs have C++'s constructors

    def lists() -> Any:
        chance = np.random.default_rng(0)
        index: Any = nearest.make(
            DIMENSION, len(vectors), lambda count: vectors[np.sort(chance.permutation(len(vectors))[:count])]
        )
        index.add_with_ids(vectors, np.arange(len(vectors)))
        return index

    def graph(links: int, *, small: bool) -> Any:
        metric = faiss.METRIC_INNER_PRODUCT
        kind = faiss.ScalarQuantizer.QT_8bit
        made: Any = (
            faiss.IndexHNSWSQ(DIMENSION, kind, links, metric)
            if small
            else faiss.IndexHNSWFlat(DIMENSION, links, metric)
        )
        made.hnsw.efConstruction = 100
        made.train(vectors)
        made.add(vectors)
        return made

    return {
        "lists, 8 bits": lists,
        "HNSW 16, 8 bits": lambda: graph(16, small=True),
        "HNSW 32, 8 bits": lambda: graph(32, small=True),
        "HNSW 32": lambda: graph(32, small=False),
    }


def _measured(name: str, make: Callable[[], Any], vectors: Vectors, asked: Vectors, wanted: Vectors) -> dict[str, Any]:
    import faiss

    threads = faiss.omp_get_max_threads()
    begun = time.perf_counter()
    index = make()
    built = time.perf_counter() - begun
    faiss.omp_set_num_threads(1)
    try:
        for width in WIDTHS:
            if hasattr(index, "nprobe"):
                index.nprobe = width
            else:
                index.hnsw.efSearch = width
            recall, seconds = _searched(index, vectors, asked, wanted)
            if recall >= ENOUGH:
                break
    finally:
        faiss.omp_set_num_threads(threads)
    print(f"{name}: {built:.1f} s", file=sys.stderr)
    return {
        "kind": name,
        "build_seconds": built,
        "bytes": len(faiss.serialize_index(index)),
        "recall": recall,
        "width": width,
        "median_seconds": seconds,
        "removes": hasattr(index, "nprobe"),
    }


def _searched(index: Any, vectors: Vectors, asked: Vectors, wanted: Any) -> tuple[float, float]:
    hits, times = 0, []
    for query, right in zip(asked, wanted, strict=True):
        begun = time.perf_counter()
        _, ids = index.search(query[np.newaxis], CANDIDATES)
        times.append(time.perf_counter() - begun)
        found = ids[0][ids[0] >= 0]
        best = found[np.argsort(-(vectors[found] @ query))[:TOP]]
        hits += len(set(best.tolist()) & set(right.tolist()))
    return hits / (TOP * len(asked)), float(np.median(times))


def _exact(vectors: Vectors, asked: Vectors) -> Any:
    import faiss

    index: Any = faiss.IndexFlatIP(DIMENSION)
    index.add(vectors)
    _, ids = index.search(asked, TOP)
    return ids


if __name__ == "__main__":
    sys.exit(main())
