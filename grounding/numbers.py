"""The figures of a claim that its passages do not state, in whatever form they might."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from grounding.amounts import UNITS, Facts, facts_of, number_of, plain_figures, plain_text, quantities, stated
from grounding.dates import without_dates
from grounding.stems import FIGURE, ON_THE_HOUR, SCALES, fold, plain_figure, scaled, stem

CITED = re.compile(r"\[\d{1,2}\]")
FORMULAE = frozenset("CO2 H2 H2O O2 O3 N2 N2O NO2 SO2 CH4".split())
ABOUT = re.compile(
    r"(?:about|around|approximately|approx\.|roughly|nearly|almost|over|under|than|some|circa|ca\.|just|~|≈)\s*[$€£]?$"
)
BEHIND = re.compile(rf"[\s-]+({'|'.join(SCALES)})\b", re.IGNORECASE)
NAMED = re.compile(r"(?<![^\W\d_])[^\W\d_]++-?$")
SEPARATOR = re.compile(r",\s*(?:and|or)\s|[,;]\s|\s(?:and|or)\s")
NEAR = 200  # characters before and behind a figure that say what it is of
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


class Rivals:
    """What ``near``, the quote, states in the place of what a claim says."""

    def __init__(self, claim: str, near: str, question: str) -> None:
        self._claim = claim
        self._near = facts_of(near)
        said = stated(claim)
        own = said | facts_of(question).numbers
        self._measured = [(amount, kind) for amount, kind, _ in quantities(claim)]
        self._kinds = {kind for amount, kind, _ in quantities(near) if amount not in own}
        years = {one for one in plain_figures(near) if _is_year(one)}
        self._another_year = bool(years) and not years & said
        self._contested = {amount for amount, kind in self._measured if kind in self._kinds}

    def contradict(self, figure: str) -> bool:
        """Whether the quote states another figure of the same kind: a year, or of the same thing."""
        return self._another_year if _is_year(figure) else figure in self._contested

    def of_words(self, known: set[str]) -> Iterator[str]:
        """The amounts in words, of years or other units, in whose place the quote states another."""
        for amount, kind in self._measured:
            if kind not in UNITS or kind not in self._kinds or amount in known or amount == "1":
                continue
            written = re.search(rf"\b{re.escape(amount)}\b", self._claim) is not None
            if not written and not _converted(number_of(amount) or 0.0, f" {kind}", self._near):
                yield amount


def missing_figures(claim: str, text: str, question: str, near: str, *, english: bool = True) -> list[str]:
    """The figures of ``claim`` that do not stand in ``text``.

    One that the question names is missing only where ``near``, the quote, states another of its kind instead, and
    nothing in it or in the claim says that the one may follow from the other.
    """
    there, asked = facts_of(text), facts_of(question).numbers
    plain = without_dates(ON_THE_HOUR.sub("", CITED.sub(" ", plain_text(claim))), there.dates)
    open_to_doubt = english and not CONDITION.search(claim) and not BOUND.search(near)
    rivals = Rivals(plain, near, question) if open_to_doubt else None
    listed = len(SEPARATOR.findall(plain))
    missing: set[str] = set()
    for match in FIGURE.finditer(plain):
        figure = plain_figure(match.group())
        if figure in there.numbers and not _of_another_scale(plain, match, there):
            continue
        if _follows(plain, match, there, listed):
            continue
        if figure not in asked or (rivals and rivals.contradict(figure)):
            missing.add(figure)
    if rivals:
        missing.update(rivals.of_words(there.numbers))
    return sorted(missing)


def _of_another_scale(claim: str, match: re.Match[str], there: Facts) -> bool:
    """Whether the claim says ``59 million`` of what is 59 thousand wherever it is stated."""
    behind = BEHIND.match(claim, match.end())
    if behind is None:
        return False
    amount = plain_figure(match.group())
    return scaled(amount, behind[1].lower()) not in there.numbers and there.scaled.get(amount, False)


def _follows(claim: str, match: re.Match[str], there: Facts, listed: int) -> bool:
    """Whether the figure says in another form, unit or precision what is stated there, or counts a list."""
    figure, before = plain_figure(match.group()), claim[max(0, match.start() - NEAR) : match.start()]
    behind = fold(claim[match.end() : match.end() + NEAR])
    scale = BEHIND.match(behind)
    whole = scaled(figure, scale[1]) if scale else figure
    if scale and whole in there.numbers:
        return True
    value = number_of(whole)
    if value is None:
        return False
    if named := NAMED.search(before):
        word = named[0] + match.group()
        return word in FORMULAE or fold(word).replace("-", "") in there.joined
    if figure == "1" and (unit := re.match(r"[\s-]*([^\W\d_]{3,})", behind)):
        return there.has_one(unit[1][: max(3, len(unit[1]) - 2)])
    if re.match(r"\s*(?:%|per\s?cent)", behind) and value / 100 in _next_to(value / 100, there.values):
        return True
    if ABOUT.search(fold(before)) and any(abs(one - value) <= 0.05 * value for one in _next_to(value, there.values)):
        return True
    decimals = len(figure.partition(".")[2])
    if not scale and (decimals or value >= 10) and _is_rounded(value, decimals, there.fractions):
        return True
    return _converted(value, behind, there) or _counts(value, behind, listed)


def _next_to(value: float, values: Sequence[float]) -> Sequence[float]:
    """The two of the ordered values between which this one belongs, the second at least as great."""
    place = bisect_left(values, value)
    return values[max(0, place - 1) : place + 1]


def _is_rounded(value: float, decimals: int, values: Sequence[float]) -> bool:
    """Whether one of the ordered values is this one when rounded."""
    place = bisect_left(values, value, key=lambda one: round(one, decimals))
    return place < len(values) and round(values[place], decimals) == value


def _converted(value: float, behind: str, there: Facts) -> bool:
    unit = re.match(r"[\s-]*(%|[^\W\d_]+)", behind)
    here = UNITS.get(stem(unit[1])) if unit else None
    if here is None:
        return False
    dimension, amount = here[0], value * here[1]
    if any(abs(one - amount) < 1e-6 for one in _next_to(amount, there.measures.get(dimension, ()))):
        return True
    return any(there.has_one(name) for name, unit in UNITS.items() if unit == (dimension, amount))


def _counts(value: float, behind: str, listed: int) -> bool:
    """Whether the claim lists as many things as it says that there are, or is of a list so introduced."""
    if value in range(2, 13) and re.match(r"\s+(?:[a-z]+\s+){0,3}[a-z]+s\b[^.:]{0,60}:", behind):
        return True
    return 2 <= value <= 10 and value in (listed, listed + 1)


def _is_year(figure: str) -> bool:
    return re.fullmatch(r"1\d{3}|20\d\d", figure) is not None
