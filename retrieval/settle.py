"""Notice that the embedding model or the splitter changed, and clear what no longer holds."""

import uuid
from dataclasses import asdict

import numpy as np

from retrieval.database import Database
from retrieval.embed import embed_query, embed_texts
from retrieval.indexing import Model
from retrieval.records import texts_without_file, unindex_files
from retrieval.split import SplitSettings
from retrieval.state import Snapshot, next_generation, set_meta
from retrieval.vector_rows import drop_spare_vectors, put_vector, text_hash


def reasons_to_settle(database: Database, model: Model, settings: SplitSettings) -> list[str]:
    """Return a sentence for each setting that is not the one the index was made with."""
    with database.reading() as connection:
        snapshot = Snapshot.of(connection)
    reasons = []
    if snapshot.embedding and snapshot.embedding != model.name:
        reasons.append(f"The embedding model changed from {snapshot.embedding} to {model.name}")
    elif snapshot.embedding and not snapshot.dimension:
        reasons.append(f"The embedding model {model.name} gives vectors of another length than before")
    if snapshot.splitter and snapshot.splitter != asdict(settings):
        old, new = snapshot.splitter, asdict(settings)
        reasons.append(
            f"The passages changed from {old.get('chunk_size')} characters overlapping by "
            f"{old.get('overlap')} to {new['chunk_size']} overlapping by {new['overlap']}"
        )
    return [f"{reason}: everything was indexed anew." for reason in reasons]


def settle(database: Database, model: Model, settings: SplitSettings) -> list[str]:
    """Make the index agree with its settings; files are then read again, other texts embedded at once.

    The new model is tried before anything is cleared. Returns the reasons.
    """
    reasons = reasons_to_settle(database, model, settings)
    with database.reading() as connection:
        snapshot = Snapshot.of(connection)
        texts = texts_without_file(connection)
    if not reasons:
        if not snapshot.splitter:
            with database.writing() as connection:
                set_meta(connection, **asdict(settings))
        return []
    dimension = embed_query(model.embeddings, "dimension", model.name).shape[1]
    batches = list(embed_texts(model.embeddings, list(texts.values()), model.name))
    with database.writing() as connection:
        unindex_files(connection)
        drop_spare_vectors(connection)
        for id_, vector in zip(texts, np.concatenate(batches) if batches else [], strict=True):
            put_vector(connection, id_, text_hash(texts[id_]), vector)
        # Another index: vectors in memory or in the file may have the ids of these and not their model.
        set_meta(connection, index=uuid.uuid4().hex, embedding=model.name, dimension=dimension)
        set_meta(connection, **asdict(settings))
        next_generation(connection)
    return reasons
