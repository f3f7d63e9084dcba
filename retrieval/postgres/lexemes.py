"""The tokens of passages and questions: Porter stems without diacritics, and pairs of CJK characters."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from core.words import CJK
from grounding.stems import normal
from retrieval.passage_columns import PassageColumns
from retrieval.question_terms import WEIGHTS

_TEXT, _TITLE, _HEADING, _PAIRS = WEIGHTS
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"[^\W_]+")
_DIACRITIC = re.compile("[\u0300-\u036f]")
_LONGEST = 200  # characters: PostgreSQL takes no token of more than 2046 bytes
_LONGEST_STEMMED = 64
_LAST = 16_383  # the highest position in PostgreSQL, which keeps 255 positions of a token


def tsvector_of(passage: PassageColumns) -> tuple[str, int]:
    """Return the tokens as a tsvector's text, labelled A in the heading and B in the title, and the token count."""
    places: dict[str, list[str]] = {}
    number = 0
    for label, tokens in (
        ("", tokens_of(passage.text)),
        ("B", tokens_of(passage.title or "")),
        ("A", tokens_of(passage.heading or "")),
        ("", _tokens((passage.pairs or "").lower().split())),
    ):
        for token in tokens:
            number += 1
            place = f"{min(number, _LAST)}{label}"
            places.setdefault(token[:_LONGEST], []).append(place)
            if len(token) == 2 and CJK.match(token):  # is also found by its first character alone
                places.setdefault(token[0], []).append(place)
    return " ".join(f"'{token}':{','.join(found[:255])}" for token, found in places.items()), number


def tokens_of_question(terms: Iterable[str]) -> list[str]:
    """Return the distinct tokens by which the terms of a question are found."""
    return list(dict.fromkeys(token[:_LONGEST] for token in _tokens(terms)))


def frequency_in(words: str, token: str) -> float:
    """Return how often a tsvector's text has a token, each time with the weight of its label."""
    _, found, rest = words.partition(f"'{token}':")
    if not found:
        return 0.0
    places = rest.partition(" ")[0]
    headings, titles = places.count("A"), places.count("B")
    texts = places.count(",") + 1 - headings - titles
    return headings * _HEADING + titles * _TITLE + texts * _TEXT


def tokens_of(text: str) -> list[str]:
    """Return the stems of a text's words in order, without words of CJK characters, which are found by pairs."""
    lower = text.lower()
    if not lower.isascii():
        lower = _DIACRITIC.sub("", unicodedata.normalize("NFD", _without_pairs(normal(lower))))
    return [_stem(word) if len(word) <= _LONGEST_STEMMED else word for word in _TOKEN.findall(lower)]


def _tokens(terms: Iterable[str]) -> list[str]:
    return [token for term in terms for token in ([term] if CJK.search(term) else tokens_of(term))]


def _without_pairs(text: str) -> str:
    return " ".join(word for word in _WORD.findall(text) if not CJK.search(word)) if CJK.search(text) else text


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    from snowballstemmer import stemmer

    return str(stemmer("porter").stemWord(word)) if len(word) > 2 else word  # new, as it keeps state
