"""Change one figure, name or word of a text for another of its kind, and find what could pass for an answer."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from random import Random
from typing import NamedTuple

from core.words import STOP_WORDS
from evaluation.measures.scores import contains
from grounding.sentences import sentences
from grounding.stems import stem, stems

WORDS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
CLOSED: dict[str, list[str]] = {kind: words.split() for kind, words in WORDS["closed"].items()}
FIRST_NAMES, NO_SURNAME = frozenset(WORDS["first_names"].split()), frozenset(WORDS["no_surname"].split())
_MONTH = rf"(?:{'|'.join(CLOSED['month'])})"
_NO_NAME = "|".join(WORDS["no_name"].split())
_NAME = rf"(?!(?:{_NO_NAME})\b)[A-ZÀ-Þ][\w’'-]*\w"
MENTION = re.compile(
    rf"(?P<date>\b\d{{1,2}} {_MONTH},? \d{{4}}\b|\b{_MONTH} \d{{1,2}}(?:, \d{{4}})?(?!\w)|\b{_MONTH} \d{{4}}\b)"
    r"|(?P<year>(?<![\w.,$£€-])(?:1\d|20)\d\d(?![\w%]|[.,-]\d))"
    r"|(?P<percent>(?<![\w.,])\d+(?:\.\d+)?(?=\s?(?:%|percent|per cent)))"
    r"|(?P<money>[$£€]\s?\d+(?:[.,]\d+)*)"
    r"|(?P<number>(?<![\w.,$£€/:-])\d+(?:[.,]\d+)*(?![\w/:-]|[.,]\d|\s?(?:%|percent)))"
    rf"|(?P<name>\b{_NAME}(?:(?: | of (?:the )?| de | von | van ){_NAME})*)"
)
WORD = re.compile(r"[\w’'-]+")
KIND: dict[str, str] = {word: kind for kind, words in CLOSED.items() for word in words}
PAIRED = {
    word: (kind, other)
    for kind, pairs in WORDS["pairs"].items()
    for pair in pairs.split()
    for word, other in (pair.split("/"), reversed(pair.split("/")))
}
PLACES = frozenset(("city", "country", "state"))


class Mention(NamedTuple):
    """A figure, date or name and its place; kind ``name`` where it is not known of what."""

    start: int
    end: int
    text: str
    kind: str


def kind_of_name(name: str) -> str:
    """Return the kind of what has the name, ``name`` unless it is certain: names are swapped within a kind."""
    words = name.split()
    if name in KIND:
        return KIND[name]
    return "person" if words[0] in FIRST_NAMES and len(words) in (2, 3) and " of " not in name else "name"


def mentions(text: str) -> list[Mention]:
    """Return the figures, dates and names, in order; a sentence's first word counts only as part of a known name."""
    starts = {start for start, _ in sentences(text)}
    found = []
    for match in MENTION.finditer(text):
        kind = match.lastgroup or ""
        if kind == "name":
            kind = kind_of_name(match.group())
            if kind == "name" and match.start() in starts:
                continue
        found.append(Mention(match.start(), match.end(), match.group(), kind))
    return found


def words_of(text: str) -> set[str]:
    """Return the words in lower case, with their stems."""
    words = {word.lower() for word in WORD.findall(text)}
    return words | {stem(word) for word in words}


def surnames(persons: Iterable[str]) -> set[str]:
    """Return the last words of persons' names, except those that are no surnames."""
    last = {name.split()[-1] for name in persons}
    return {one for one in last if re.fullmatch(r"[^\W\d_]{4,}", one) and one not in KIND and one not in NO_SURNAME}


class Kinds:
    """What a family's texts mention, by kind: where the other words come from.

    Of German and French questions only figures and surnames are changed.
    """

    def __init__(self, texts: Iterable[str], language: str = "en") -> None:
        self._english = language == "en"
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for text in texts:
            for one in mentions(text):
                found[one.kind][one.text] += 1
        found["surname"] = Counter(surnames(found["person"]))
        self.others = {kind: sorted(counts) for kind, counts in found.items()}

    def swapped(self, text: str, passage: str, random: Random, within: str = "") -> str | None:
        """Return the text with one mention changed for one of its kind, of the passage if it has any; else None.

        A mention ``within`` the answer comes first. No name that begins like the old one, or shares a word, is taken.
        """
        known = [one for one in mentions(text) if one.kind not in ("name", "ordinal", "numeral")]
        random.shuffle(known)
        known.sort(key=lambda one: one.text not in within)
        for old in known:
            near = [one.text for one in mentions(passage) if one.kind == old.kind]
            for pool in (near, self._like(old, random)):
                fit = sorted({new for new in pool if different(old.text, new) and new not in text})
                if fit:
                    changed = text[: old.start] + random.choice(fit) + text[old.end :]
                    if changed not in passage:
                        return changed
        return None

    def _like(self, old: Mention, random: Random) -> list[str]:
        """Return some of the family's mentions of the same kind, figures of about the same size."""
        pool = self.others.get(old.kind, [])
        if old.kind in ("number", "percent", "money"):
            pool = [one for one in pool if len(one) == len(old.text)]
        return random.sample(pool, min(20, len(pool)))

    def one_word(self, question: str, document: str, random: Random, used: Counter[str]) -> str | None:
        """Return the question with one word changed that the document has for one that it has not; None if none fits.

        The kind of word that was changed least often so far, by ``used``, is changed, so that kinds vary.
        """
        there, asked = words_of(document), words_of(question)
        persons = surnames(one.text for one in mentions(document) if one.kind == "person")
        names = set(WORD.findall(document))
        options: list[tuple[str, str]] = []
        for match in WORD.finditer(question):
            old = match.group()
            if question.lower().count(old.lower()) > 1 or not {old.lower(), stem(old.lower())} & there:
                continue
            for kind, new in self._candidates(old, question[: match.start()], persons, names, random):
                if different(old, new) and not words_of(new) & (there | asked):
                    options.append((kind, question[: match.start()] + new + question[match.end() :]))
                    break
        if not options:
            return None
        kind, changed = min(options, key=lambda one: used[one[0]])
        used[kind] += 1
        return changed

    def _candidates(
        self, old: str, before: str, persons: Set[str], names: Set[str], random: Random
    ) -> Iterator[tuple[str, str]]:
        """Yield a kind of the old word and another word of it, in lower case if the old one is."""
        known = next((kind for form in (old, old.title(), old.lower()) if (kind := KIND.get(form))), None)
        if (
            self._english
            and old in PAIRED
            and (old not in ("first", "last", "more", "most", "least") or before.endswith("the "))
        ):
            yield PAIRED[old]
        if known and self._english and old != "may":
            if known in ("ordinal", "numeral") and not before.endswith(("the ", "many ")):
                return
            pool = CLOSED[known]
            if pool[0][0].isupper() and old.title() not in names:  # of Turkey, and not of a cold turkey
                return
        elif re.fullmatch(r"(?:1\d|20)\d\d", old):
            known = "year"
            pool = [year for year in self.others.get("year", []) if 0 < abs(int(year) - int(old)) <= 30]
        elif old.isdigit():
            known, pool = "number", [one for one in self.others.get("number", []) if len(one) == len(old)]
        elif old.title() in persons:
            known, pool = "surname", self.others["surname"]
        else:
            return
        for new in random.sample(pool, min(30, len(pool))):
            yield known, new.lower() if old.islower() else new


def different(old: str, new: str) -> bool:
    """Whether two words or names are surely of different things: they begin differently and share no word."""
    ours, theirs = old.lower(), new.lower()
    if any(character.isdigit() for character in old):
        return ours != theirs and theirs not in ours and ours not in theirs
    return ours[:4] != theirs[:4] and not set(ours.split()) & set(theirs.split())


def wanted_kinds(question: str) -> frozenset[str]:
    """Return the kinds of mention that could pass for the answer."""
    asked = question.lower()
    if re.search(r"\b(?:who|whom|whose|wer|wen|wem)\b", asked):
        return frozenset(("person",))
    if re.search(r"\b(?:when|what year|which year|what date|wann)\b|\bjahr\b", asked):
        return frozenset(("date", "year"))
    if re.search(r"\bhow (?:many|much|old|long|far|high|tall)\b|\bwie ?viele?\b|\bpercent", asked):
        return frozenset(("number", "percent", "money"))
    if re.search(r"\b(?:where|country|city|state|wo|stadt|land)\b", asked):
        return PLACES
    return frozenset(("name", "person", "city", "country", "state"))


def best_sentence(passage: str, question: str, answer: str = "") -> str | None:
    """Return the sentence nearest to the question, of whole ones of 30 to 300 characters that have the answer."""
    found = [passage[start:end] for start, end in sentences(passage)]
    fit = [one for one in found if 30 <= len(one) <= 300 and one[-1] in ".!?" and not one[0].islower()]
    able = [one for one in fit if not answer or contains(one, answer)]
    return max(able, key=lambda one: len(stems(one) & stems(question)), default=None)


def joined(sentence: str, other: str, language: str) -> str:
    """Return two sentences as one statement."""
    first = other.split()[0]
    lower = language == "en" and first.lower() in STOP_WORDS and first != "I"
    also = {"de": "und", "fr": "et"}.get(language, "and")
    return f"{sentence.rstrip('.!? ')}, {also} {other[0].lower() + other[1:] if lower else other}"
