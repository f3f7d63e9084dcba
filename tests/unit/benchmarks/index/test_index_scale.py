import json
from pathlib import Path

import numpy as np

from benchmarks.index.corpus import drawn, units
from benchmarks.index.exact import FILES, SHARES, TOP, file_name, first_of, nearest, recall_of
from benchmarks.index.scale import _write_documents
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
        for question, row in enumerate(found[share]):
            scores = units(vectors)[places] @ asked[question]
            assert list(row) == [texts[places[at]] for at in np.argsort(-scores)[:TOP]]
        assert recall_of(found[share], found[share]) == 1
        assert recall_of(found[share], [[] for _ in found[share]]) == 0
    assert nearest(corpus, PASSAGES, 3, tmp_path / "nearest.json") == found
