"""Tell which settings changed since a store was filled."""

from collections.abc import Mapping
from dataclasses import asdict

from retrieval.splitter import SplitSettings
from retrieval.store import Model


def changes(
    embedding: str, dimension: int, splitter: Mapping[str, int], model: Model, settings: SplitSettings
) -> list[str]:
    """Return a sentence for each setting that is not as recorded; "" and {} are of a store that was never filled.

    ``dimension`` is 0 where the model of the same name gave vectors of another length than those of the store.
    """
    reasons = []
    if embedding and embedding != model.name:
        reasons.append(f"The embedding model changed from {embedding} to {model.name}")
    elif embedding and not dimension:
        reasons.append(f"The embedding model {model.name} gives vectors of another length than before")
    if splitter and splitter != asdict(settings):
        new = asdict(settings)
        reasons.append(
            f"The passages changed from {splitter.get('chunk_size')} characters overlapping by "
            f"{splitter.get('overlap')} to {new['chunk_size']} overlapping by {new['overlap']}"
        )
    return [f"{reason}: everything was indexed anew." for reason in reasons]


def other_model(place: str, old: str, new: str) -> str:
    """Return the message for an index that was made with another model."""
    return (
        f"The index in {place} was made with the embedding model {old}, not with {new}: "
        "index its documents again, or choose the first."
    )


def other_dimension(place: str, model: Model, old: int, new: int) -> str:
    """Return the message for a model of the same name whose vectors have another length."""
    return (
        f"The index in {place} has vectors of {old} numbers and the embedding model {model.name} gives {new}: "
        "index its documents again."
    )
