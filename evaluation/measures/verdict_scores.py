"""Measure how well the scores of relevance and support tell right from wrong."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.measures.joined_rows import Row, Terms, ratio_over
from evaluation.measures.scores import contains, draft_right, is_gold
from evaluation.measures.statistics import Estimate, auc_estimate
from evaluation.measures.summary import Histogram

BINS = 20
GOLD, WRONG, UNANSWERABLE = "holds the answer", "wrong passage", "question has no answer"


@dataclass(frozen=True)
class Scored:
    """A critic's score of one item, whether it should have been high, and the example that it belongs to."""

    example: str
    score: float
    label: bool
    kind: str = ""


def scored_passages(rows: Sequence[Row]) -> Iterator[Scored]:
    """Yield the passages that were graded and can be labelled, with their kind, such as `GOLD`."""
    for row in rows:
        wrong = [rank for rank, seen in enumerate(row.record["seen"]) if is_gold(row.example, seen) is False]
        for rank, seen in enumerate(row.record["seen"]):
            label = is_gold(row.example, seen)
            if label is None or seen["relevance"] is None:
                continue
            kind = GOLD if label else UNANSWERABLE if row.example.answerable is False else WRONG
            if kind == WRONG and rank == wrong[0]:
                kind += ", nearest"
            if kind == UNANSWERABLE and any(contains(seen["text"], one) for one in row.example.plausible):
                kind += ", plausible"
            yield Scored(row.example.id, seen["relevance"], label, kind)


def of_grades(rows: Sequence[Row], passages: Sequence[Scored]) -> dict[str, Estimate]:
    """Compute the metrics of relevance: precision and recall from the system's verdicts, AUC from its scores."""

    def grades(row: Row) -> list[tuple[bool, bool]]:
        pairs = [(seen["relevant"], is_gold(row.example, seen)) for seen in row.record["seen"]]
        return [(relevant, gold) for relevant, gold in pairs if relevant is not None and gold is not None]

    def hits_of(judged: Callable[[bool, bool], bool]) -> Terms:
        return lambda row: (sum(map(all, grades(row))), sum(judged(*both) for both in grades(row)))

    def against(kind: str) -> Estimate:
        return auc_of([one for one in passages if one.label or one.kind.startswith(kind)])

    return {
        "grader_precision": ratio_over(rows, hits_of(lambda relevant, _: relevant)),
        "grader_recall": ratio_over(rows, hits_of(lambda _, gold: gold)),
        "grader_auc": auc_of(passages),
        "grader_auc_nearest": against(WRONG + ", nearest"),
        "grader_auc_unanswerable": against(UNANSWERABLE),
        "grader_auc_plausible": against(UNANSWERABLE + ", plausible"),
    }


def scored_claims(rows: Sequence[Row]) -> Iterator[Scored]:
    """Yield the claims that have a support score, labelled by whether the draft is right."""
    for row in rows:
        label = draft_right(row.example, row.record)
        for said in row.record["said"]:
            if label is not None and said["score"] is not None:
                yield Scored(row.example.id, said["score"], label)


def agreement(row: Row) -> tuple[float, float] | None:
    """Return (claims labelled as expected, claims): "fully supported" only in a right draft; None if unlabelled."""
    label = draft_right(row.example, row.record)
    labels = [said["label"] for said in row.record["said"] if said["label"] is not None]
    if label is None or not labels:
        return None
    return sum((one == "fully supported") == label for one in labels), len(labels)


def auc_of(found: Sequence[Scored]) -> Estimate:
    """Return the AUC, resampling whole examples."""
    return auc_estimate([one.label for one in found], [one.score for one in found], [one.example for one in found])


def histograms(passages: Sequence[Scored]) -> tuple[Histogram, ...]:
    """Return a histogram of the relevance scores for each kind of passage, in equal bins of 0..1."""
    found = []
    for kind in (GOLD, WRONG, UNANSWERABLE):
        scores = [one.score for one in passages if one.kind.startswith(kind)]
        if scores:
            counts, _ = np.histogram(scores, bins=BINS, range=(0.0, 1.0))
            found.append(Histogram(kind, tuple(int(count) for count in counts)))
    return tuple(found)
