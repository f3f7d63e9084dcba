"""Normalise the words and numbers of a text for comparison: folded, roughly stemmed, without stop words."""

import re
import unicodedata
from functools import lru_cache
from itertools import groupby, islice

from core.words import CJK, RAISED_DIGITS, STOP_WORDS

# The languages, besides English, whose words are reduced to a stem.
SNOWBALL = dict(
    pair.split(":")
    for pair in """ca:catalan cs:czech da:danish de:german el:greek es:spanish et:estonian
    fi:finnish fr:french hu:hungarian it:italian lt:lithuanian nl:dutch no:norwegian
    pl:polish pt:portuguese ro:romanian ru:russian sv:swedish tr:turkish""".split()
)
WORD = re.compile(r"[^\W_]+(?:[.,'’][^\W_]+)*", re.UNICODE)
SUFFIX = re.compile(r"(?:ations?|ments?|ings?|ness|edly|ally|ies|ied|ion|ive|ous|es|ed|ly|al|s|e|y)$")
UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBERS = {word: str(value) for value, word in enumerate(UNITS)} | {
    word: str(10 * value) for value, word in enumerate(TENS, 2)
}
SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
WITH_UNIT = re.compile(rf"({FIGURE.pattern})(?:st|nd|rd|th|([^\W\d_]{{1,3}}))")  # 3rd, 20kg
# A figure within a longer pattern: anchored at its first digit and possessive, since backtracking over a page of digits
# would take quadratic time.
WHOLE_FIGURE = r"(?<!\d)(?<!\d[.,])\d++(?:[.,]\d++)*+"
MOST_DIGITS = 40  # of a figure that is parsed; a longer one is compared as text
ON_THE_HOUR = re.compile(r"(?<=\d):00\b")

HYPHENS = str.maketrans("‐‑‒–—", "-----")
MARKS = re.compile(r"[^\w\s\x00-\x7f]{31,}")
FRACTIONS = "[¼-¾⅐-⅞]"
RAISED = re.compile(f"(?<=[0-9])(?={RAISED_DIGITS}|{FRACTIONS})")
MOST_MARKS = 30  # on one character, as in Unicode's stream-safe text
# 9.30 a.m., 9.30 to 11 am and 9.30 Uhr are times, 9.30 alone is not.
TIME = re.compile(
    r"(?<![\d.,])(\d{1,2})\.(?=[0-5]\d(?:\s?(?:[-–]|to|and|bis|und)\s?\d{1,2}(?:[.:]\d\d)?)?\s?(?:[ap]\.?\s?m|uhr)\b)",
    re.IGNORECASE,
)


def normal(text: str) -> str:
    """Return the text in NFKC, with at most 30 combining marks per character: sorting more takes quadratic time.

    A space separates a figure from a raised one (an exponent, the number of a note) and from a fraction, as in 1½. A
    time of day has a colon: 9:30 for 9.30 a.m.
    """
    return TIME.sub(r"\1:", unicodedata.normalize("NFKC", RAISED.sub(" ", MARKS.sub(_with_fewer_marks, text))))


def _with_fewer_marks(match: re.Match[str]) -> str:
    runs = groupby(match.group(), key=lambda character: unicodedata.combining(character) > 0)
    return "".join("".join(islice(run, MOST_MARKS) if marks else run) for marks, run in runs)


def plain_text(text: str) -> str:
    """Return the text normalised, with one kind of hyphen."""
    return normal(text).translate(HYPHENS)


def fold(text: str) -> str:
    """Return the text in NFKC, casefolded."""
    return normal(text).casefold()


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a rough stem, enough to match two forms of one word."""
    if len(word) < 4 or any(character.isdigit() for character in word):
        return word
    shorter = SUFFIX.sub("", word)
    return shorter if len(shorter) >= 3 else word


def stems(text: str) -> set[str]:
    """Return the stems of all but stop words; figures in canonical form; CJK text as character bigrams."""
    return set(stemmed(text))


@lru_cache(maxsize=4096)
def stemmed(text: str, language: str = "en") -> frozenset[str]:
    """Return `stems` as a frozen set, cached for sentences and passages that are compared repeatedly.

    For a ``language`` in `SNOWBALL` the stems are Snowball's, and stop words are kept.
    """
    found: set[str] = set()
    for match in WORD.finditer(fold(text)):
        word = match.group().removesuffix("'s").removesuffix("’s")
        if CJK.search(word):
            found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif FIGURE.fullmatch(word):
            found.add(plain_figure(word))
        elif joined := WITH_UNIT.fullmatch(word):
            found.update((plain_figure(joined[1]), *filter(None, joined.groups()[1:])))
        elif language in SNOWBALL:
            from snowballstemmer import stemmer

            reduce = stemmer(SNOWBALL[language])  # a new one, since it has state and threads share ours
            found.update(reduce.stemWords(re.split("['’]", word)))  # l'eau, dell'acqua
        elif word not in STOP_WORDS:
            found.add(NUMBERS.get(word) or stem(word))
    return frozenset(found)


def plain_figure(figure: str) -> str:
    """Return the canonical form of a figure: ``1000`` for ``1,000``, ``1000`` and ``1000.0``."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", figure):
        figure = figure.replace(",", "")
    figure = figure.replace(",", ".")
    if re.fullmatch(r"\d+\.\d+", figure):
        figure = figure.rstrip("0").rstrip(".")
    return re.sub(r"^0+(?=\d)", "", figure)


def figures(text: str) -> set[str]:
    """Return the numbers that a text states in digits, in canonical form."""
    plain = ON_THE_HOUR.sub("", normal(text))
    return {plain_figure(match.group()) for match in FIGURE.finditer(plain)}


def times(figure: str, factor: int) -> str:
    """Return a multiple of a figure in canonical form; an invalid or very long figure as is."""
    figure = plain_figure(figure)
    if figure.count(".") > 1 or len(figure) > MOST_DIGITS:
        return figure
    whole, _, fraction = figure.partition(".")
    value = int(whole + fraction) * factor
    return plain_figure(f"{value // 10 ** len(fraction)}.{value % 10 ** len(fraction):0{len(fraction) or 1}}")
