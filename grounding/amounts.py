"""Extract the figures and amounts that a text states in digits, in words or otherwise: a dozen, XIV, 2½, 5k, 3 pm."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from unicodedata import numeric

from grounding.language import ENGLISH
from grounding.lazy import LazyProperty
from grounding.measures import in_english_units
from grounding.numerals import in_digits, numbers
from grounding.stems import (
    FIGURE,
    FRACTIONS,
    MOST_DIGITS,
    SCALES,
    WHOLE_FIGURE,
    fold,
    plain_figure,
    plain_text,
    stem,
    times,
)

AMOUNTS = {
    **dict.fromkeys(("half", "halve", "halves", "halved"), ("0.5", "50", "2")),
    **dict.fromkeys(("quarter", "quarters"), ("0.25", "25", "4")),
    **dict.fromkeys(("both", "pair", "pairs", "couple", "twice", "double", "doubled", "doubles"), ("2",)),
    **dict.fromkeys(("once", "single", "sole"), ("1",)),
    **dict.fromkeys(("thrice", "triple", "tripled"), ("3",)),
    **dict.fromkeys(("decade", "decades"), ("10",)),
    **dict.fromkeys(("century", "centuries"), ("100",)),
    **dict.fromkeys(("fortnight", "fortnightly"), ("14", "2")),
    "dozen": ("12",),
    "noon": ("12",),
    "midday": ("12",),
    "midnight": ("0", "12", "24"),
    "threequarters": ("75", "0.75"),
}
ROMAN = re.compile(r"\b(?=[XVI]{2,}\b|[VX]\b)(X{0,3})(IX|IV|V?I{0,3})\b")
ROMAN_UNITS = dict(zip(("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"), range(10), strict=True))
SUFFIXES = {"k": 1000, "m": 10**6, "mn": 10**6, "mio": 10**6, "bn": 10**9, "tn": 10**12}
SUFFIXED = re.compile(rf"({WHOLE_FIGURE})\s?(k|mn?|mio|bn|tn)\b")
FRACTION = re.compile(rf"(\d{{0,6}})\s?({FRACTIONS})")
AND_A_HALF = re.compile(r"\b(\d{1,6})[\s-]and[\s-]a[\s-]half\b")
CLOCK = re.compile(r"(\d{1,2})(?::\d\d)?\s?([ap])\.?\s?m\b")
UNREAD = re.compile(r"\b(\d{1,6}(?:[.,]\d{1,6})?)[\s-](dozen|trillion)\b")  # by text_to_num
HOUR = re.compile(r"\b(1[3-9]|2[0-3])(?:(?::|\s?h\s?)[0-5]\d|\s?uhr)\b")
QUANTITY = re.compile(r"(?<![\w.,])(\d+(?:[.,]\d+)*)[\s-]*(%|[^\W\d_]+)")
ONE = r"\b(?:an?|one|each|every|per|single)[\s-]+"
SCALE = re.compile(rf"[\s-]*(?:{'|'.join(SCALES)}|k|mn?|mio|bn|tn)\b")
IN_BRACKETS = re.compile(r"\(([^()]+)\)")
SYMBOL = re.compile(
    r"(?:us|c|a)?\$|[%€£¥]|aed|ars|aud|bgn|brl|cad|chf|clp|cny|cop|czk|dkk|egp|eur|gbp|hkd|huf|idr|ils|inr|isk|jpy|"
    "kes|krw|mad|mxn|myr|ngn|nok|nzd|pen|php|pkr|pln|ron|rsd|rub|sar|sek|sgd|thb|try|twd|uah|usd|vnd|zar"
    "|[kmg]?wh?|k?m[²³]|ha|[lth]|°[cf]|dollars?|euros?|in"
)
UNITS: Mapping[str, tuple[str, float]] = {
    stem(name): (dimension, factor)
    for dimension, factor, names in (
        ("time", 1, "second seconds sec"),
        ("time", 60, "minute minutes min"),
        ("time", 3600, "hour hours hr hrs"),
        ("time", 86_400, "day days"),
        ("time", 604_800, "week weeks"),
        ("months", 1, "month months"),
        ("months", 12, "year years"),
        ("months", 120, "decade decades"),
        ("length", 0.001, "millimetre millimetres millimeter mm"),
        ("length", 0.01, "centimetre centimetres centimeter cm"),
        ("length", 1, "metre metres meter meters m"),
        ("length", 1000, "kilometre kilometres kilometer kilometers km"),
        ("mass", 0.001, "milligram milligrams mg"),
        ("mass", 1, "gram grams g"),
        ("mass", 1000, "kilogram kilograms kg"),
        ("mass", 1_000_000, "tonne tonnes ton tons"),
        ("volume", 0.001, "millilitre millilitres milliliter ml"),
        ("volume", 1, "litre litres liter liters"),
        ("share", 1, "% percent per-cent"),
    )
    for name in names.split()
}


class Facts:
    """The numbers, dates and amounts of a text, indexed for looking up the figures of claims."""

    def __init__(self, text: str) -> None:
        self._text = text

    @LazyProperty
    def folded(self) -> str:
        """The folded text."""
        return fold(self._text)

    @LazyProperty
    def joined(self) -> str:
        """The folded text without spaces and hyphens."""
        return re.sub(r"[\s-]", "", self.folded)

    @LazyProperty
    def numbers(self) -> set[str]:
        """The numbers as `stated` returns them."""
        return stated(self._text)

    @LazyProperty
    def values(self) -> list[float]:
        """The values of the numbers, sorted."""
        return sorted(value for value in map(number_of, self.numbers) if value is not None)

    @LazyProperty
    def fractions(self) -> list[float]:
        """The values that are not integers, sorted."""
        return [value for value in self.values if value % 1]

    @LazyProperty
    def always_scaled(self) -> dict[str, bool]:
        """Each figure in digits, with whether every occurrence is followed by a scale word such as million."""
        found: dict[str, bool] = {}
        for match in FIGURE.finditer(self.folded):
            figure = plain_figure(match.group())
            found[figure] = found.get(figure, True) and SCALE.match(self.folded, match.end()) is not None
        return found

    @LazyProperty
    def units(self) -> dict[str, set[tuple[str, float] | None]]:
        """For each number, the units that follow it in the text; None stands for a place where no unit does."""
        found: dict[str, set[tuple[str, float] | None]] = defaultdict(set)
        for amount in re.findall(r"[a-z]+", self.folded):  # half and both
            for figure in AMOUNTS.get(amount, ()):
                found[figure].add(None)
        text = in_english_units(self.folded, ENGLISH)
        for match in FIGURE.finditer(text):
            found[plain_figure(match.group())].add(unit_after(text[match.end() : match.end() + 20]))
        return found

    @LazyProperty
    def measures(self) -> Mapping[str, Sequence[float]]:
        """The amounts by dimension, such as length, in the dimension's base unit, sorted."""
        found: defaultdict[str, list[float]] = defaultdict(list)
        for amount, name in quantities(self.folded):
            unit, number = UNITS.get(name), number_of(amount)
            if unit and number is not None:
                found[unit[0]].append(number * unit[1])
        return {dimension: sorted(amounts) for dimension, amounts in found.items()}

    def has_one(self, name: str) -> bool:
        """True if the text has ``a``, ``each`` or ``one`` before a word that begins with ``name``."""
        return re.search(rf"{ONE}{re.escape(name)}", self.folded) is not None


facts_of = lru_cache(maxsize=64)(Facts)  # many claims are checked against one text


def stated(text: str) -> set[str]:
    """Return a text's numbers in digits, in each form that a claim may use: for "half", these are 0.5, 50 and 2."""
    folded = fold(text)
    found = numbers(text)
    for word in re.findall(r"[a-z]+", re.sub(r"\bthree[\s-]+quarters\b", "threequarters", folded)):
        found.update(AMOUNTS.get(word, ()))
    found.update(str(10 * len(tens) + ROMAN_UNITS[units]) for tens, units in ROMAN.findall(text))
    found.update(times(amount, SUFFIXES[suffix]) for amount, suffix in SUFFIXED.findall(folded))
    in_figures = in_digits(folded, {"en"})
    found.update(times(amount, SCALES[scale]) for amount, scale in UNREAD.findall(in_figures))
    found.update(f"{plain_figure(whole)}.5" for whole in AND_A_HALF.findall(in_figures))
    found.update(str(round(int(whole or 0) + numeric(part), 4)) for whole, part in FRACTION.findall(text))
    for hour, half in CLOCK.findall(folded):
        found.add(str(int(hour) % 12 + (12 if half == "p" else 0)))
    found.update(str(int(hour) - 12) for hour in HOUR.findall(folded))
    return found


def unit_after(text: str) -> tuple[str, float] | None:
    """Return dimension and size of the unit that opens a casefolded text: ("time", 3600) for hours; else None."""
    word = re.match(r"\)?[\s-]*(%|[^\W\d_]+)", text)
    return UNITS.get(stem(word[1])) if word else None


def unit_of_column(name: str) -> str:
    """Return the unit that a column's name has in brackets, such as mg/l or (in $ millions); "" without one.

    Several words stay in their brackets.
    """
    for inside in IN_BRACKETS.findall(name):
        words = re.split(r"[\s/]+", inside.strip().casefold())
        if all(SYMBOL.fullmatch(one) or stem(one) in UNITS or stem(one).rstrip("s") in SCALES for one in words):
            return f"({inside})" if " " in inside else str(inside)
    return ""


def quantities(text: str) -> Iterator[tuple[str, str]]:
    """Yield each amount with the stem of the word after it, such as ("30", "day")."""
    for match in QUANTITY.finditer(in_english_units(fold(text), ENGLISH)):
        yield plain_figure(match[1]), stem(match[2])


def plain_figures(text: str) -> set[str]:
    """Return the figures of a text in digits, in canonical form."""
    return {plain_figure(match.group()) for match in FIGURE.finditer(plain_text(text))}


def number_of(figure: str) -> float | None:
    """Return the value of a figure; None if it is invalid or has too many digits."""
    try:
        return float(figure) if len(figure) <= MOST_DIGITS else None
    except ValueError:  # 1.2.3
        return None
