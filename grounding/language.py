"""Guess which of a few languages a text is in, by the languages' commonest words."""

from __future__ import annotations

import re
from functools import lru_cache

COMMON = {
    "en": "the of and to is in that it for was as with are by on be this from at or an which not",
    "de": "der die das und ist nicht ein eine den dem des mit von zu im für auf sind wird wurde auch beträgt",
    "fr": "le la les des et est une du dans que qui pour sur pas au par sont aux ce cette était",
    "es": "el los las del y es una que en por para con se su al lo como más fue son",
    "it": "il lo gli di e è una che per con del della dei nel sono non si alla era",
    "pt": "o os as do da dos das e é uma que em para com não por no na ao foi são",
    "nl": "de het een van en is dat op te zijn met voor niet aan er wordt door bij ook",
}
SETS = {language: frozenset(words.split()) for language, words in COMMON.items()}


@lru_cache(maxsize=64)
def language_of(text: str) -> str | None:
    """Return the code of the language with the most common words in the text; None for a tie or fewer than two."""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    counts = sorted(((sum(word in common for word in words), name) for name, common in SETS.items()), reverse=True)
    (most, language), (next_, _) = counts[:2]
    return language if most >= 2 and most > next_ else None
