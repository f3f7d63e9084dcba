"""Recognise passages that say the same in nearly the same words."""

import re
from collections import Counter

LARGEST_DIFFERENCE = 0.1  # share of words in which near-duplicates may differ
WORD = re.compile(r"\w+")
NEGATIONS = frozenset(
    "no not nor none never neither without except unless cannot hardly fail fails failed t".split()  # t: of isn't
)


def word_counts(text: str) -> Counter[str]:
    """Return how often a text has each word; a text without words counts as one word."""
    return Counter(WORD.findall(text.casefold())) or Counter([text])


def near_duplicates(one: Counter[str], other: Counter[str]) -> bool:
    """True if two texts differ in at most a tenth of their words, and in no number or negation.

    Last year's price list does not duplicate this year's.
    """
    total = one.total() + other.total()
    if abs(one.total() - other.total()) > LARGEST_DIFFERENCE * total / 2:
        return False
    differing = (one - other) + (other - one)
    if differing.total() > LARGEST_DIFFERENCE * total / 2:
        return False
    return not any(word in NEGATIONS or any(map(str.isdigit, word)) for word in differing)
