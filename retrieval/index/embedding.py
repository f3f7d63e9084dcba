"""Embed passages, each distinct text once, and detect a change of embedding model or splitter."""

import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from core.errors import RequestError
from core.text import shown
from retrieval.index.database import Database
from retrieval.index.document_rows import unindex_files
from retrieval.index.schema import Snapshot, next_generation, set_meta
from retrieval.index.vector_rows import drop_spare_vectors, known_vectors, put_spare_vectors
from retrieval.settings_changes import changes, other_dimension, other_model
from retrieval.splitter import SplitSettings
from retrieval.store import Model
from retrieval.unit_vectors import OtherDimensionError, Vectors, embed_new, embed_query, text_hash


def embed_once(database: Database, model: Model, texts: Sequence[str]) -> Vectors:
    """Return a vector for each text, shape (texts, dimension); known texts are not embedded again."""
    hashes = list(dict.fromkeys(text_hash(text) for text in texts))
    with database.reading() as connection:
        dimension = Snapshot.of(connection).dimension
        known = known_vectors(connection, hashes)

    def check(vectors: Vectors) -> None:
        nonlocal dimension
        dimension = dimension or vectors.shape[1]
        check_dimension(database, model, vectors, dimension)

    def save(new: Mapping[bytes, Vectors]) -> None:
        with database.writing() as connection:
            record_model(connection, database, model, dimension)
            put_spare_vectors(connection, ((hash_, vector.tobytes()) for hash_, vector in new.items()))

    return embed_new(model, texts, known, check, save)


def record_model(connection: sqlite3.Connection, database: Database, model: Model, dimension: int) -> None:
    """Record the model with the first vectors; raise ``RequestError`` for vectors of any other model."""
    snapshot = Snapshot.of(connection)
    if not snapshot.embedding or not snapshot.dimension:
        set_meta(connection, embedding=model.name, dimension=dimension)
    elif snapshot.embedding != model.name:
        raise RequestError(other_model(shown(database.folder), snapshot.embedding, model.name))


def check_dimension(database: Database, model: Model, vectors: Vectors, dimension: int) -> None:
    """Raise ``OtherDimensionError`` unless vectors have the index's dimension, and mark the index as outdated."""
    given = vectors.shape[1]
    if given == dimension:
        return
    if database.writable:
        with database.writing() as connection:
            set_meta(connection, dimension=0)  # tells the next sync that no vector is usable
    raise OtherDimensionError(other_dimension(shown(database.folder), model, dimension, given))


def outdated_reasons(database: Database, model: Model, settings: SplitSettings) -> list[str]:
    """Return a sentence for each setting that changed since the index was made."""
    with database.reading() as connection:
        snapshot = Snapshot.of(connection)
    return changes(snapshot.embedding, snapshot.dimension, snapshot.splitter, model, settings)


def clear_outdated(database: Database, model: Model, settings: SplitSettings) -> list[str]:
    """Clear what was made with outdated settings, and return the reasons; the next sync then reads the files again.

    The new model is tried before anything is cleared.
    """
    reasons = outdated_reasons(database, model, settings)
    with database.reading() as connection:
        snapshot = Snapshot.of(connection)
    if not reasons:
        if not snapshot.splitter:
            with database.writing() as connection:
                set_meta(connection, **asdict(settings))
        return []
    dimension = embed_query(model.embeddings, "dimension", model.name).shape[1]
    with database.writing() as connection:
        unindex_files(connection)
        drop_spare_vectors(connection)
        # A new index id: vectors in memory or in the file may have the same passage ids but another model.
        set_meta(connection, index=uuid.uuid4().hex, embedding=model.name, dimension=dimension)
        set_meta(connection, **asdict(settings))
        next_generation(connection)
    return reasons
