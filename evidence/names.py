"""The names in a claim that its passages do not know."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from evidence.dates import MONTHS, months
from evidence.language import language_of
from evidence.sentences import sentences
from evidence.words import STOP

WORD = re.compile(r"[^\W\d_][^\W_]*(?:['’][^\W_]+)*")
NO_PROSE = re.compile(r"```.*?```|~~~.*?~~~|`[^`\n]*`|\w+://\S+|\S+@\S+|\b\w+\.(?:[a-z]{2,4})\b(?=\W|$)", re.DOTALL)
OPENS = re.compile(r"(?:^|[:!?\"“”‘(\[\-–—•*_|/>])\s*$|(?:^|\s)['’]$")
# Words that are written large without being names: titles, and what numbers or letters are given to.
LARGE = frozenset(
    """mister miss madam sir lady lord president king queen prince princess professor doctor judge justice captain
    general minister chancellor saint pope emperor section sections article articles chapter chapters figure figures
    table tables part parts step steps page pages note notes appendix annex clause clauses paragraph rule level
    phase stage type class grade version volume number item question answer passage document documents yes no none
    internet god north south east west northern southern eastern western tenant landlord borrower lender company
    agreement party parties customer user act bill law court state government street avenue road""".split()
)
ACRONYMS = frozenset("USA USD EUR GBP CEO PDF GMT UTC BCE CEST FAQ URL DNA RNA ASAP ISO GDP VAT".split())
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
DENIAL = re.compile(r"\b(?:not|no|never|neither|nor|none|nobody|nothing|cannot|without|unlike|if)\b|n['’]t\b", re.I)


class Name(NamedTuple):
    """A word that is written large: ``opens`` when the first of a sentence, ``run`` the names it stands among."""

    text: str
    opens: bool
    run: tuple[str, ...]


class Lexicon:
    """The words of a text, as names are looked up among them."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word, folded; of one with a hyphen or an apostrophe the whole and the parts."""
        whole = {folded(word) for word in WORD.findall(self._text)}
        return frozenset(whole | {folded(part) for part in re.findall(r"[^\W_]+", self._text)})

    @cached_property
    def roots(self) -> frozenset[str]:
        """The words without the endings of inhabitants, languages and plurals."""
        return frozenset(_root(word) for word in self.words)

    @cached_property
    def months(self) -> set[int]:
        """The months that the text names in any form."""
        return months(self._text)

    @cached_property
    def weekdays(self) -> frozenset[str]:
        """The days of the week that the text names."""
        return WEEKDAYS & self.words

    def has(self, name: str) -> bool:
        """Whether the name stands there, in whatever form: inflected, accented, abbreviated, spelt out, or misspelt."""
        word = folded(name)
        if word in self.words or _root(word) in self.roots:
            return True
        if len(word) >= 4 and any(one.startswith(word) or _is_nearly(one, word) for one in self.words):
            return True
        if any(word in group and group & self.words for group in ALIASES):
            return True
        if word in MONTHS:
            return MONTHS[word] in self.months or len(self.months) > 1
        if word.removesuffix("s") in WEEKDAYS:
            return len(self.weekdays) > 1 or DAILY.search(self._text) is not None
        return name.isupper() and self._spells_out(word)

    @cached_property
    def large(self) -> frozenset[str]:
        """The words that the text has as names: within a sentence, with a capital; folded."""
        if self._text.isupper():
            return frozenset()
        return frozenset(folded(one.text) for one in names(self._text) if not one.opens)

    @cached_property
    def small(self) -> frozenset[str]:
        """The words that it has without a capital."""
        return frozenset(word for word in WORD.findall(self._text) if word[0].islower())

    def _spells_out(self, acronym: str) -> bool:
        """Whether words that follow each other begin with the letters, with a small word or two between."""
        if len(acronym) > 6:
            return False
        between = r"[^\W_]*[\W_]+(?:(?:of|and|the|for|in|on|to|de|&)\W+){0,2}"
        pattern = r"\b" + f"(?:{between}|[^\\W_]{{0,12}}?)".join(map(re.escape, acronym))
        return re.search(pattern, self._text, re.IGNORECASE) is not None


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
    here, asked, beside = Lexicon(text), Lexicon(question), Lexicon(elsewhere)
    silent = not english or DENIAL.search(claim) or ANAPHOR.search(near) or DEFINITE.search(near)
    missing: list[str] = []
    for name in names(claim):
        if name.text in missing or here.has(name.text):
            continue
        if asked.has(name.text):
            known = silent or folded(name.text) not in asked.large or beside.has(name.text)
            if known or any(other != name.text and here.has(other) for other in name.run):
                continue
        elif name.opens and not _is_surely_a_name(name, here, question):
            continue
        missing.append(name.text)
    return missing


def names(text: str) -> Iterator[Name]:
    """The words that may be names: written large, and neither a common word nor a title."""
    prose = NO_PROSE.sub(lambda match: "x" * len(match.group()), text)
    begins = {start for start, _ in sentences(prose)}
    run: list[tuple[str, bool]] = []
    end = -1
    for match in WORD.finditer(prose):
        word = re.sub(r"['’]s?$", "", match.group())
        opens = match.start() in begins or OPENS.search(prose, max(0, match.start() - 4), match.start()) is not None
        apart = not re.fullmatch(r"[\s.-]*", prose[max(end, 0) : match.start()])
        if not _may_be_a_name(word) or apart:
            yield from _named(run)
            run = []
        if _may_be_a_name(word):
            run.append((word, opens))
        end = match.end() if word == match.group() else -1
    yield from _named(run)


def folded(word: str) -> str:
    """In lower case, without accents and apostrophes."""
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in plain if letter.isalnum() and not unicodedata.combining(letter))


def _named(run: Sequence[tuple[str, bool]]) -> Iterator[Name]:
    words = tuple(word for word, _ in run)
    for word, opens in run:
        yield Name(word, opens, words)


def _may_be_a_name(word: str) -> bool:
    lower = word.casefold()
    return (
        word[0].isupper()
        and len(word) >= 3
        and lower not in STOP
        and lower not in LARGE
        and lower.removesuffix("s") not in LARGE
        and word not in ACRONYMS
        and re.fullmatch(r"[IVXLC]+", word) is None
    )


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


def _is_nearly(one: str, other: str) -> bool:
    """Whether the two words, of five letters at least, differ in one letter and not in the first."""
    if min(len(one), len(other)) < 5 or abs(len(one) - len(other)) > 1 or one[0] != other[0]:
        return False
    same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    rests = one[same:], other[same:]
    return rests[0][1:] == rests[1][1:] or rests[0][1:] == rests[1] or rests[0] == rests[1][1:]
