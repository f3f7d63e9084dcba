"""A fast deterministic embedding model, for figures that do not depend on semantics."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

NAME = "bag-of-words"
DIMENSION = 128
WORD = re.compile(r"\w+")


class BagOfWords(Embeddings):
    """Hash each word to a direction: texts that share words are near. ``embedded`` counts the documents' texts."""

    def __init__(self) -> None:
        self.embedded = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts that are to be found."""
        self.embedded += len(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Embed a question."""
        total = sum((_direction(word) for word in WORD.findall(text.lower()) or [""]), np.zeros(DIMENSION))
        vector: list[float] = (total / np.linalg.norm(total)).tolist()
        return vector


@lru_cache(maxsize=100_000)
def _direction(word: str) -> npt.NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(DIMENSION)
