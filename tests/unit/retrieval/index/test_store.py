"""The store keeps LangChain's contract, finds by words and by meaning, and repeats nothing."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

from benchmarks.index.texts import put_texts
from core.errors import ModelError
from retrieval.index.store import PassageStore
from tests.unit.retrieval.fakes import BagOfWords, store_of

TEXTS = [
    "Points on a mortgage are fees paid to the lender.",
    "Aspirin has a molecular weight of 180.16.",
    "The invoice XJ-4711 was paid in May.",
    "Running shoes help runners who run.",
]


class Meaning(Embeddings):
    """Know two things: a text is about feelings or it is not."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        about_feelings = any(word in text.lower() for word in ("joy", "glad", "happy"))
        return [1.0, 0.0] if about_feelings else [0.0, 1.0]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PassageStore]:
    with PassageStore.open(tmp_path, BagOfWords(), embedding_name="bow") as store:
        put_texts(store, TEXTS, [{"source": f"s{index}", "page": index + 1} for index in range(4)])
        yield store


def test_a_passage_found_says_where_it_is_from_and_how_near(store: PassageStore) -> None:
    (found,) = store.similarity_search("points on a mortgage", k=1)
    assert found.page_content == TEXTS[0]
    assert found.id == found.metadata["id"] == "1"
    assert {key: found.metadata[key] for key in ("source", "page", "row", "offset")} == {
        "source": "s0",
        "page": 1,
        "row": None,
        "offset": None,
    }
    assert found.metadata["score"] == 1.0
    assert 0.3 < found.metadata["similarity"] < 1


def test_an_unknown_way_of_searching_is_an_error(store: PassageStore) -> None:
    with pytest.raises(ValueError, match="search is 'magic'"):
        store.similarity_search("x", search="magic")  # type: ignore[arg-type]


def test_a_store_is_searched_as_it_was_opened_where_a_call_does_not_say(tmp_path: Path) -> None:
    with PassageStore.open(tmp_path, BagOfWords(), embedding_name="bow", search="bm25") as store:
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


def test_copies_do_not_fill_the_places(tmp_path: Path) -> None:
    copies = ["The same  mortgage text."] * 300 + ["the same mortgage TEXT."] * 5
    with store_of([*copies, *TEXTS], tmp_path) as store:
        for search in ("hybrid", "vectors"):
            found = store.similarity_search("the same mortgage text", k=4, search=search)  # type: ignore[arg-type]
            assert len({" ".join(d.page_content.lower().split()) for d in found}) == 4


async def test_a_retriever_takes_k_for_each_call(store: PassageStore) -> None:
    retriever = store.as_retriever()
    assert len(await retriever.ainvoke("mortgage")) == 4
    assert len(await retriever.ainvoke("mortgage", k=2)) == 2
    assert len(retriever.invoke("mortgage", k=3)) == 3
    (only,) = await retriever.ainvoke("aspirin", k=1, search="bm25")
    assert only.page_content == TEXTS[1]


def test_a_retriever_may_demand_a_score(store: PassageStore) -> None:
    retriever = store.as_retriever(search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.9})
    assert [document.page_content for document in retriever.invoke("points on a mortgage")] == [TEXTS[0]]


def test_a_model_that_gives_nonsense_is_named(tmp_path: Path) -> None:
    class Broken(BagOfWords):
        def vector(self, text: str) -> list[float]:
            return [float("nan")] * 4

    with PassageStore.open(tmp_path, Broken(), embedding_name="broken") as store:
        with pytest.raises(ModelError, match="embedding model broken"):
            put_texts(store, ["x"])
        assert store.passage("1") is None


async def test_many_threads_read_while_one_writes(store: PassageStore) -> None:
    retriever = store.as_retriever()

    async def ask() -> int:
        return len(await retriever.ainvoke("points on a mortgage", k=4))

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(lambda: [put_texts(store, [f"extra text {number}"]) for number in range(20)])
        counts = await asyncio.gather(*(ask() for _ in range(60)))
        writing.result()
    assert set(counts) == {4}
    assert len(store.similarity_search("extra text", k=50)) == 24
