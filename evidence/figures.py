"""The figures of a claim that its passages do not state, in whatever form they might."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from evidence.dates import dates, without_dates
from evidence.words import (
    COMPOUND,
    FIGURE,
    NUMBERS,
    ON_THE_HOUR,
    ORDINAL,
    SCALES,
    TENS,
    fold,
    numbers,
    plain_figure,
    scaled,
    stem,
)

CITED = re.compile(r"\[\d{1,2}\]")
HYPHENS = str.maketrans("‐‑‒–—", "-----")
LATER_ORDINALS = {
    word: str(value)
    for value, word in enumerate(
        """eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth
        twentieth""".split(),
        11,
    )
} | {"thirtieth": "30", "fortieth": "40", "fiftieth": "50", "sixtieth": "60", "hundredth": "100"}
ORDINAL_COMPOUND = re.compile(rf"\b({'|'.join(TENS)})[\s-]+({'|'.join(ORDINAL)})\b")
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
SUFFIXES = {"k": "thousand", "m": "million", "mn": "million", "mio": "million", "bn": "billion", "tn": "trillion"}
SUFFIXED = re.compile(r"(\d+(?:[.,]\d+)*)\s?(k|mn?|mio|bn|tn)\b")
CLOCK = re.compile(r"(\d{1,2})(?::\d\d)?\s?([ap])\.?\s?m\b")
HOUR = re.compile(r"\b(1[3-9]|2[0-3]):[0-5]\d\b")
FORMULAE = frozenset("CO2 H2 H2O O2 O3 N2 N2O NO2 SO2 CH4".split())
ABOUT = re.compile(
    r"(?:about|around|approximately|approx\.|roughly|nearly|almost|over|under|than|some|circa|ca\.|just|~|≈)\s*[$€£]?$"
)
QUANTITY = re.compile(rf"(?<![\w.,])(\d+(?:[.,]\d+)*|\b(?:{'|'.join(NUMBERS)}))[\s-]*(%|[^\W\d_]+)")
ONE = r"\b(?:an?|one|each|every|per|single)[\s-]+{}"
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
# With these a figure that the passages do not state may yet follow from what they do.
CONDITION = re.compile(
    r"\b(?:if|unless|when|whether|would|not|no|never|neither|nor|cannot|without|instead|rather|than|so|because|"
    r"since|therefore|but|only|still|even|up\s+to|at\s+(?:least|most))\b|n['’]t\b|[<>≤≥]",
    re.IGNORECASE,
)
BOUND = re.compile(
    r"\b(?:up\s+to|at\s+(?:least|most)|(?:more|less|fewer|later|older|younger|longer|other)\b|over|under|above|below|"
    r"within|minimum|maximum|min|max|exceed\w*|limit\w*|until|since|from|to|between|before|after|by|every|per|each|"
    r"any|all|through|during|onwards?|increas\w+|decreas\w+|rose|fell|grow\w*|grew)\b|[<>≤≥+]",
    re.IGNORECASE,
)


def missing_figures(claim: str, text: str, question: str, near: str, *, english: bool = True) -> list[str]:
    """The figures of ``claim`` that do not stand in ``text``.

    One that the question names is missing only where ``near``, the quote, states another of its kind instead, and
    nothing in it or in the claim says that the one may follow from the other.
    """
    plain = without_dates(ON_THE_HOUR.sub("", CITED.sub(" ", _plain(claim))), dates(_plain(text)))
    known, asked = stated(text), stated(question)
    folded = fold(text)
    open_to_doubt = english and not CONDITION.search(claim) and not BOUND.search(near)
    missing: set[str] = set()
    for match in FIGURE.finditer(plain):
        figure = plain_figure(match.group())
        if figure in known and not _of_another_scale(plain, match, folded, known):
            continue
        if _follows(plain, match, folded, known):
            continue
        if figure not in asked or (open_to_doubt and _contradicted(plain, match.span(), near, question)):
            missing.add(figure)
    if open_to_doubt:
        missing.update(_contradicted_words(plain, known, near, question))
    return sorted(missing)


def stated(text: str) -> set[str]:
    """The numbers that a text states in any form that a claim may turn into digits."""
    folded = fold(text)
    found = numbers(text)
    found.update(LATER_ORDINALS[word] for word in re.findall(r"[a-z]+", folded) if word in LATER_ORDINALS)
    found.update(str(int(NUMBERS[tens]) + int(ORDINAL[unit])) for tens, unit in ORDINAL_COMPOUND.findall(folded))
    for word in re.findall(r"[a-z]+", re.sub(r"\bthree[\s-]+quarters\b", "threequarters", folded)):
        found.update(AMOUNTS.get(word, ()))
    found.update(str(10 * len(tens) + ROMAN_UNITS[units]) for tens, units in ROMAN.findall(text))
    found.update(scaled(amount, SUFFIXES[suffix]) for amount, suffix in SUFFIXED.findall(folded))
    for hour, half in CLOCK.findall(folded):
        found.add(str(int(hour) % 12 + (12 if half == "p" else 0)))
    found.update(str(int(hour) - 12) for hour in HOUR.findall(folded))
    return found


def quantities(text: str) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Each amount with the stem of the word behind it, and where the amount stands."""
    folded = COMPOUND.sub(lambda match: f"{int(NUMBERS[match[1]]) + int(NUMBERS[match[2]])}", fold(text))
    for match in QUANTITY.finditer(folded):
        amount = NUMBERS.get(match[1]) or plain_figure(match[1])
        yield amount, stem(match[2]), match.span(1)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).translate(HYPHENS)


def _of_another_scale(claim: str, match: re.Match[str], folded: str, known: set[str]) -> bool:
    """Whether the claim says ``59 million`` of what is 59 thousand wherever it is stated."""
    behind = re.match(rf"[\s-]+({'|'.join(SCALES)})\b", claim[match.end() :], re.IGNORECASE)
    if behind is None:
        return False
    amount = plain_figure(match.group())
    if scaled(amount, behind[1].lower()) in known:
        return False
    same = [one for one in FIGURE.finditer(folded) if plain_figure(one.group()) == amount]
    scale = re.compile(rf"[\s-]*(?:{'|'.join(SCALES)}|k|mn?|mio|bn|tn)\b")
    return bool(same) and all(scale.match(folded, one.end()) for one in same)


def _follows(claim: str, match: re.Match[str], folded: str, known: set[str]) -> bool:
    """Whether the figure says in another form, unit or precision what the folded text states, or counts a list."""
    figure, behind = plain_figure(match.group()), fold(claim[match.end() :])
    scale = re.match(rf"[\s-]+({'|'.join(SCALES)})\b", behind)
    if scale and scaled(figure, scale[1]) in known:
        return True
    try:
        value = float(scaled(figure, scale[1])) if scale else float(figure)
    except ValueError:  # 1.2.3
        return False
    values = {number for number in map(_number, known) if number is not None}
    if named := re.search(r"[^\W\d_]+-?$", claim[: match.start()]):
        word = named[0] + match.group()
        return word in FORMULAE or fold(word).replace("-", "") in re.sub(r"[\s-]", "", folded)
    if figure == "1" and (unit := re.match(r"[\s-]*([^\W\d_]{3,})", behind)):
        return re.search(ONE.format(re.escape(unit[1][: max(3, len(unit[1]) - 2)])), folded) is not None
    if re.match(r"\s*(?:%|per\s?cent)", behind) and {value / 100} & values:
        return True
    if ABOUT.search(fold(claim[: match.start()])) and any(abs(one - value) <= 0.05 * value for one in values):
        return True
    decimals = len(figure.partition(".")[2])
    if not scale and (decimals or value >= 10) and any(one % 1 and round(one, decimals) == value for one in values):
        return True
    return _converted(value, behind, folded) or _counts(claim, value, behind)


def _converted(value: float, behind: str, folded: str) -> bool:
    unit = re.match(r"[\s-]*(%|[^\W\d_]+)", behind)
    here = UNITS.get(stem(unit[1])) if unit else None
    if here is None:
        return False
    for amount, name, _ in quantities(folded):
        there, number = UNITS.get(name), _number(amount)
        if there and number is not None and there[0] == here[0] and abs(number * there[1] - value * here[1]) < 1e-6:
            return True
    whole = (name for name, unit in UNITS.items() if unit[0] == here[0] and unit[1] == value * here[1])
    return any(re.search(ONE.format(re.escape(name)), folded) for name in whole)


def _counts(claim: str, value: float, behind: str) -> bool:
    """Whether the claim lists as many things as it says that there are, or is of a list so introduced."""
    if value in range(2, 13) and re.match(r"\s+(?:[a-z]+\s+){0,3}[a-z]+s\b[^.:]{0,60}:", behind):
        return True
    separators = re.findall(r",\s*(?:and|or)\s|[,;]\s|\s(?:and|or)\s", claim)
    return 2 <= value <= 10 and value in (len(separators), len(separators) + 1)


def _contradicted(claim: str, span: tuple[int, int], near: str, question: str) -> bool:
    """Whether the quote states another figure of the same kind: a year, or of the same thing."""
    figure = plain_figure(claim[slice(*span)])
    own = stated(claim) | stated(question)
    if _is_year(figure):
        rivals = {one for one in _figures(near) if _is_year(one)}
        return bool(rivals) and not rivals & stated(claim)
    kinds = {kind for amount, kind, _ in quantities(claim) if amount == figure}
    return any(kind in kinds and amount not in own for amount, kind, _ in quantities(near))


def _contradicted_words(claim: str, known: set[str], near: str, question: str) -> Iterator[str]:
    """The amounts in words, of years or other units, in whose place the quote states another."""
    own = stated(claim) | stated(question)
    there = list(quantities(near))
    for amount, kind, _ in quantities(claim):
        if kind not in UNITS or amount in known or amount == "1" or re.search(rf"\b{re.escape(amount)}\b", claim):
            continue
        if any(other == kind and value not in own for value, other, _ in there):
            number = _number(amount) or 0.0
            if not _converted(number, f" {kind}", fold(near)):
                yield amount


def _figures(text: str) -> set[str]:
    return {plain_figure(match.group()) for match in FIGURE.finditer(_plain(text))}


def _is_year(figure: str) -> bool:
    return re.fullmatch(r"1\d{3}|20\d\d", figure) is not None


def _number(figure: str) -> float | None:
    try:
        return float(figure)
    except ValueError:
        return None
