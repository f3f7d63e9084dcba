"""The terms of a question, and how much a match of them counts: what every store's keyword search has in common."""

import math

from core.text import clean
from core.words import STOP_WORDS, words_of

_MOST = 64  # terms of a question: more of them make a slow query that matches everything
# May is a month as well; the other words say how something is asked.
_STOP_WORDS = (STOP_WORDS - {"may"}) | {"describe", "explain", "tell"}
# How much a match counts in text, title, heading and pairs of characters: a heading names what its section is about,
# while a title is the same for all passages of a document.
WEIGHTS = (1.0, 1.5, 2.0, 1.0)


def terms_of(question: str) -> list[str]:
    """Return the distinct terms of a question in lower case.

    Chinese, Japanese and Korean give pairs of characters. English stop words are left out when other terms remain;
    acronyms such as 'US', 'IT' and 'WHO' are kept. Empty when there is no term at all.
    """
    words = list(dict.fromkeys(words_of(clean(question))))
    acronyms = set() if question.isupper() else {word for word in words if word.isupper() and len(word) > 1}
    content_words = [word for word in words if word.lower() not in _STOP_WORDS or word in acronyms]
    return list(dict.fromkeys(word.lower() for word in content_words or words))[:_MOST]


def idf(number: float, passages: float) -> float:
    """Return the inverse document frequency, as FTS5 computes it, of a term that ``number`` of ``passages`` have."""
    weight = math.log((passages - number + 0.5) / (number + 0.5)) if number < passages else 0.0
    return weight if weight > 0 else 1e-6
