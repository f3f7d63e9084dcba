"""Embed texts as unit vectors, each distinct text once."""

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

from core.errors import ModelError, RequestError
from retrieval.store import Model

BATCH = 64  # texts per call
_SPARE = 8  # batches after which the vectors of a partly embedded file are saved

Vectors = npt.NDArray[np.float32]


class OtherDimensionError(RequestError):
    """The model of the same name now gives vectors of another dimension."""


def text_hash(text: str) -> bytes:
    """Return the key under which the vector of a text is reused: equal texts have equal vectors."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def embed_new(
    model: Model,
    texts: Sequence[str],
    known: Mapping[bytes, Vectors],
    check: Callable[[Vectors], None],
    save: Callable[[Mapping[bytes, Vectors]], None],
) -> Vectors:
    """Return a vector for each text, shape (texts, dimension), embedding those whose hash is not ``known``.

    ``check`` is called with each batch; ``save`` with hundreds of new vectors by hash, while more are to be embedded,
    so that an interrupted run embeds no text twice.
    """
    hashes = [text_hash(text) for text in texts]
    found = dict(known)
    missing = [(hash_, text) for hash_, text in dict(zip(hashes, texts, strict=True)).items() if hash_ not in found]
    unsaved: dict[bytes, Vectors] = {}
    for start in range(0, len(missing), BATCH):
        if len(unsaved) >= _SPARE * BATCH:
            save(unsaved)
            unsaved = {}
        batch = missing[start : start + BATCH]
        vectors = _checked(model.embeddings.embed_documents([text for _, text in batch]), len(batch), model.name)
        check(vectors)
        unsaved |= zip((hash_ for hash_, _ in batch), vectors, strict=True)
        found |= unsaved
    return np.stack([found[hash_] for hash_ in hashes])


def embed_query(embeddings: Embeddings, query: str, name: str) -> Vectors:
    """Return the query's vector, of shape (1, dimension)."""
    return _checked([embeddings.embed_query(query)], 1, name)


def _checked(raw: Sequence[Sequence[float]], count: int, name: str) -> Vectors:
    """Check vectors and scale them to unit length; a zero vector stays zero. Raises ``ModelError``."""
    if len(raw) != count or not count or len({len(vector) for vector in raw}) != 1 or not len(raw[0]):
        raise ModelError(f"The embedding model {name} did not give one vector for each text: name another.")
    vectors = np.asarray(raw, dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise ModelError(f"The embedding model {name} gave a vector that is no number: name another.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
