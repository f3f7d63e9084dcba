"""Which of a dataset's examples are asked."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import chain

from core.errors import RequestError
from evaluation.records import Example


def select(
    examples: Sequence[Example], *, most: int | None = None, balanced: bool = False, seed: int | None = None
) -> list[Example]:
    """All examples in their order, or a draw of at most ``most``, ``balanced`` for one half unanswerable.

    A draw is shuffled by ``seed``, 0 if None, and begins with the same examples however many it is of, so that a larger
    one adds to a smaller. Raises `RequestError` where there are no examples of one of the halves.
    """
    if most is None and not balanced and seed is None:
        return list(examples)
    drawn = list(examples)
    random.Random(seed or 0).shuffle(drawn)  # noqa: S311 - a draw, no secret
    if not balanced:
        return drawn[:most]
    answerable = [example for example in drawn if example.answerable]
    unanswerable = [example for example in drawn if example.answerable is False]
    if not answerable or not unanswerable:
        missing = "answerable" if not answerable else "unanswerable"
        raise RequestError(f"No question is marked as {missing}: leave --balanced out, or mark some so.")
    pairs = zip(answerable, unanswerable, strict=False)
    return list(chain.from_iterable(pairs))[:most]
