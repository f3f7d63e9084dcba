"""Select which of a dataset's examples are asked."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import chain

from core.errors import RequestError
from evaluation.records import Example


def select(
    examples: Sequence[Example], *, most: int | None = None, balanced: bool = False, seed: int | None = None
) -> list[Example]:
    """Return all examples in their order, or a sample of at most ``most``; ``balanced`` makes half of it unanswerable.

    A sample is shuffled by ``seed``, 0 if None. Samples of one seed are prefixes of each other, so that a larger one
    extends a smaller. Raises `RequestError` if either half would be empty.
    """
    if most is None and not balanced and seed is None:
        return list(examples)
    shuffled = list(examples)
    random.Random(seed or 0).shuffle(shuffled)  # noqa: S311 - sampling, not cryptography
    if not balanced:
        return shuffled[:most]
    answerable = [example for example in shuffled if example.answerable]
    unanswerable = [example for example in shuffled if example.answerable is False]
    if not answerable or not unanswerable:
        missing = "answerable" if not answerable else "unanswerable"
        raise RequestError(f"No question is marked as {missing}: leave --balanced out, or mark some.")
    pairs = zip(answerable, unanswerable, strict=False)
    return list(chain.from_iterable(pairs))[:most]
