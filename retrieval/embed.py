"""Embed texts in batches, as vectors of unit length."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

from errors import ModelError

BATCH = 64  # texts a call
METRIC = "cosine, as the inner product of unit vectors"

Vectors = npt.NDArray[np.float32]


def embed_texts(embeddings: Embeddings, texts: Sequence[str], name: str) -> Iterator[Vectors]:
    """Yield the vectors of up to ``BATCH`` texts at a time; ``name`` is the model's, for messages."""
    for start in range(0, len(texts), BATCH):
        batch = list(texts[start : start + BATCH])
        yield _checked(embeddings.embed_documents(batch), len(batch), name)


def embed_query(embeddings: Embeddings, query: str, name: str) -> Vectors:
    """Return the query's vector, as a table of one row."""
    return _checked([embeddings.embed_query(query)], 1, name)


def _checked(raw: Sequence[Sequence[float]], count: int, name: str) -> Vectors:
    """Bring vectors to unit length; a vector of zeros stays one."""
    if len(raw) != count or not count or len({len(vector) for vector in raw}) != 1 or not len(raw[0]):
        raise ModelError(f"The embedding model {name} did not give one vector for each text: name another.")
    vectors = np.asarray(raw, dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise ModelError(f"The embedding model {name} gave a vector that is no number: name another.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
