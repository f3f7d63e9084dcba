"""Compute every metric of every system from an evaluation's records, and the paired differences between systems."""

from collections import Counter
from collections.abc import Callable, Sequence

from evaluation.measures import statistics, summary
from evaluation.measures.joined_rows import Row, Terms, mean_term, ratio_over, rows_of
from evaluation.measures.scores import Scores, gold_labels, precision_over_ranks, read_by
from evaluation.measures.verdict_scores import (
    Scored,
    agreement,
    auc_of,
    histograms,
    of_grades,
    scored_claims,
    scored_passages,
)
from evaluation.records import BASELINE, DISAGREED, IDENTICAL, NO_VERDICT, OURS, TIE, Example, Judgements, Pair, Record


def summarise(
    examples: Sequence[Example], records: Sequence[Record], judgements: Judgements | None = None
) -> summary.Summary:
    """Compute every metric with its interval, from the last successful record of each system and example."""
    rows = rows_of(examples, records)
    judged = judgements or Judgements()
    terms = TERMS | terms_of_reading(judged)
    baseline = OURS if OURS in rows or not rows else next(iter(rows))
    failed = {
        name: len({one["example"] for one in records if one["system"] == name and one["error"]} - set(asked))
        for name, asked in rows.items()
    }
    return summary.Summary(
        examples=len(examples),
        answerable=sum(example.answerable is True for example in examples),
        unanswerable=sum(example.answerable is False for example in examples),
        systems=tuple(
            system_summary(name, list(asked.values()), failed[name], rows.get(BASELINE, {}), judged)
            for name, asked in rows.items()
        ),
        differences=tuple(
            compared(name, asked, baseline, rows[baseline], key, terms[key])
            for name, asked in rows.items()
            if name != baseline
            for key in summary.PAIRED
        ),
        ratios=tuple(
            cost_ratio(name, asked, against, rows[against], key)
            for against in [BASELINE if BASELINE in rows else baseline]
            for name, asked in rows.items()
            if name != against
            for key in summary.RATIOS
        ),
        preferences=preferences(judged.pairs),
        judge_agreement=judged.agreement,
        baseline=baseline,
        judge_asked=judged.asked,
        judge_unanswered=judged.unanswered,
    )


def system_summary(
    name: str, rows: list[Row], failed: int, plain: dict[str, Row], judged: Judgements
) -> summary.SystemSummary:
    """Compute all figures of one system."""
    passages, claims = list(scored_passages(rows)), list(scored_claims(rows))
    routes = [
        Scored(row.example.id, row.record["route_score"], row.example.route == "retrieve")
        for row in rows
        if row.record["route_score"] is not None and row.example.route is not None
    ]
    judged_answers = [row for row in rows if row.scores.right is not None and not row.scores.abstained]
    confident = [row for row in judged_answers if row.record["confidence"] is not None]
    answers = [Scored(row.example.id, row.record["confidence"] or 0.0, bool(row.scores.right)) for row in confident]
    scored = dict(zip(summary.KINDS, (routes, passages, claims, answers), strict=True))
    metrics = {
        **{key: ratio_over(rows, term, count_rows=key == "abstention_f1") for key, term in TERMS.items()},
        "kept": ratio_over(rows, lambda row: kept(row, plain.get(row.example.id))),
        **of_costs(rows),
        **of_grades(rows, passages),
        "routing_auc": auc_of(routes),
        "support_agreement": ratio_over(rows, agreement),
        "support_auc": auc_of(claims),
        **{key: ratio_over(rows, term) for key, term in terms_of_reading(judged).items()},
    }
    unanswered = sum(row.scores.right is not None and row.scores.abstained for row in rows)
    confidence, wrong = [one.score for one in answers], [not one.label for one in answers]
    metrics["aurc"] = statistics.aurc_estimate(confidence, wrong, unanswered)
    return summary.SystemSummary(
        name=name,
        n=len(rows),
        failed=failed,
        metrics=metrics,
        calibration={
            kind: statistics.reliability([one.label for one in found], [one.score for one in found])
            for kind, found in scored.items()
            if found
        },
        risk_coverage=statistics.risk_coverage(confidence, wrong, unanswered),
        relevance=histograms(passages),
    )


def kept(row: Row, plain: Row | None) -> tuple[float, float] | None:
    """Return the terms of: questions that both systems answer rightly / those that plain does; None without a label."""
    if plain is None or plain.scores.right is None or row.scores.right is None:
        return None
    return float(plain.scores.right and row.scores.right), float(plain.scores.right)


def of_answers(above: Callable[[Scores], object], below: Callable[[Scores], object]) -> Terms:
    """Return the terms of a ratio: how many labelled records satisfy ``above`` / how many satisfy ``below``."""
    return lambda row: (
        None if row.scores.right is None else (float(bool(above(row.scores))), float(bool(below(row.scores))))
    )


def abstention(above: float, abstained: float, unanswerable: float) -> Terms:
    """Return terms of ``above`` · TP / (``abstained`` · abstentions + ``unanswerable`` · unanswerable); F1: 2, 1, 1."""

    def terms(row: Row) -> tuple[float, float] | None:
        if row.example.answerable is None:
            return None
        did_abstain, no_answer = row.scores.abstained, not row.example.answerable
        return above * (did_abstain and no_answer), abstained * did_abstain + unanswerable * no_answer

    return terms


def mean_of(score: str) -> Terms:
    """Return terms of the mean of one of the `Scores`."""
    return lambda row: mean_term(getattr(row.scores, score))


TERMS: dict[str, Terms] = {
    **{key: mean_of(key) for key in ("exact_match", "f1", "squad_f1", "containment", "citation_gold")},
    **{key: mean_of(key) for key in ("recall_at_k", "context_precision")},
    "routing_accuracy": mean_of("route_right"),
    "supported": mean_of("supported_share"),
    "right": lambda row: None if row.example.answerable is False else mean_term(row.scores.right),
    "abstention_precision": abstention(1, 1, 0),
    "abstention_recall": abstention(1, 0, 1),
    "abstention_f1": abstention(2, 1, 1),
    "right_answered": of_answers(lambda one: one.right, lambda one: not one.abstained),
    "coverage": of_answers(lambda one: not one.abstained, lambda one: True),
    "seconds": lambda row: mean_term(row.record["cost"]["seconds"]),
}


def terms_of_reading(judged: Judgements) -> dict[str, Terms]:
    """Return the terms of all metrics of the passages read, and of the faithfulness and relevancy of answers."""

    def of_judge(found: dict[tuple[str, str], float | None]) -> Terms:
        return lambda row: mean_term(found.get((row.record["system"], row.example.id)))

    def precision(row: Row) -> tuple[float, float] | None:
        useful = judged.useful.get((row.record["system"], row.example.id))
        return mean_term(precision_over_ranks(useful)) if useful else None

    def agreement_on_passages(row: Row) -> tuple[float, float] | None:
        useful = judged.useful.get((row.record["system"], row.example.id))
        gold = gold_labels(row.example, read_by(row.record))
        if not useful or gold is None:
            return None
        return sum(one == other for one, other in zip(useful, gold, strict=True)), len(gold)

    def agreement_on_recall(row: Row) -> tuple[float, float] | None:
        found = judged.recall.get((row.record["system"], row.example.id))
        by_gold = row.scores.read_recall
        return None if found is None or by_gold is None else mean_term((found >= 0.5) == (by_gold >= 0.5))

    return {
        **{key: mean_of(key) for key in ("read_precision", "read_gold", "read_recall")},
        "read_precision_judge": precision,
        "read_precision_agreement": agreement_on_passages,
        "read_recall_judge": of_judge(judged.recall),
        "read_recall_agreement": agreement_on_recall,
        "faithfulness": of_judge(judged.faithfulness),
        "relevancy": of_judge(judged.relevancy),
    }


def costs_of(record: Record) -> dict[str, float]:
    """Return the calls, tokens and seconds of one example."""
    cost = record["cost"]
    return {
        "seconds": cost["seconds"],
        "model_calls": cost["model_calls"],
        "input_tokens": cost["input_tokens"],
        "cached_tokens": cost["cached_input_tokens"],
        "uncached_tokens": cost["input_tokens"] - cost["cached_input_tokens"],
        "output_tokens": cost["output_tokens"],
    }


def of_costs(rows: Sequence[Row]) -> dict[str, statistics.Estimate]:
    """Compute means, medians and sums of calls, tokens and seconds."""
    costs = [costs_of(row.record) for row in rows]
    found: dict[str, statistics.Estimate] = {}
    for key in costs[0] if costs else ():
        values = [float(cost[key]) for cost in costs]
        found[key], found[f"{key}_median"] = statistics.mean(values), statistics.median(values)
        found[f"{key}_total"] = statistics.Estimate(sum(values), None, None, len(values))
    return found


def cost_ratio(name: str, rows: dict[str, Row], against: str, others: dict[str, Row], key: str) -> summary.CostRatio:
    """Return the total of ``name`` divided by that of ``against``, over the examples that both were asked."""
    shared = [example for example in rows if example in others]
    above, below = ([costs_of(some[example].record)[key] for example in shared] for some in (rows, others))
    return summary.CostRatio(
        name, against, key, statistics.ratio(above, below, len(shared)) if shared else statistics.NOTHING
    )


def compared(
    name: str, rows: dict[str, Row], baseline: str, others: dict[str, Row], key: str, terms: Terms
) -> summary.MetricDifference:
    """Return the metric of ``name`` minus the baseline's, over the examples for which both have it.

    A metric in `RAG` leaves out examples for which one of the two systems read nothing.
    """
    both = [(row, others[example]) for example, row in rows.items() if example in others]
    if key in summary.RAG:
        both = [pair for pair in both if all(read_by(row.record) for row in pair)]
    shared = [(terms(one), terms(other)) for one, other in both]
    known = [(one, other) for one, other in shared if one is not None and other is not None]
    one = [pair[0][0] for pair in known], [pair[0][1] for pair in known]
    other = [pair[1][0] for pair in known], [pair[1][1] for pair in known]
    return summary.MetricDifference(name, baseline, key, statistics.difference(one, other))


def preferences(pairs: Sequence[Pair]) -> tuple[summary.Preference, ...]:
    """Count the judge's verdicts by pair of systems."""
    found: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        found.setdefault((pair.one, pair.other), []).append(pair)
    return tuple(
        summary.Preference(
            one,
            other,
            one_wins=counts[one],
            other_wins=counts[other],
            neither=counts[TIE] + counts[DISAGREED],
            contradictions=counts[DISAGREED],
            ties=counts[TIE],
            identical=counts[IDENTICAL],
            failures=sum(counts[why] for why in NO_VERDICT),
            share=statistics.exact_share(counts[one], counts[one] + counts[other]),
        )
        for (one, other), same in found.items()
        for counts in [Counter(pair.preference for pair in same)]
    )
