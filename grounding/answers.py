"""Tell whether two short answers to one question agree, as far as code can."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from core.types import Passage, Quote
from core.words import STOP_WORDS, YES_NO, YES_NO_IN_CHINESE
from grounding.amounts import UNITS, plain_figures, quantities
from grounding.capitals import names
from grounding.dates import YEAR, dates, without_dates
from grounding.language import ENGLISH, is_english, language_of
from grounding.names import DENIAL, folded, lexicon_of
from grounding.numbers import missing_figures
from grounding.numerals import in_digits
from grounding.quotes import find_quote
from grounding.reasons import QUANTITY
from grounding.stems import SCALES, WORD, fold, plain_text, stemmed, stems

LONGEST_ANSWER = 120  # characters of a short answer
ALIKE = 0.67  # share of words in common from which two answers say the same
# Questions with several answers, or with an explanation as the answer: there documents add to each other.
OPEN = re.compile(
    r"""\W*(?:
    (?:why|explain|describe|list|summari[sz]e|compare|discuss|outline|tell)\b
    |how\s+(?!many\b|much\b|long\b|old\b|far\b|tall\b|high\b|large\b|big\b|deep\b|wide\b|often\b|fast\b|heavy\b|
      late\b|soon\b|early\b)
    |(?:what|which)\s+(?:are|were|kinds|types|sorts|reasons|factors|ways)\b
    |(?:what|which)\s+is\s+(?:one|an\s+example|a\s+(?:kind|type|sort|reason|way|part))\b
    |(?:name|give)\s+(?:some|two|three|four|five|several|an?\s+example|examples)\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
ASKS_FOR = re.compile(
    r"\b(?:who|whom|whose|what|which|when|where|how\s+(?:many|much|long|old|often|far))\b", re.IGNORECASE
)
CHOICE = re.compile(r"\b(?:or|and|between)\b|,", re.IGNORECASE)  # between things that the question names
# Stop words that may be an answer: Both of them moved. You sign it. It is below the pump.
TELLING = frozenset(
    """above after all before below between both down each few here i more most no nor not now off on once out over
    same there through under up we you""".split()
)
THOUSANDS = re.compile(r"\d,\d{3}\b")
CURRENCIES = {"€": "eur", "$": "usd", "£": "gbp", "euro": "eur", "euros": "eur", "dollar": "usd", "dollars": "usd"}
CURRENCY = re.compile(r"[€$£]|\b(?:euros?|dollars?|eur|usd|gbp|chf)\b", re.IGNORECASE)
LETTERS = re.compile(r"[^\W\d_]\w*")
OFFICE = re.compile(
    r"\b(?:since|until|elected|appointed|became|succeed\w*|replaced|won|wins|champions?|season|edition)\b",
    re.IGNORECASE,
)
CODE = re.compile(r"(?<![\w-])(?=[^\W\d_])(?=[\w-]*\d)[\w-]+")  # PX-40, Q3
BARE = re.compile(rf"\W*({YES_NO}|{YES_NO_IN_CHINESE})\b\W*", re.IGNORECASE)
OPPOSITES = {"yes": "no", "no": "yes", "ja": "nein", "nein": "ja", "oui": "non", "non": "oui", "sí": "no"}
OPPOSITES |= dict.fromkeys(("是", "是的"), "不是")
YES_OR_NO = re.compile(r"\W*(yes|no)\b(?!\s+\w)", re.IGNORECASE)  # but not "no permit"


def has_subjects(question: str, known: str) -> bool:
    """True if the document text ``known`` has each name, code and year of the question, or either is not in English."""
    there, words = lexicon_of(known), fold(known)
    absent = (not there.has(name.text) for name in names(question) if not name.opens)
    unknown = (fold(code) not in words for code in [*CODE.findall(question), *YEAR.findall(question)])
    return not (any(absent) or any(unknown)) or not is_english(question, known)


def asks_for_one_fact(question: str) -> bool:
    """True unless the question, in English, asks for an explanation or for several things."""
    return not OPEN.match(question) or language_of(question) not in (None, "en")


def own_words(answer: str, question: str) -> set[str]:
    """Return the stems of an answer that the question does not have."""
    return stems(answer) - stems(question)


def repeats_question(draft: str, question: str) -> bool:
    """True if an English question asks for something, and the draft has only words of the question.

    A word said more often than in the question is new: the second *Luxembourg* in *Luxembourg's capital is Luxembourg*.
    """
    if not ASKS_FOR.search(question) or CHOICE.search(question):
        return False
    return not _content(draft) - _content(question)


def _content(text: str) -> Counter[str]:
    words = (match.group() for match in WORD.finditer(fold(text)))
    return Counter(stem for word in words for stem in stemmed(word) or {word} & TELLING)


def gives(passage: Passage, claim: str, question: str) -> bool:
    """True if the passage has the claim's `own_words`, unless only one of claim and nearest sentence is a denial."""
    if not own_words(claim, question) <= stems(passage["text"]):
        return False
    quote = find_quote(claim, [passage], question)
    nearest = passage["text"][quote["start"] : quote["end"]] if quote else ""
    return _denies(nearest) == _denies(claim)


def is_yes_or_no(answer: str) -> bool:
    """True if the answer is nothing but a yes or no, in one of the five languages."""
    return BARE.fullmatch(answer) is not None


def both_ways(answer: str, language: str | None) -> tuple[str, str]:
    """Return a bare yes or no in lower case and its opposite: ja, nein. ``language`` tells whether "no" is Spanish."""
    word = BARE.sub(r"\1", answer).casefold()
    return word, "sí" if (word, language) == ("no", "es") else OPPOSITES.get(word, "是")


def quoted_answer(answer: str, passage: Passage, question: str) -> Quote | None:
    """Return the span of the passage that has every word of a short answer; None if there is none.

    For yes or no, it is the span that has most words of the question.
    """
    if is_yes_or_no(answer):
        return find_quote(question, [passage])
    wanted = stems(answer)
    quote = find_quote(answer, [passage], context=question)
    if quote is None or not wanted <= stems(passage["text"][quote["start"] : quote["end"]]):
        return None
    return quote


def agree(one: str, other: str, question: str) -> bool | None:
    """Tell whether two answers say the same, in other words or in more detail; None if code cannot tell."""
    said = [match[1].casefold() for text in (one, other) if (match := YES_OR_NO.match(text))]
    if len(said) == 2:
        return said[0] == said[1]
    one, other = (_in_figures(text, question) for text in (one, other))
    a, b = own_words(one, question) or stems(one), own_words(other, question) or stems(other)
    if said or not a or not b or _denies(one) != _denies(other):
        return None
    found = (CURRENCY.findall(text.casefold()) for text in (one, other))
    currencies = [{CURRENCIES.get(name, name) for name in each} for each in found]
    if all(currencies) and currencies[0].isdisjoint(currencies[1]):
        return False
    if a <= b or b <= a:
        return True
    if plain_figures(one) and plain_figures(other):
        return _same_figures(one, other, question)
    if 2 * len(a & b) / (len(a) + len(b)) >= ALIKE or _same_names(one, other):
        return True
    apart = not (_first(one, a) | _first(other, b)) & a & b
    return False if apart and _is_name(one, a) and _is_name(other, b) else None


def comparable(question: str, answers: Sequence[str], quotes: Sequence[str]) -> bool:
    """True unless the quotes of two answers speak of different things, so that both answers may hold.

    Two amounts may be of different years, or count different things. Holders of an office and winners change with the
    years. If the question has no name, the quotes may name different places or groups; this is checked in English only.
    """
    answers = [_in_figures(answer, question) for answer in answers]
    pairs = list(zip(answers, quotes, strict=True))
    counted = all(_has_amount(answer, question) for answer in answers)
    if counted or (not any(map(plain_figures, answers)) and any(map(OFFICE.search, quotes))):
        times = [set(YEAR.findall(quote)) - set(YEAR.findall(question)) for quote in quotes]
        if all(times) and times[0].isdisjoint(times[1]):
            return False
    kinds = [set(_kinds(answer, quote)) if counted else set[str]() for answer, quote in pairs]
    if all(kinds) and kinds[0].isdisjoint(kinds[1]):
        return False
    if any(not name.opens for name in names(question)):
        return True
    others = [
        {folded(name.text) for name in names(quote) if not name.opens} - {folded(word) for word in WORD.findall(answer)}
        for answer, quote in pairs
    ]
    return not all(others) or not others[0].isdisjoint(others[1]) or not is_english(question, *quotes)


def _in_figures(answer: str, question: str) -> str:
    """Return the answer with its English number words as figures, if the question is for a quantity or a date."""
    return in_digits(answer, ENGLISH) if QUANTITY.search(question) else answer


def _kinds(answer: str, quote: str) -> Iterator[str]:
    """Yield what the answer's figures count in its quote: the stem of the next word or, for a unit, its dimension."""
    said = plain_figures(answer)
    for amount, kind in quantities(quote):
        if amount in said and kind not in STOP_WORDS | SCALES.keys():
            yield UNITS[kind][0] if kind in UNITS else kind


def _denies(text: str) -> bool:
    return DENIAL.search(text) is not None


def _is_name(text: str, own: set[str]) -> bool:
    """True if all words of the text whose stems are in ``own`` are capitalised."""
    return all(word[0].isupper() for word in LETTERS.findall(text) if stems(word) & own)


def _first(text: str, own: set[str]) -> set[str]:
    """Return, of the stems in ``own``, the one that comes first in the text, such as that of Joseph in Joseph Haydn."""
    return next((found for word in WORD.findall(text) if (found := stems(word) & own)), own)


def _same_figures(one: str, other: str, question: str) -> bool | None:
    found, others = map(dates, (one, other))
    if found and others:
        pairs = [zip(date, another, strict=True) for date in found for another in others]
        return any(all(a is None or b is None or a == b for a, b in pair) for pair in pairs)
    if not missing_figures(one, other, question, "") or not missing_figures(other, one, question, ""):
        return True
    return False if _has_amount(one, question) == _has_amount(other, question) else None


def _has_amount(text: str, question: str) -> bool:
    """True if the text has a figure that the question has not and that is no date or year."""
    figures = plain_figures(without_dates(plain_text(text), dates(text))) - plain_figures(question)
    return not all(map(YEAR.fullmatch, figures)) or THOUSANDS.search(text) is not None


def _same_names(one: str, other: str) -> bool:
    """True if one answer has all names of the other, in any form, and at most one of the two adds other words."""
    found = [{name.text for name in names(text)} for text in (one, other)]
    rest = [stems(text) - stems(" ".join(named)) for text, named in zip((one, other), found, strict=True)]
    if not (rest[0] <= rest[1] or rest[1] <= rest[0]):
        return False
    return any(named and all(map(lexicon_of(text).has, named)) for named, text in zip(found, (other, one), strict=True))
