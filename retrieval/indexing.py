"""Embed passages, each text once, and agree with the index on the model."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from langchain_core.embeddings import Embeddings

from errors import RequestError
from retrieval.database import Database
from retrieval.embed import BATCH, Vectors, embed_texts
from retrieval.errors import shown
from retrieval.state import Snapshot, set_meta
from retrieval.vector_rows import known_vectors, put_spare_vectors, text_hash

_SPARE = 8  # batches after which the vectors of a file that is not all embedded are kept


class OtherDimensionError(RequestError):
    """The model of the same name gives longer or shorter vectors than it did."""


@dataclass(frozen=True)
class Model:
    """The embedding model and the name it is remembered by."""

    embeddings: Embeddings
    name: str


def embed_once(database: Database, model: Model, texts: Sequence[str]) -> Vectors:
    """Return a vector for each text; those that the index knows are not embedded again."""
    hashes = [text_hash(text) for text in texts]
    with database.reading() as connection:
        dimension = Snapshot.of(connection).dimension
        known = known_vectors(connection, list(dict.fromkeys(hashes)))
    missing = {hash_: text for hash_, text in zip(hashes, texts, strict=True) if hash_ not in known}
    waiting = list(missing)
    unsaved: list[bytes] = []
    for vectors in embed_texts(model.embeddings, list(missing.values()), model.name):
        dimension = dimension or vectors.shape[1]
        check_dimension(database, model, vectors, dimension)
        done, waiting = waiting[: len(vectors)], waiting[len(vectors) :]
        known |= dict(zip(done, vectors, strict=True))
        unsaved += done
        if waiting and len(unsaved) >= _SPARE * BATCH:
            with database.writing() as connection:
                agree(connection, database, model, dimension)
                put_spare_vectors(connection, ((hash_, known[hash_].tobytes()) for hash_ in unsaved))
            unsaved = []
    return np.stack([known[hash_] for hash_ in hashes])


def agree(connection: sqlite3.Connection, database: Database, model: Model, dimension: int) -> None:
    """Write down the model with the first vectors; refuse vectors of any other from then on."""
    snapshot = Snapshot.of(connection)
    if not snapshot.embedding or not snapshot.dimension:
        set_meta(connection, embedding=model.name, dimension=dimension)
    elif snapshot.embedding != model.name:
        raise RequestError(other_model(database, snapshot.embedding, model.name))


def check_dimension(database: Database, model: Model, vectors: Vectors, dimension: int) -> None:
    """Refuse vectors of another length than the index has, and have it indexed anew."""
    given = vectors.shape[1]
    if given == dimension:
        return
    if database.writable:
        with database.writing() as connection:
            set_meta(connection, dimension=0)  # no vectors are of use: the next sync sees it
    raise OtherDimensionError(
        f"The index in {shown(database.folder)} has vectors of {dimension} numbers and the embedding model "
        f"{model.name} gives {given}: index its documents again."
    )


def other_model(database: Database, old: str, new: str) -> str:
    """Say that the index was made with another model."""
    return (
        f"The index in {shown(database.folder)} was made with the embedding model {old}, not with {new}: "
        "index its documents again, or choose the first."
    )
