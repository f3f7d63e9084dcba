"""Embed texts as unit vectors."""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from core.errors import ModelError, RequestError
from retrieval.store import Model

BATCH = 64  # texts per call

Vectors = npt.NDArray[np.float32]


class OtherDimensionError(RequestError):
    """The model of the same name now gives vectors of another dimension."""


def text_hash(text: str) -> bytes:
    """Return the key under which the vector of a text is reused: equal texts have equal vectors."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def embed_texts(model: Model, texts: list[str]) -> Vectors:
    """Return a vector for each text, of shape (texts, dimension)."""
    return _checked(model.embeddings.embed_documents(texts), len(texts), model.name)


def embed_query(model: Model, query: str) -> Vectors:
    """Return the query's vector, of shape (1, dimension)."""
    return _checked([model.embeddings.embed_query(query)], 1, model.name)


def _checked(raw: Sequence[Sequence[float]], count: int, name: str) -> Vectors:
    """Check vectors and scale them to unit length; a zero vector stays zero. Raises ``ModelError``."""
    if len(raw) != count or not count or len({len(vector) for vector in raw}) != 1 or not len(raw[0]):
        raise ModelError(f"The embedding model {name} did not give one vector for each text: name another.")
    vectors = np.asarray(raw, dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise ModelError(f"The embedding model {name} gave a vector that is no number: name another.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
