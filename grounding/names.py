"""The names in a claim that its passages do not know."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache

from grounding.capitals import WORD, Name, names
from grounding.dates import MONTHS, months
from grounding.language import language_of
from grounding.lazy import LazyProperty
from grounding.stems import STOP

WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
DAILY = re.compile(r"\b(?:weekdays?|weekends?|daily|days?|\d{4}-\d\d-\d\d)\b", re.IGNORECASE)
ENDINGS = re.compile(r"(?:ians?|eans?|ans|an|ese|ish|ers?|ns|n|s|ia|y|a|ic|i)$")
ALIASES = tuple(
    frozenset(group.split())
    for group in (
        "france french frenchman",
        "netherlands dutch holland",
        "britain british uk kingdom england english",
        "america american americans us usa states",
        "spain spanish spaniard",
        "wales welsh",
        "switzerland swiss",
        "denmark danish danes",
        "poland polish poles",
        "ireland irish",
        "finland finnish finns",
        "greece greek greeks",
        "turkey turkish turks",
        "germany german germans",
        "soviet ussr russia russian",
        "christmas december",
    )
)
# The passage may speak of the thing by another word, its name standing elsewhere in the document.
PRONOUNS = "he she his her hers him they their them it its this these those such we our us you your my".split()
ANAPHOR = re.compile(rf"\b(?:{'|'.join([*PRONOUNS, *(word.title() for word in PRONOUNS)])})\b")  # and not US or IT
DEFINITE = re.compile(r"^\W*the\s+(?!(?:world|earth|globe|planet|average|total|sum|rest|global|whole|number)\b)", re.I)
WHO = re.compile(r"\W*(?:who|whom|whose)\b", re.IGNORECASE)
# What else may begin a sentence with a capital: nouns of agents, plurals, adjectives, participles.
ORDINARY = re.compile(
    r"(?:er|or|ist|ian|ant|ent|ess|man|men|al|ous|ive|ly|ing|ed|ic|ful|s|ion|ity|one|body)$"
    r"|^(?:people|staff|children|women|police|management|someone|author)$",
    re.IGNORECASE,
)
MOST_MISSING = 100  # of a claim: more of them say no more
LONGEST_MISSPELT = 40
MOST_PLACES = 1000  # at which an acronym may be spelt out
RUN = re.compile(r"[^\W_]{0,13}")
# To the word behind this one, or with a small word or two between.
NEXT_WORD = [
    re.compile(rf"[^\W_]*+[\W_]++(?:(?:of|and|the|for|in|on|to|de)\W++){{{small}}}", re.IGNORECASE)
    for small in range(3)
]
GAP = "\0"  # in the place of a letter
DENIAL = re.compile(r"\b(?:not|no|never|neither|nor|none|nobody|nothing|cannot|without|unlike|if)\b|n['’]t\b", re.I)


class Lexicon:
    """The words of a text, as names are looked up among them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[str, bool] = {}
        self._behind: dict[int, dict[str, list[int]]] = {}

    @LazyProperty
    def words(self) -> frozenset[str]:
        """Every word, folded; of one with a hyphen or an apostrophe the whole and the parts."""
        whole = {folded(word) for word in WORD.findall(self._text)}
        return frozenset(whole | {folded(part) for part in re.findall(r"[^\W_]+", self._text)})

    @LazyProperty
    def roots(self) -> frozenset[str]:
        """The words without the endings of inhabitants, languages and plurals."""
        return frozenset(_root(word) for word in self.words)

    @LazyProperty
    def months(self) -> set[int]:
        """The months that the text names in any form."""
        return months(self._text)

    @LazyProperty
    def weekdays(self) -> frozenset[str]:
        """The days of the week that the text names."""
        return WEEKDAYS & self.words

    @LazyProperty
    def ordered(self) -> list[str]:
        """The words in order."""
        return sorted(self.words)

    @LazyProperty
    def misspelt(self) -> frozenset[str]:
        """Each word of five letters or more without one of its letters, and with a gap in its place."""
        return frozenset(form for word in self.words if len(word) >= 5 for form in _misspelt(word))

    @LazyProperty
    def beginnings(self) -> dict[str, list[int]]:
        """Where words begin, by their first letter: the places behind it, as many as are looked at."""
        found: dict[str, list[int]] = {}
        for match in re.finditer(r"\b[^\W_]", self._text):
            places = found.setdefault(match.group().lower(), [])
            if len(places) < MOST_PLACES:
                places.append(match.end())
        return found

    @LazyProperty
    def daily(self) -> bool:
        """Whether it speaks of days in general."""
        return DAILY.search(self._text) is not None

    def has(self, name: str) -> bool:
        """Whether the name stands there, in whatever form: inflected, accented, abbreviated, spelt out, or misspelt."""
        if name not in self._known:
            self._known[name] = self._has(name)
        return self._known[name]

    def _has(self, name: str) -> bool:
        word = folded(name)
        if word in self.words or _root(word) in self.roots:
            return True
        if len(word) >= 4 and (self._begins(word) or self._is_nearly(word)):
            return True
        if any(word in group and group & self.words for group in ALIASES):
            return True
        if word in MONTHS:
            return MONTHS[word] in self.months or len(self.months) > 1
        if word.removesuffix("s") in WEEKDAYS:
            return len(self.weekdays) > 1 or self.daily
        return name.isupper() and self._spells_out(word)

    def _begins(self, word: str) -> bool:
        place = bisect_left(self.ordered, word)
        return place < len(self.ordered) and self.ordered[place].startswith(word)

    def _is_nearly(self, word: str) -> bool:
        """Whether one of its words, of five letters at least as this one, differs in one letter, not the first."""
        if len(word) < 5:
            return False
        return word in self.misspelt or any(
            form in self.misspelt if GAP in form else len(form) >= 5 and form in self.words for form in _misspelt(word)
        )

    @LazyProperty
    def large(self) -> frozenset[str]:
        """The words that the text has as names: within a sentence, with a capital; folded."""
        if self._text.isupper():
            return frozenset()
        return frozenset(folded(one.text) for one in names(self._text) if not one.opens)

    @LazyProperty
    def small(self) -> frozenset[str]:
        """The words that it has without a capital."""
        return frozenset(word for word in WORD.findall(self._text) if word[0].islower())

    def _spells_out(self, acronym: str) -> bool:
        """Whether words that follow each other begin with the letters, with a small word or two between.

        One word may stand for several of the letters: these are at most twelve apart.
        """
        if len(acronym) > 6:
            return False
        ends = set(self.beginnings.get(acronym[0], ()))
        for letter in acronym[1:]:
            ends = {end for place in ends for end in self._next(place).get(letter, ())}
        return bool(ends)

    def _next(self, place: int) -> dict[str, list[int]]:
        """Behind which places the letter may end that follows, by letter: within the word, or where another begins."""
        if place not in self._behind:
            text, found = self._text, dict[str, list[int]]()
            within = range(place, RUN.match(text, place).end())  # type: ignore[union-attr]
            for at in (*within, *(match.end() for words in NEXT_WORD if (match := words.match(text, place)))):
                found.setdefault(text[at : at + 1].lower(), []).append(at + 1)
            self._behind[place] = found  # whole, for another thread may look as well
        return self._behind[place]


@lru_cache(maxsize=64)
def lexicon_of(text: str) -> Lexicon:
    """The lexicon of a text, in which the names of many claims are looked up."""
    return Lexicon(text)


def missing_names(
    claim: str, text: str, question: str, near: str, *, elsewhere: str = "", english: bool = True
) -> list[str]:
    """The names in ``claim`` that ``text`` does not have, in the order in which they stand.

    One that the question has is missing only where ``near``, the quote, can be about nothing but what it names
    itself, and ``elsewhere``, what else is known of the documents, has not got it either. Nothing is told of a text
    in German, in which every noun is written large, or of a claim in another language than the text.
    """
    languages = {language_of(claim), language_of(text)} - {None}
    if "de" in languages or len(languages) > 1 or _is_title(claim):
        return []
    here, asked, beside = map(lexicon_of, (text, question, elsewhere))
    silent = not english or DENIAL.search(claim) or ANAPHOR.search(near) or DEFINITE.search(near)
    missing: list[str] = []
    for name in names(claim):
        if name.text in missing or here.has(name.text):
            continue
        if asked.has(name.text):
            known = silent or folded(name.text) not in asked.large or beside.has(name.text)
            if known or any(map(here.has, name.run)):
                continue
        elif name.opens and not _is_surely_a_name(name, here, question):
            continue
        missing.append(name.text)
        if len(missing) == MOST_MISSING:
            break
    return missing


def folded(word: str) -> str:
    """In lower case, without accents and apostrophes."""
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in plain if letter.isalnum() and not unicodedata.combining(letter))


def _is_surely_a_name(name: Name, here: Lexicon, question: str) -> bool:
    """Whether the first word of a sentence, which neither text has, is a name: by its form, by the name that
    follows, or because somebody's name is what the question asks for.
    """
    if not name.text[1:].islower():
        return True
    following = name.run[name.run.index(name.text) + 1 :][:1]
    if ORDINARY.search(name.text):
        return False
    if not following:
        return WHO.match(question) is not None
    return folded(following[0]) in here.large and following[0].casefold() not in here.small


def _is_title(claim: str) -> bool:
    """Whether the claim is written as titles are, so that no capital tells a name."""
    words = [match.group() for match in WORD.finditer(claim)]
    large = [word for word in words if word[0].isupper()]
    small = [word for word in large[1:] if word.casefold() in STOP and len(word) > 1]
    return bool(words) and (claim.isupper() or (bool(small) and len(large) >= 0.7 * len(words)))


def _root(word: str) -> str:
    shorter = ENDINGS.sub("", word)
    return shorter if len(shorter) >= 4 else word


def _misspelt(word: str) -> Iterator[str]:
    """The word without one of its letters, and with a gap in its place; not the first, and of no enormous word."""
    for i in range(1, len(word) if len(word) <= LONGEST_MISSPELT else 0):
        yield word[:i] + word[i + 1 :]
        yield word[:i] + GAP + word[i + 1 :]
