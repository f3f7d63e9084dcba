"""Where a judge's verdicts on pairs of answers agree with the labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evaluation.judgements import Pair
from evaluation.measures.scores import abstained, right
from evaluation.records import Example, Record


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
    """Return verdicts naming the correct system / verdicts on pairs with exactly one correct; None without any."""
    decided = [(pair.verdict, name) for pair, name in labelled_pairs(examples, records, pairs) if pair.verdict]
    return sum(verdict == name for verdict, name in decided) / len(decided) if decided else None
