"""Examples joined with what a system said to them, and the sums that metrics are ratios of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from evaluation.records import Example, Record
from evaluation.scores import Scores, score
from evaluation.statistics import NOTHING, Estimate, mean, ratio


@dataclass(frozen=True)
class Row:
    """One example, what the system said to it, and what that is worth."""

    example: Example
    record: Record
    scores: Scores


Terms = Callable[[Row], tuple[float, float] | None]


def rows_of(examples: Sequence[Example], records: Sequence[Record]) -> dict[str, dict[str, Row]]:
    """Rows by system, in the order in which systems appear, and by example, in the order of the examples."""
    order = {example.id: example for example in examples}
    last: dict[str, dict[str, Record]] = {}
    for record in records:
        kept = last.setdefault(record["system"], {})
        if record["error"] is None and record["example"] in order:
            kept[record["example"]] = record
    return {
        name: {key: Row(order[key], kept[key], score(order[key], kept[key])) for key in order if key in kept}
        for name, kept in last.items()
    }


def value(number: float | None) -> tuple[float, float] | None:
    """A term of a mean."""
    return None if number is None else (float(number), 1.0)


def over(rows: Sequence[Row], terms: Terms, count_rows: bool = False) -> Estimate:
    """The ratio of the sums of the terms, over the rows that have them; n is the denominator, or those rows."""
    found = [one for one in map(terms, rows) if one is not None]
    if not found:
        return NOTHING
    return ratio([one[0] for one in found], [one[1] for one in found], len(found) if count_rows else None)


def average(values: Iterable[float | None]) -> Estimate:
    """The mean of what is known."""
    known = [float(one) for one in values if one is not None and isfinite(one)]
    return mean(known) if known else NOTHING
