"""What a filter lets through is what is compared, and the nearest are the nearest of that."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.index.corpus import drawn, units
from benchmarks.index.exact import FILES, SHARES, TOP, file_name, first_of, nearest
from benchmarks.index.scale import _violated, _write_documents
from retrieval.filters import matching

PASSAGES = 2_500


def test_the_nearest_of_each_share_are_those_of_the_files_that_its_filter_lets_through(tmp_path: Path) -> None:
    corpus = drawn(tmp_path / "corpus", PASSAGES, 3)
    _write_documents(tmp_path / "documents", corpus, PASSAGES)
    found = nearest(corpus, PASSAGES, 3, tmp_path / "nearest.json")
    ((texts, vectors),) = corpus.blocks(PASSAGES)
    _, asked = corpus.asked()
    paths = [(number, str(tmp_path / "documents" / file_name(number)).encode()) for number in range(FILES)]
    for share, only in SHARES.items():
        allowed = set()
        for number in matching(paths, only.sources if only else ()):
            lines = (tmp_path / "documents" / file_name(number)).read_text().splitlines()
            allowed |= {json.loads(line)["text"] for line in lines}
        places = [place for place, text in enumerate(texts) if text in allowed]
        assert len(places) == first_of({"all": 1_000, "10 %": 100, "1 %": 10, "0.1 %": 1}[share], PASSAGES)
        for question, row in enumerate(found.texts[share]):
            scores = units(vectors)[places] @ asked[question]
            assert list(row) == [texts[places[at]] for at in np.argsort(-scores)[:TOP]]
        assert found.recall(share, found.texts[share]) == 1
        assert found.recall(share, [[] for _ in found.texts[share]]) == 0
    assert nearest(corpus, PASSAGES, 3, tmp_path / "nearest.json").texts == found.texts


@pytest.mark.parametrize(
    ("recall", "times", "violated"),
    [
        (0.95, 2.0, []),
        (0.94, 2.0, ["PostgreSQL finds 0.940 of the nearest ten of 10 %"]),
        (0.95, 2.1, ["PostgreSQL takes 2.10 times as long: hybrid, all"]),
    ],
)
def test_what_misses_an_aim_is_named(recall: float, times: float, violated: list[str]) -> None:
    stores = {"embedded": {"recall": {"10 %": 1.0}}, "PostgreSQL": {"recall": {"10 %": recall}}}
    figures = {"stores": stores, "times": {"PostgreSQL": {"hybrid, all": times, "bm25, all": 9.0}}}
    assert _violated(figures) == violated
