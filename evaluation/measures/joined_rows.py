"""Join examples with a system's records, compute metrics as ratios of sums over them, and compare judge and labels."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from evaluation.measures.scores import Scores, abstained, right, score
from evaluation.measures.statistics import NOTHING, Estimate, ratio
from evaluation.records import Example, Pair, Record


@dataclass(frozen=True)
class Row:
    """One example, a system's record of it, and the record's scores."""

    example: Example
    record: Record
    scores: Scores


Terms = Callable[[Row], tuple[float, float] | None]


def rows_of(examples: Sequence[Example], records: Sequence[Record]) -> dict[str, dict[str, Row]]:
    """Group rows by system, in order of appearance, and by example, in the order of the examples."""
    order = {example.id: example for example in examples}
    last: dict[str, dict[str, Record]] = {}
    for record in records:
        latest = last.setdefault(record["system"], {})
        if record["error"] is None and record["example"] in order:
            latest[record["example"]] = record
    return {
        name: {key: Row(order[key], latest[key], score(order[key], latest[key])) for key in order if key in latest}
        for name, latest in last.items()
    }


def mean_term(number: float | None) -> tuple[float, float] | None:
    """Return the number as a term of a mean, ``(number, 1)``; None if it is not known."""
    return None if number is None or not isfinite(number) else (float(number), 1.0)


def ratio_over(rows: Sequence[Row], terms: Terms, count_rows: bool = False) -> Estimate:
    """Return Σ numerator / Σ denominator of known ``terms``; n is Σ denominator or, if ``count_rows``, their number."""
    found = [one for one in map(terms, rows) if one is not None]
    if not found:
        return NOTHING
    return ratio([one[0] for one in found], [one[1] for one in found], len(found) if count_rows else None)


def correct(example: Example, record: Record) -> bool | None:
    """Return True if the record fits the labels: abstained if unanswerable, else right; None if unlabelled."""
    return abstained(record) if example.answerable is False else right(example, record)


def labelled_pairs(
    examples: Sequence[Example], records: Sequence[Record], pairs: Iterable[Pair]
) -> list[tuple[Pair, str]]:
    """Return the pairs of which exactly one system is correct by the labels, with that system's name."""
    by_id = {example.id: example for example in examples}
    labelled = {
        (record["system"], record["example"]): correct(by_id[record["example"]], record)
        for record in records
        if record["example"] in by_id
    }
    found = []
    for pair in pairs:
        one, other = labelled.get((pair.one, pair.example)), labelled.get((pair.other, pair.example))
        if one is not None and other is not None and one != other:
            found.append((pair, pair.one if one else pair.other))
    return found


def agreement_of(examples: Sequence[Example], records: Sequence[Record], pairs: Iterable[Pair]) -> float | None:
    """Return the share of the judge's verdicts that name the correct system, where only one is; None without any."""
    decided = [(pair.verdict, name) for pair, name in labelled_pairs(examples, records, pairs) if pair.verdict]
    return sum(verdict == name for verdict, name in decided) / len(decided) if decided else None
