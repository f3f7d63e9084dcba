"""Find the figures of a claim that its passages do not state in any form."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from grounding.amounts import (
    SUFFIXES,
    UNITS,
    Facts,
    facts_of,
    number_of,
    plain_figures,
    quantities,
    stated,
    unit_after,
)
from grounding.dates import NAMES, YEAR, dates, months, without_dates
from grounding.language import ENGLISH, languages_of
from grounding.measures import in_english_units, with_english_units
from grounding.numerals import READ, figures_in_full
from grounding.stems import FIGURE, ON_THE_HOUR, SCALES, fold, plain_figure, plain_text, stem, times

CITED = re.compile(r"\[\d{1,2}\]")
FORMULAE = frozenset("CO2 H2 H2O O2 O3 N2 N2O NO2 SO2 CH4".split())
ABOUT = re.compile(
    r"(?:about|around|approximately|approx\.|roughly|nearly|almost|over|under|than|some|circa|ca\.|just|~|≈)\s*[$€£]?$"
)
LIMIT = re.compile(r"\b(?:not?|never)\s+\w+\s+than\s*[$€£]?$")  # not more than 30 days is as exact as 30 days
AMOUNT = re.compile(r"(?<![\w.,])(\d+(?:\.\d+)?)(?![\d.,]*\d|[a-zºª])(?:[\s-]+([^\W\d_]+))?", re.IGNORECASE)
SCALE_WORD = re.compile(rf"[\s-]+({'|'.join(SCALES)})\b")
SUFFIX = re.compile(rf"\s?({'|'.join(SUFFIXES)})\b")
TIMES = re.compile(r"(?<![\d.,:])(\d{1,2})(?::([0-5]\d))?(?!\d)(?:\s?([ap])\.?\s?m\b)?")
PERIOD = re.compile(r"['’]?(s)\b|(?:st|nd|rd|th)[\s-]centur")  # of 1920s, of 20th century
NAMED = re.compile(r"(?<![^\W\d_])[^\W\d_]++-?$")
SEPARATOR = re.compile(r",\s*(?:and|or)\s|[,;]\s|\s(?:and|or)\s")
NEAR = 200  # characters before and after a figure that are its context
# With these words a figure that the passages do not state may still follow from what they do state.
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


def contradicted(claim: str, quote: str, question: str) -> set[str]:
    """Return the claim's figures that the quote replaces: it has another year, or another number of the same thing."""
    claimed = stated(claim)
    own = claimed | facts_of(question).numbers
    kinds = {kind for amount, kind in quantities(quote) if amount not in own}
    amounts = {amount for amount, kind in quantities(claim) if kind in kinds and not YEAR.fullmatch(amount)}
    years, said = (set(filter(YEAR.fullmatch, plain_figures(text))) for text in (claim, quote))
    return amounts | years if said and not said & claimed else amounts


def missing_figures(claim: str, text: str, question: str, quote: str) -> list[str]:
    """Return the figures of ``claim`` that ``text`` does not state.

    A figure that the question states too is missing only where, in English, the ``quote`` states another of its kind
    without a bound such as "at most", and the claim has no condition. In languages whose number words are not read,
    figures of one or two digits are never missing.
    """
    others = languages_of([claim, text, question]) - ENGLISH
    if not others:
        return _missing(claim, text, question, quote)
    # The parts of dates, too: a claim may write a date in a form that is not read.
    parts = " ".join(str(part) for date in sorted(dates(text), key=str) for part in date if part is not None)
    whole = f"{text}\n{in_english_units(text, others)}\n{parts}"
    asked = f"{question}\n{in_english_units(question, others)}"
    said = figures_in_full(claim, others | languages_of([claim]))
    missing = _missing(with_english_units(said), whole, asked, None, others | ENGLISH)
    return missing if others <= READ else [figure for figure in missing if len(figure) >= 3]


def _missing(claim: str, text: str, question: str, quote: str | None, languages: frozenset[str] = ENGLISH) -> list[str]:
    """Return the missing figures; without a quote only those that neither text nor question states."""
    facts, asked = facts_of(text), facts_of(question).numbers
    plain = without_dates(ON_THE_HOUR.sub("", CITED.sub(" ", plain_text(claim))), dates(text))
    comparable = quote is not None and not CONDITION.search(claim) and not BOUND.search(quote)
    denied = contradicted(plain, quote or "", question) if comparable else set()
    listed = len(SEPARATOR.findall(plain))
    missing: set[str] = set()
    said = f"{plain}\n{_in_words(plain, languages, facts)}"
    for match in FIGURE.finditer(said):
        figure = plain_figure(match.group())
        if (figure not in asked or figure in denied) and not _is_stated(said, match, facts, listed):
            missing.add(figure)
    missing.update(_other_months(plain, text, question))
    missing.update(_other_halves(plain, text, question))
    return sorted(missing)


def _in_words(claim: str, languages: frozenset[str], facts: Facts) -> str:
    """Return the claim's number words that can be compared with the facts, in digits and with their units.

    A number with a unit is compared if the facts have the number or an amount of that dimension: otherwise "five years"
    may follow from 2015 and 2020. A number without a unit is compared if it is neither small nor round.
    """
    plain, found = plain_figures(figures_in_full(claim, languages)), []
    for match in AMOUNT.finditer(in_english_units(claim, languages)):
        figure, unit = plain_figure(match[1]), UNITS.get(stem(match[2].lower())) if match[2] else None
        value = number_of(figure) or 0.0
        is_round = value == 1 or value in SCALES.values()
        others = not is_round and (unit[0] in facts.measures if unit else value >= 13)
        if figure not in plain and (others or (unit and figure in facts.numbers)):
            found.append(match.group())
    return "; ".join(found)


def _other_months(claim: str, text: str, question: str) -> Iterator[str]:
    """Yield the claim's dates, except the question's, that the text has only in another month.

    It compares dates with the same day or, without days, the same year. A month between the text's is not yielded.
    """
    stated = dates(text)
    for date in dates(claim) - dates(question):
        alike = [one for one in stated if one.day == date.day and one.year in (None, date.year)]
        if date.day and alike and all(one.month != date.month for one in alike):
            yield f"{date.day} {NAMES[date.month - 1].capitalize()}"
        if date.day or not date.year or date.month in months(text) | months(question):
            continue
        this, known = (date.year, date.month), sorted((one.year, one.month) for one in stated if one.year)
        bare = months(text) - {month for _, month in known}
        if date.year in dict(known) and not bare and not known[0] < this < known[-1]:
            yield f"{NAMES[date.month - 1].capitalize()} {date.year}"


def _other_halves(claim: str, text: str, question: str) -> Iterator[str]:
    """Yield the claim's times of day, except the question's, that the text has only in the other half of the day."""
    stated, asked = (_clocks(one) for one in (text, question))
    for hour, minutes, half in _clocks(claim) - asked:
        of_either, of_first, of_second = ((hour or 12, minutes, ""), (hour, minutes, "a"), (hour, minutes, "p"))
        second = {of_second, (hour + 12, minutes, "")}
        own, other = ({of_first}, second) if half == "a" else (second, {of_first})
        if half and other & stated and not {of_either, *own} & stated:
            yield f"{hour or 12}:{minutes} {half}m"


def _clocks(text: str) -> set[tuple[int, str, str]]:
    """Return the hour, minutes and half, ``a``, ``p`` or "", of each figure of a text that can be a time of day."""
    found = TIMES.findall(fold(text))
    return {(int(hour) % 12 if half else int(hour), minutes or "00", half) for hour, minutes, half in found}


def _is_stated(claim: str, match: re.Match[str], facts: Facts, listed: int) -> bool:
    """True if the facts have the figure, with its scale and unit if known, or a number that it converts or rounds.

    The figure may also count the items that the claim lists: ``listed`` is the number of separators in the claim.
    """
    figure, before = plain_figure(match.group()), claim[max(0, match.start() - NEAR) : match.start()]
    after = fold(claim[match.end() : match.end() + NEAR])
    scale = SCALE_WORD.match(after) or SUFFIX.match(after)
    full_figure = times(figure, (SCALES | SUFFIXES)[scale[1]]) if scale else None
    if figure in facts.numbers and (not full_figure or not facts.always_scaled.get(figure)):
        value, units = number_of(figure), facts.units.get(figure, {None})
        if value is None or None in units or unit_after(after) in (None, *units):
            return True
        return _is_converted(value, after, facts)
    if full_figure in facts.numbers:
        return True
    # 3m may be metres, unless the facts have 3 only with a scale.
    scaled = full_figure if SCALE_WORD.match(after) or facts.always_scaled.get(figure) else None
    value = number_of(scaled or figure)
    if value is None:
        return False
    if named := NAMED.search(before):
        word = named[0] + match.group()
        return word in FORMULAE or fold(word).replace("-", "") in facts.joined
    if figure == "1" and (unit := re.match(r"[\s-]*([^\W\d_]{3,})", after)):
        return facts.has_one(unit[1][: max(3, len(unit[1]) - 2)])
    if period := PERIOD.match(after):
        begin, years = (value, 10 if value % 100 else 100) if period[1] else (100 * value - 100, 100)
        if any(begin <= year < begin + years for year in _neighbours(begin, facts.values)):
            return True
    if re.match(r"\s*(?:%|per\s?cent)", after) and value / 100 in _neighbours(value / 100, facts.values):
        return True
    is_rough = ABOUT.search(fold(before)) and not LIMIT.search(fold(before))
    if is_rough and any(abs(x - value) <= 0.05 * value for x in _neighbours(value, facts.values)):
        return True
    decimals = len(figure.partition(".")[2])
    if not scaled and (decimals or value >= 10) and _is_rounded(value, decimals, facts.fractions):
        return True
    return _is_converted(value, after, facts) or _counts(value, after, listed)


def _neighbours(value: float, values: Sequence[float]) -> Sequence[float]:
    """Return the sorted values on either side of this one; the upper may be equal to it."""
    index = bisect_left(values, value)
    return values[max(0, index - 1) : index + 1]


def _is_rounded(value: float, decimals: int, values: Sequence[float]) -> bool:
    """True if one of the sorted values rounds to this one."""
    index = bisect_left(values, value, key=lambda exact: round(exact, decimals))
    return index < len(values) and round(values[index], decimals) == value


def _is_converted(value: float, after: str, facts: Facts) -> bool:
    """True if the facts state the same measure, perhaps in another unit; ``after`` begins with the unit."""
    unit = unit_after(after)
    if unit is None:
        return False
    dimension, amount = unit[0], value * unit[1]
    if any(abs(measure - amount) < 1e-6 for measure in _neighbours(amount, facts.measures.get(dimension, ()))):
        return True
    return any(facts.has_one(name) for name, other in UNITS.items() if other == (dimension, amount))


def _counts(value: float, after: str, listed: int) -> bool:
    """True if the value counts the items that the claim lists, or announces a list: "three kinds of loans: …"."""
    if value in range(2, 13) and re.match(r"\s+(?:[a-z]+\s+){0,3}[a-z]+s\b[^.:]{0,60}:", after):
        return True
    return 2 <= value <= 10 and value in (listed, listed + 1)
