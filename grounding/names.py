"""Find the names in a claim that its passages do not contain."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from core.words import STOP_WORDS
from grounding.capitals import WORD, Name, names
from grounding.dates import MONTHS, months
from grounding.language import is_english
from grounding.lazy import LazyProperty

WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
DAILY = re.compile(r"\b(?:weekdays?|weekends?|daily|days?|\d{4}-\d\d-\d\d)\b", re.IGNORECASE)  # days in general
ENDINGS = re.compile(r"(?:ians?|eans?|ans|an|ese|ish|ers?|ns|n|s|ia|y|a|ic|i)$")
ALIASES = tuple(
    frozenset(group.split())
    for group in """france french frenchman, netherlands dutch holland, britain british uk kingdom england english,
    america american americans us usa united states, spain spanish spaniard, wales welsh, switzerland swiss, congo
    congolese, denmark danish danes, poland polish poles, ireland irish, finland finnish finns, greece greek greeks,
    turkey turkish turks, germany german germans, soviet ussr russia russian, christmas december""".split(",")
)
# With these the passage may refer to a thing that is named elsewhere in the document.
PRONOUNS = "he she his her hers him they their them it its this these those such we our us you your my".split()
ANAPHOR = re.compile(rf"\b(?:{'|'.join([*PRONOUNS, *(word.title() for word in PRONOUNS)])})\b")  # and not US or IT
DEFINITE = re.compile(r"^\W*the\s+(?!(?:world|earth|globe|planet|average|total|sum|rest|global|whole|number)\b)", re.I)
WHO = re.compile(r"\W*(?:who|whom|whose)\b", re.IGNORECASE)
# Words that may begin a sentence without being names: agent nouns, plurals, adjectives, participles.
ORDINARY = re.compile(
    r"(?:er|or|ist|ian|ant|ent|ess|man|men|al|ous|ive|ly|ing|ed|ic|ful|s|ion|ity|one|body)$"
    r"|^(?:people|staff|children|women|police|management|someone|author)$",
    re.IGNORECASE,
)
DOTTED = re.compile(r"\b(?:[A-Z]\.){2,}")
MOST_MISSING = 100  # names per claim
MOST_POSITIONS = 1000  # at which an acronym may be spelt out
RUN = re.compile(r"[^\W_]{0,13}")
# Up to the next word, with up to two function words between.
NEXT_WORD = [
    re.compile(rf"[^\W_]*+[\W_]++(?:(?:of|and|the|for|in|on|to|de)\W++){{{small}}}", re.IGNORECASE)
    for small in range(3)
]
DENIAL = re.compile(
    r"\b(?:not|no(?!\.\s?\d)|never|neither|nor|none|nobody|nothing|cannot|without|unlike|if)\b|n['’]t\b", re.I
)


class Lexicon:
    """The words of a text, indexed for looking up names."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._following: dict[int, dict[str, list[int]]] = {}

    @LazyProperty
    def words(self) -> frozenset[str]:
        """Every word, folded; a word with an apostrophe as a whole and in parts; an acronym without its dots."""
        whole = {folded(word) for found in (WORD, DOTTED) for word in found.findall(self._text)}
        return frozenset(whole | {folded(part) for part in re.findall(r"[^\W_]+", self._text)})

    @LazyProperty
    def roots(self) -> frozenset[str]:
        """The words without the endings of demonyms, languages and plurals."""
        return frozenset(_root(word) for word in self.words)

    @LazyProperty
    def beginnings(self) -> dict[str, list[int]]:
        """For each letter, the positions right after it where it begins a word: at most ``MOST_POSITIONS``."""
        found: dict[str, list[int]] = {}
        for match in re.finditer(r"\b[^\W_]", self._text):
            positions = found.setdefault(match.group().lower(), [])
            if len(positions) < MOST_POSITIONS:
                positions.append(match.end())
        return found

    def has(self, name: str) -> bool:
        """True if the text has the name in any form: inflected, accented, abbreviated, spelt out, or misspelt."""
        word = folded(name)
        if word in self.words or _root(word) in self.roots:
            return True
        alike = (known for known in self.words if known[:1] == word[:1]) if len(word) >= 4 else ()
        if any(known.startswith(word) or _is_one_edit_away(word, known) for known in alike):
            return True
        if any(word in group and group & self.words for group in ALIASES):
            return True
        if word in MONTHS:
            named = months(self._text)
            return MONTHS[word] in named or len(named) > 1
        if word.removesuffix("s") in WEEKDAYS:
            return len(WEEKDAYS & self.words) > 1 or DAILY.search(self._text) is not None
        return name.isupper() and self._spells_out(word)

    @LazyProperty
    def capitalised(self) -> frozenset[str]:
        """The words that the text has as names: capitalised within a sentence; folded."""
        if self._text.isupper():
            return frozenset()
        return frozenset(folded(name.text) for name in names(self._text) if not name.opens)

    @LazyProperty
    def lowercase(self) -> frozenset[str]:
        """The words that the text has without a capital."""
        return frozenset(word for word in WORD.findall(self._text) if word[0].islower())

    def _spells_out(self, acronym: str) -> bool:
        """True if consecutive words begin with the acronym's letters, with up to two function words between.

        One word may provide several of the letters, at most twelve characters apart.
        """
        if len(acronym) > 6:
            return False
        ends = set(self.beginnings.get(acronym[0], ()))
        for letter in acronym[1:]:
            ends = {end for start in ends for end in self._next(start).get(letter, ())}
        return bool(ends)

    def _next(self, start: int) -> dict[str, list[int]]:
        """Return the letters later in this word or at the beginning of a next one, each with the positions after it."""
        if start not in self._following:
            text, found = self._text, dict[str, list[int]]()
            within = range(start, RUN.match(text, start).end())  # type: ignore[union-attr]
            for at in (*within, *(match.end() for words in NEXT_WORD if (match := words.match(text, start)))):
                found.setdefault(text[at : at + 1].lower(), []).append(at + 1)
            self._following[start] = found  # stored when complete, as other threads read it
        return self._following[start]


lexicon_of = lru_cache(maxsize=64)(Lexicon)  # many claims look up names in one text


def missing_names(claim: str, text: str, question: str, quote: str, *, elsewhere: str = "") -> list[str]:
    """Return the names in ``claim`` that ``text`` does not have, in order.

    A name of the question is missing only if two things hold: ``elsewhere``, other text of the documents, lacks it,
    and the ``quote`` has no pronoun or "the …" that may stand for it. Unless all texts are in English no name is
    missing: other languages capitalise other words, and write names in other ways.
    """
    missing = _missing(claim, text, question, quote, elsewhere)
    return missing if missing and is_english(claim, text, question) else []


def _missing(claim: str, text: str, question: str, quote: str, elsewhere: str) -> list[str]:
    if _is_title(claim):
        return []
    lexicon, asked, other = map(lexicon_of, (text, question, elsewhere))
    unclear = DENIAL.search(claim) or ANAPHOR.search(quote) or DEFINITE.search(quote)
    missing: list[str] = []
    for name in names(claim):
        if name.text in missing or lexicon.has(name.text):
            continue
        if asked.has(name.text):
            known = unclear or folded(name.text) not in asked.capitalised or other.has(name.text)
            if known or any(map(lexicon.has, name.run)):
                continue
        elif name.opens and not _is_surely_a_name(name, lexicon, question):
            continue
        missing.append(name.text)
        if len(missing) == MOST_MISSING:
            break
    return missing


def names_asked_for(question: str) -> list[tuple[str, ...]]:
    """Return the names in an English question, each as its adjacent words; none of a question in title case.

    A single capitalised word that opens the question is no name.
    """
    if _is_title(question) or not is_english(question):
        return []
    return list(dict.fromkeys(one.run for one in names(question) if not one.opens))


def has_name(words: Sequence[str], text: str) -> bool:
    """Whether a text has one of a name's ``words`` in some form, or their initials within an acronym: CBP, NCLB."""
    initials = "".join(word[0] for word in words).upper()
    if len(words) > 1 and re.search(rf"\b[A-Z]{{0,2}}{re.escape(initials)}\b", text):
        return True
    return any(map(lexicon_of(text).has, words))


def names_lacked_by(text: str, question: str) -> list[tuple[str, ...]]:
    """Return the `names_asked_for` that a text does not have."""
    return [words for words in names_asked_for(question) if not has_name(words, text)]


def folded(word: str) -> str:
    """Return the word in lower case, without accents and apostrophes."""
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in plain if letter.isalnum() and not unicodedata.combining(letter))


def _is_surely_a_name(name: Name, lexicon: Lexicon, question: str) -> bool:
    """True if the capitalised first word of a sentence is a name: by its form, because a name of the text follows, or
    because no name follows and the question asks who.
    """
    if not name.text[1:].islower():
        return True
    following = name.run[name.run.index(name.text) + 1 :][:1]
    if ORDINARY.search(name.text):
        return False
    if not following:
        return WHO.match(question) is not None
    return folded(following[0]) in lexicon.capitalised and following[0].casefold() not in lexicon.lowercase


def _is_title(claim: str) -> bool:
    """True if the claim is in title case or upper case, where a capital does not mark a name."""
    words = [match.group() for match in WORD.finditer(claim)]
    capitalised = [word for word in words if word[0].isupper()]
    stop_words = [word for word in capitalised[1:] if word.casefold() in STOP_WORDS and len(word) > 1]
    return bool(words) and (claim.isupper() or (bool(stop_words) and len(capitalised) >= 0.7 * len(words)))


def _root(word: str) -> str:
    shorter = ENDINGS.sub("", word)
    return shorter if len(shorter) >= 4 else word


def _is_one_edit_away(one: str, other: str) -> bool:
    """True if two words of five letters or more differ by one letter, replaced or left out."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < 5 or len(longer) > len(shorter) + 1:
        return False
    at = next((i for i, letter in enumerate(shorter) if letter != longer[i]), len(shorter))
    return longer[at + 1 :] == shorter[at + len(shorter) + 1 - len(longer) :]
