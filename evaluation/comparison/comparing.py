"""Compare the records of two systems, question by question and as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.errors import ModelError
from evaluation.comparison.compared_set import ComparedSet
from evaluation.comparison.comparison import BASELINE, OURS, Comparison, shared
from evaluation.comparison.criteria_judge import CriteriaJudge
from evaluation.comparison.overall_prose import prose_of
from evaluation.records import Example, Record


async def compare_all(
    name: str | None,
    examples: Sequence[Example],
    records: Sequence[Record],
    judge: CriteriaJudge,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[ComparedSet, ModelError | None]:
    """Return the comparison, unjudged with the error if the judge's server fails; ``name`` is that of a set."""
    by_key = {(record["system"], record["example"]): record for record in records}
    comparisons = [Comparison(one, by_key[OURS, one.id], by_key[BASELINE, one.id]) for one in examples]
    compared = ComparedSet(name, judge.name, comparisons)
    known = shared(comparisons)
    try:
        verdicts = await judge.compare_all([(one.example, *one.records) for one in known], progress)
        judged = {one.example.id: verdict for one, verdict in zip(known, verdicts, strict=True)}
        comparisons = [replace(one, judged=judged.get(one.example.id)) for one in comparisons]
        compared = replace(compared, comparisons=comparisons)
        prose = await prose_of(judge, comparisons) if known and name is not None else None
    except ModelError as error:
        return compared, error
    return replace(compared, prose=prose), None
