import faiss
import numpy as np
import pytest

from retrieval.index import faiss_index as nearest
from retrieval.index.faiss_index import Index
from retrieval.unit_vectors import Vectors

COUNT, DIMENSION = 3_000, 32


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    chance = np.random.default_rng(1)
    centres = chance.standard_normal((60, DIMENSION))
    raw = centres[chance.integers(0, 60, COUNT)] + 0.5 * chance.standard_normal((COUNT, DIMENSION))
    return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True), dtype=np.float32)


@pytest.fixture(params=["exact", "lists"])
def index(request: pytest.FixtureRequest, vectors: Vectors, monkeypatch: pytest.MonkeyPatch) -> Index:
    if request.param == "lists":
        monkeypatch.setattr(nearest, "EXACT", 1_000)
        monkeypatch.setattr(nearest, "_MIN_PROBED", 24)
    made = nearest.make(DIMENSION, COUNT, lambda count: vectors[:count])
    made.add_with_ids(vectors, np.arange(10, 10 + COUNT))
    assert hasattr(made, "nlist") == (request.param == "lists")
    return made


def recall(index: Index, vectors: Vectors, only: np.ndarray | None = None) -> float:
    among = np.arange(10, 10 + COUNT) if only is None else only
    hits = 0
    for number in range(0, COUNT, 100):
        query = vectors[number : number + 1]
        best = among[np.argsort(-vectors[among - 10] @ query[0])[:10]]
        hits += len(set(best.tolist()) & set(nearest.search(index, query, 10, only)))
    return hits / (10 * COUNT / 100)


def test_the_nearest_are_found_also_among_a_few(index: Index, vectors: Vectors) -> None:
    assert recall(index, vectors) >= 0.85
    assert recall(index, vectors, np.arange(10, 10 + COUNT, 7)) >= 0.85
    assert nearest.search(index, vectors[:1], 10, np.array([500])) == [500]
    assert nearest.search(index, vectors[:1], 10, np.array([], dtype=np.int64)) == []


def test_an_index_comes_back_from_its_bytes(index: Index, vectors: Vectors) -> None:
    again = nearest.deserialize(faiss.serialize_index(index), DIMENSION)
    assert again is not None
    assert nearest.search(again, vectors[5:6], 10) == nearest.search(index, vectors[5:6], 10)
    assert nearest.deserialize(faiss.serialize_index(index), DIMENSION + 1) is None
    assert nearest.deserialize(np.frombuffer(b"no index" * 9, dtype=np.uint8), DIMENSION) is None
