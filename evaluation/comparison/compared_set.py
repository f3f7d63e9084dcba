"""Compare the records of two systems, of one question or of a set: everything that is shown and written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.errors import ModelError
from evaluation.comparison.comparison import Comparison, shared
from evaluation.comparison.criteria_judge import CriteriaJudge
from evaluation.comparison.overall import figures, sections
from evaluation.comparison.overall_prose import Prose, prose_of
from evaluation.records import BASELINE, OURS, Example, Record


@dataclass(frozen=True)
class ComparedSet:
    """The comparisons in the order of the questions; ``name`` is None for a single question without a set.

    ``judge`` is the name of the chat model that compares.
    """

    name: str | None
    judge: str
    comparisons: Sequence[Comparison]
    prose: Prose | None = None

    def as_json(self) -> dict[str, Any]:
        """Return plain data for ``json.dumps``."""
        overall: dict[str, Any] | None = None
        if self.name is not None:
            overall = {
                "sections": [{"title": one.title, "lines": one.lines} for one in sections(self.comparisons)],
                "figures": [
                    {"name": name, OURS: ours, BASELINE: plain}
                    for name, ours, plain in figures(shared(self.comparisons))
                ],
                "model": {
                    "preference": self.prose.preferred,
                    "text": self.prose.text or None,
                    "left_out": self.prose.left_out,
                    "failure": self.prose.failure,
                }
                if self.prose
                else None,
            }
        return {
            "set": self.name,
            "judge": self.judge,
            "questions": [one.as_json() for one in self.comparisons],
            "overall": overall,
        }


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
