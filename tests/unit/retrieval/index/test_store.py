from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.index.texts import put_texts
from core.errors import ModelError
from retrieval.index.store import PassageStore
from retrieval.store import Model
from tests.unit.retrieval.fakes import BagOfWords, store_of

TEXTS = [
    "Points on a mortgage are fees paid to the lender.",
    "Aspirin has a molecular weight of 180.16.",
    "The invoice XJ-4711 was paid in May.",
    "Running shoes help runners who run.",
]


def test_a_model_that_gives_nonsense_is_named(tmp_path: Path) -> None:
    class Broken(BagOfWords):
        def vector(self, text: str) -> list[float]:
            return [float("nan")] * 4

    with closing(PassageStore(tmp_path, Model(Broken(), "broken"))) as store:
        with pytest.raises(ModelError, match="embedding model broken"):
            put_texts(store, ["x"])
        assert store.passage("1") is None


def test_many_threads_read_while_one_writes(tmp_path: Path) -> None:
    with store_of(TEXTS, tmp_path) as store, ThreadPoolExecutor(9) as pool:
        writing = pool.submit(lambda: [put_texts(store, [f"extra text {number}"]) for number in range(20)])
        found = list(pool.map(lambda _: len(store.similarity_search("points on a mortgage", k=4)), range(60)))
        writing.result()
        assert set(found) == {4}
        assert len(store.similarity_search("extra text", k=50)) == 24
