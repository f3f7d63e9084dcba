"""The words of a text as they are compared: folded, stemmed roughly, without those that carry no meaning."""

from __future__ import annotations

import re
import unicodedata

STOP = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he her
    here hers him his how i if in into is it its itself just may me might more most must my no nor not of off
    on once only or other our out over own same she should so some such than that the their them then there
    these they this those through to too under until up upon very was we were what when where which while who
    whom why will with would you your""".split()
)
WORD = re.compile(r"[^\W_]+(?:[.,'’][^\W_]+)*", re.UNICODE)
CJK = re.compile(r"[぀-ヿ㐀-鿿가-힯]")
SUFFIX = re.compile(r"(?:ations?|ments?|ings?|ness|edly|ally|ies|ied|ion|ive|ous|es|ed|ly|al|s|e|y)$")
UNITS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBERS = {word: str(value) for value, word in enumerate(UNITS)} | {
    word: str(10 * value) for value, word in enumerate(TENS, 2)
}
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def fold(text: str) -> str:
    """Compatibility-normalised and casefolded."""
    return unicodedata.normalize("NFKC", text).casefold()


def stem(word: str) -> str:
    """A rough stem: enough to see that two forms of one word are one word."""
    if len(word) < 4 or any(character.isdigit() for character in word):
        return word
    shorter = SUFFIX.sub("", word)
    return shorter if len(shorter) >= 3 else word


def stems(text: str) -> set[str]:
    """The stems of the words that carry meaning; figures in one form; CJK text by pairs of characters."""
    found: set[str] = set()
    for match in WORD.finditer(fold(text)):
        word = match.group().removesuffix("'s").removesuffix("’s")
        if CJK.search(word):
            found.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif FIGURE.fullmatch(word):
            found.add(plain_figure(word))
        elif word not in STOP:
            found.add(NUMBERS.get(word) or stem(word))
    return found


def plain_figure(figure: str) -> str:
    """One form for ``1,000``, ``1000`` and ``1000.0``."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", figure):
        figure = figure.replace(",", "")
    figure = figure.replace(",", ".")
    if re.fullmatch(r"\d+\.\d+", figure):
        figure = figure.rstrip("0").rstrip(".")
    return figure.lstrip("0") or "0"


def figures(text: str) -> set[str]:
    """The numbers that a text states in digits, each in one form."""
    return {plain_figure(match.group()) for match in FIGURE.finditer(unicodedata.normalize("NFKC", text))}


def numbers(text: str) -> set[str]:
    """The numbers that a text states in digits or, up to ninety, in words."""
    words = (NUMBERS.get(word) for word in re.findall(r"[a-z]+", fold(text)))
    return figures(text) | {value for value in words if value}
