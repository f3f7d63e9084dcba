"""Tell whether a quote is about another subject than the question: another plan, model, section, person or year."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from core.passages import stated_by
from core.types import Passage, Quote
from core.words import STOP_WORDS
from grounding.capitals import NOT_NAMES, names
from grounding.dates import YEAR
from grounding.language import is_english
from grounding.names import ORDINARY, lexicon_of
from grounding.numbers import BOUND
from grounding.reasons import GENERIC_STEMS
from grounding.sentences import sentences
from grounding.stems import fold, stemmed

WORD = re.compile(r"[^\W_]+(?:[-.,'’][^\W_]+)*")
BETWEEN = re.compile(r"[\s\"“”*-]*")
CODE = re.compile(r"(?<![\w-])(?=[^\W\d_])(?=[\w-]*\d)[\w-]+")  # PX-40, Q3
ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth", re.I)
CARDINAL = re.compile(r"\d+(?:\.\d+)*")
NO_SUBJECTS = STOP_WORDS | {"whose"}
# The first cell of a row, which says what the row is about.
CELL = re.compile(r"^(?:[^:|\n]*\s)?([^\s:|]+):\s([^|\n]*)")
OPENING = re.compile(r"^(?:an?|the|each|every|one|for|per)\s+", re.IGNORECASE)


def absent_subject(question: str, passages: Sequence[Passage], quotes: Sequence[Quote]) -> str | None:
    """Return what the question is about, if the passages of the quotes lack it and these are about another such thing.

    A row of a table is quoted as a whole.
    """
    by_id = {passage["id"]: passage for passage in passages}
    cited = [(by_id[quote["passage"]], quote) for quote in quotes]
    said = (one["text"] if one["row"] is not None else one["text"][at["start"] : at["end"]] for one, at in cited)
    return another_subject(question, "\n".join(said), "\n".join(stated_by(one) for one, _ in cited))


def has_subjects(question: str, known: str) -> bool:
    """True if ``known`` has every name, code and year of the question; in English alone it can be false."""
    there, folded = lexicon_of(known), fold(known)
    absent = (not there.has(name.text) for name in names(question) if not name.opens)
    unknown = (fold(code) not in folded for code in [*CODE.findall(question), *YEAR.findall(question)])
    return not (any(absent) or any(unknown)) or not is_english(question, known)


def another_subject(question: str, quote: str, known: str) -> str | None:
    """Return what the question is about, if ``known`` lacks it and the quote has another of its kind in its place.

    One that the question names too, as one that compares or follows another does, is no other.
    That is a year; a code of the same form; what stands before or after the same word, if both are names, ordinals or
    numbers (*the Team plan*, *Article 3*); and what stands before the word that heads a row or that several items of
    ``known``, the passage with the headings above it, begin with (*a family ticket*). None unless all is in English.
    """
    found = next(_absent(question, quote, known), None)
    return found if found and is_english(question, quote) else None


def _absent(question: str, quote: str, known: str) -> Iterator[str]:
    there, folded = lexicon_of(known), fold(known)
    years, codes = YEAR.findall(quote), CODE.findall(quote)
    if years and not any(year in question for year in years) and not BOUND.search(quote):
        yield from (year for year in YEAR.findall(question) if year not in known)
    shapes = {_shape(code) for code in codes} - {_shape(code) for code in codes if fold(code) in fold(question)}
    yield from (code for code in CODE.findall(question) if fold(code) not in folded and _shape(code) in shapes)
    asked, said = stemmed(question), list(_pairs(quote))
    for before, after in _pairs(question):
        for one, other, place in ((before, after, 0), (after, before, 1)):
            if stemmed(one) <= stemmed(known) | GENERIC_STEMS or there.has(one):
                continue
            same = [pair[place] for pair in said if stemmed(pair[1 - place]) == stemmed(other)]
            instead = [word for word in same if not stemmed(word) <= asked]
            heads = _heads_row(other, quote, asked) or (one.islower() and _heads_items(other, quote, known, asked))
            if (heads and place == 0) or any(_comparable(one, word, other, place) for word in instead):
                yield f"{before} {after}"


def _comparable(one: str, other: str, word: str, place: int) -> bool:
    """True if both are names before a word, ordinals before it, or numbers after a word that is numbered."""
    if place:
        return all(map(CARDINAL.fullmatch, (one, other))) and (word[0].isupper() or word.casefold() in NOT_NAMES)
    if ORDINAL.fullmatch(one) or ORDINAL.fullmatch(other):
        return all(map(ORDINAL.fullmatch, (one, other)))
    return one[0].isupper() and other[0].isupper() and not ORDINARY.search(other)


def _shape(code: str) -> str:
    return re.sub(r"\d+", "0", fold(code))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield each two adjacent words, of which neither is a stop word."""
    for one, other in pairwise(WORD.finditer(text)):
        first, second = (re.sub(r"['’]s?$", "", match.group()) for match in (one, other))
        adjacent = BETWEEN.fullmatch(text[one.end() : other.start()])
        if adjacent and not {first.casefold(), second.casefold()} & NO_SUBJECTS:
            yield first, second


def _heads_row(word: str, quote: str, asked: Set[str]) -> bool:
    head = CELL.match(quote)
    return head is not None and stemmed(head[1]) == stemmed(word) and not stemmed(head[2]) & asked


def _heads_items(word: str, quote: str, known: str, asked: Set[str]) -> bool:
    """True if the quote is one of several sentences that begin with such a thing: *An adult ticket costs …*."""
    items = _items(word, quote)
    return bool(items) and not any(item <= asked for item in items) and len(_items(word, known)) > 1


def _items(word: str, text: str) -> set[frozenset[str]]:
    """Return what stands before ``word`` at the beginning of sentences."""
    found = set()
    for start, end in sentences(text):
        sentence = OPENING.sub("", text[start:end])
        first, second = next(_pairs(sentence), ("", ""))
        if sentence.startswith(first) and stemmed(second) == stemmed(word):
            found.add(stemmed(first))
    return found
