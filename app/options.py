"""How the numbers of an option or a setting are read."""

from __future__ import annotations

import math


def probability(word: str) -> float:
    """A number from 0 to 1. Raises `ValueError` for anything else."""
    value = float(word)
    if not 0 <= value <= 1:
        raise ValueError(f"{word} is not from 0 to 1")
    return value


def weights(word: str) -> tuple[float, float, float]:
    """``1,1,0.5``: the weights of relevance, support and usefulness.

    Raises `ValueError` unless there are three finite numbers, none below 0.
    """
    relevance, support, usefulness = (float(part) for part in word.split(","))
    if not all(math.isfinite(weight) and weight >= 0 for weight in (relevance, support, usefulness)):
        raise ValueError(f"{word} has a number that is not finite, or below 0")
    return relevance, support, usefulness
