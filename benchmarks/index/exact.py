"""Find the exact nearest passages, of all and of those that a filter lets through, by comparing all vectors."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.harness import show_progress
from benchmarks.index.corpus import Corpus, units
from retrieval.filters import Filter
from retrieval.unit_vectors import Vectors

TOP = 10
FILES = 1_000  # of a library: the passages are spread evenly over them, in order
# Patterns of the files' names, by the share of the passages that they let through.
SHARES: Mapping[str, Filter | None] = {
    "all": None,
    "10 %": Filter(sources=("0??.jsonl",)),
    "1 %": Filter(sources=("00?.jsonl",)),
    "0.1 %": Filter(sources=("000.jsonl",)),
}
Nearest = Mapping[str, Sequence[Sequence[str]]]  # texts by share and question
_PARTS = {"all": 1, "10 %": 10, "1 %": 100, "0.1 %": 1_000}


def recall_of(nearest: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    """Return the share of the nearest passages to the first questions that were found."""
    nearest = nearest[: len(found)]
    hits = sum(len(set(one) & set(other)) for one, other in zip(nearest, found, strict=True))
    return hits / sum(len(set(one)) for one in nearest)


def file_name(number: int) -> str:
    """Return the name of a file of the library."""
    return f"{number:03d}.jsonl"


def first_of(number: int, passages: int) -> int:
    """Return the first passage of a file; the last file ends where the next would begin."""
    return number * passages // FILES


def nearest(corpus: Corpus, passages: int, asked: int, kept: Path) -> Nearest:
    """Compare all vectors, or read the result of an earlier run from ``kept``; return the ``TOP`` texts."""
    if kept.exists():
        return dict(json.loads(kept.read_text(encoding="utf-8")))
    _, vectors = corpus.asked()
    vectors = units(vectors[:asked])
    best: dict[str, list[list[tuple[float, str]]]] = {share: [[] for _ in vectors] for share in SHARES}
    start = 0
    for texts, block in corpus.blocks(passages):
        show_progress(f"comparing {start + len(texts):,} vectors")
        scores = vectors @ units(block).T
        for share, parts in _PARTS.items():
            end = first_of(FILES // parts, passages) - start  # the filters let the first files through
            if end > 0:
                best[share] = [_merged(rows, row[:end], texts) for rows, row in zip(best[share], scores, strict=True)]
        start += len(texts)
    found = {share: [[text for _, text in row] for row in rows] for share, rows in best.items()}
    kept.write_text(json.dumps(found), encoding="utf-8")
    return found


def _merged(best: list[tuple[float, str]], scores: Vectors, texts: Sequence[str]) -> list[tuple[float, str]]:
    places = np.argpartition(-scores, TOP)[:TOP] if len(scores) > TOP else range(len(scores))
    return sorted([*best, *((float(scores[at]), texts[at]) for at in places)], reverse=True)[:TOP]
