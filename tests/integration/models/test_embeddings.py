from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from models import model_files as files
from models.embeddings import DIMENSION, MiniLM
from tests.command_line import MODELS_FOLDER


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM(*(files.ensure(file, MODELS_FOLDER) for file in (files.EMBEDDING_MODEL, files.TOKENIZER)))


def cosine(left: list[float], right: list[float]) -> float:
    return float(np.dot(left, right))


def test_like_sentences_are_closer_than_unlike_ones(minilm: MiniLM) -> None:
    cat, kitten, stocks = minilm.embed_documents(
        ["A cat sat on the mat.", "A kitten was sitting on a rug.", "Stock markets fell sharply."]
    )
    assert cosine(cat, kitten) > 0.5 > 0.2 > cosine(cat, stocks)


@pytest.mark.parametrize("text", ["", " \n", "word", "word " * 5000, "中文 🙂", "x" * 10_000, "lone \udcff"])
def test_every_text_has_a_vector_of_length_one(minilm: MiniLM, text: str) -> None:
    vector = minilm.embed_query(text)
    assert len(vector) == DIMENSION
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_text_has_the_same_vector_in_whatever_company(minilm: MiniLM) -> None:
    texts = ["short", "of middling length, this one is", *(f"number {n} " * n for n in range(30))]
    together = minilm.embed_documents(texts)
    for text, vector in zip(texts, together, strict=True):
        assert cosine(vector, minilm.embed_query(text)) > 0.9999
    assert minilm.embed_documents([]) == []


def test_only_the_first_tokens_count(minilm: MiniLM) -> None:
    assert minilm.embed_query("cat " * 254) == minilm.embed_query("cat " * 254 + "dog " * 100)
    assert minilm.embed_query("cat " * 200) != minilm.embed_query("cat " * 200 + "dog " * 50)


def test_threads_do_not_disturb_one_another(minilm: MiniLM) -> None:
    texts = [f"The number {n} is mentioned here." for n in range(16)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(minilm.embed_query, texts)) == [minilm.embed_query(text) for text in texts]
