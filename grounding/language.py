"""Detect the languages of a text, so that no rule judges what it cannot read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

ENGLISH = frozenset({"en"})
UNSPACED = frozenset({"zh", "ja", "ko"})  # compared by pairs of characters; Korean is spaced, but inflects its words
UNWRITTEN = frozenset({"la", "eo", "vo"})
LIKELY = 0.5  # least probability of a language
SURE = 0.8  # least probability in a piece of a longer text, which may be a name or a title within another language
LONGEST = 2000  # characters read to name the one language of a text
PIECE = 250  # characters
MOST_PIECES = 24  # of one text, spread evenly over it


@cache
def _identifier() -> LanguageIdentifier:
    """Load the model when it is first needed: it takes about a second.

    Languages with codes of three letters are left out: Wu is so much like Chinese that in a short text neither is
    probable. Latin and the constructed languages are left out because a few English terms look like them, and hardly
    any document is in one.
    """
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([label for label in identifier.labels if len(label) == 2 and label not in UNWRITTEN])
    return identifier


@lru_cache(maxsize=1024)
def language_of(text: str, least: float = LIKELY) -> str | None:
    """Return the ISO 639-1 code of the most probable language of a text; None if its probability is below ``least``.

    A text without letters gives None, and so may a few words or names. Only the first 2,000 characters are read.
    """
    if not any(map(str.isalpha, text[:LONGEST])):
        return None
    language, probability = _identifier().classify(text[:LONGEST])
    return str(language) if probability >= least else None


@lru_cache(maxsize=256)
def languages_in(text: str) -> frozenset[str]:
    """Return the languages of the text's parts; long texts are sampled."""
    count = min(math.ceil(len(text) / PIECE), MOST_PIECES)
    starts = (number * len(text) // count for number in range(count))
    found = {language_of(text[start : start + PIECE], LIKELY if count == 1 else SURE) for start in starts}
    return frozenset(language for language in found if language)


def languages_of(texts: Iterable[str]) -> frozenset[str]:
    """Return the languages of several texts together."""
    return frozenset[str]().union(*map(languages_in, texts))


def is_english(*texts: str) -> bool:
    """True unless a part of a text is in another language."""
    return languages_of(texts) <= ENGLISH
