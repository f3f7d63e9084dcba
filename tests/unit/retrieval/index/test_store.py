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


class Meaning(BagOfWords):
    """Know two things: a text is about feelings or it is not."""

    def vector(self, text: str) -> list[float]:
        about_feelings = any(word in text.lower() for word in ("joy", "glad", "happy"))
        return [1.0, 0.0] if about_feelings else [0.0, 1.0]


def test_a_store_is_searched_as_it_was_opened_where_a_call_does_not_say(tmp_path: Path) -> None:
    with closing(PassageStore(tmp_path, Model(BagOfWords(), "bow"), search="bm25")) as store:
        put_texts(store, TEXTS)
        assert store.similarity_search("nowhere in it", k=4) == []
        assert len(store.similarity_search("nowhere in it", k=4, search="hybrid")) == 4


def test_hybrid_finds_what_only_one_side_knows(tmp_path: Path) -> None:
    texts = ["Joy is catching.", "The part XJ-4711 is grey.", "Trains run hourly.", "Bread is baked at night."]
    with store_of(texts, tmp_path, model=Meaning()) as store:
        assert store.similarity_search("XJ-4711", k=1)[0].page_content == texts[1]
        assert store.similarity_search("what makes people happy", k=1)[0].page_content == texts[0]
        assert store.similarity_search("what makes people happy", k=4, search="bm25") == []
        tied = store.similarity_search_with_score("XJ-4711", k=3, search="vectors")
        assert len({round(score, 6) for _, score in tied}) == 1


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
