"""A small embedding model that is the same on every machine and counts what it is asked, and a store of texts."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from benchmarks.index.texts import put_texts
from retrieval.index.store import PassageStore
from retrieval.store import Model


class BagOfWords(Embeddings):
    """Hash each word to a direction: texts that share words are near. Another salt is another model.

    ``before`` is called, with the model, before texts are embedded.
    """

    def __init__(
        self, dimension: int = 64, salt: str = "", *, before: Callable[["BagOfWords"], object] | None = None
    ) -> None:
        self.dimension = dimension
        self.salt = salt
        self.before = before
        self.texts: list[str] = []
        self.calls: list[int] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.before:
            self.before(self)
        self.texts += texts
        self.calls.append(len(texts))
        return [self.vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.vector(text)

    def vector(self, text: str) -> list[float]:
        total = np.zeros(self.dimension)
        for word in re.findall(r"\w+", text.lower()) or [""]:
            total += _direction(self.salt + word, self.dimension)
        return list(total / np.linalg.norm(total))


@contextmanager
def store_of(
    texts: Sequence[str],
    folder: Path,
    metadatas: Sequence[Mapping[str, Any]] = (),
    *,
    model: Embeddings | None = None,
) -> Iterator[PassageStore]:
    """Open a new store that holds these texts as passages."""
    with closing(PassageStore(folder, Model(model or BagOfWords(), "bow"))) as store:
        put_texts(store, texts, metadatas)
        yield store


@cache
def _direction(word: str, dimension: int) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:4], "big")
    return np.random.default_rng(seed).standard_normal(dimension)
