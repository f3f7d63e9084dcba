"""Compute estimates with 95 % bootstrap intervals, paired differences, ranking and calibration of scores.

A metric of an example set is a ratio of sums over examples, Σa / Σb: means have b = 1; precision, recall and F1 = 2·TP
/ (2·TP + FP + FN) are such ratios too. So a resample is a vector of counts, and all resamples of a metric are two
matrix products. All is seeded: the same input gives the same figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
PERMUTATIONS = 10_000
SEED = 20231017
MAX_BINS = 10
BLOCK = 2_000_000  # cells of a resampling matrix held in memory at once

Floats = NDArray[np.float64]
Numbers = Sequence[float] | Floats


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval over ``n`` units; None if not known."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Difference(Estimate):
    """A paired difference over ``n`` examples with the two-sided p of a permutation test."""

    p: float | None

    def __neg__(self) -> "Difference":
        """Return the difference taken the other way round."""
        value, low, high = (None if one is None else -one for one in (self.value, self.high, self.low))
        return Difference(value, low, high, self.n, self.p)


@dataclass(frozen=True)
class Bin:
    """Adjacent scores: their mean, the share of them that is positive, and their number."""

    score: float
    share: float
    n: int


@dataclass(frozen=True)
class Reliability:
    """Bins, expected calibration error Σ n_b/n · |score_b - share_b|, and Brier score mean (score - label)²."""

    bins: tuple[Bin, ...]
    error: float | None
    brier: float | None
    n: int


@dataclass(frozen=True)
class Point:
    """The share of all examples answered at confidence >= threshold, and the share of those that is wrong."""

    coverage: float
    risk: float
    threshold: float


NOTHING = Estimate(None, None, None, 0)


@lru_cache(maxsize=6)
def resamples(n: int, times: int = RESAMPLES, seed: int = SEED) -> Floats:
    """Count how often each of n units is drawn in each of ``times`` resamples with replacement; times × n."""
    drawn = np.random.default_rng(seed).integers(0, n, (times, n)) + n * np.arange(times)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=times * n).reshape(times, n).astype(np.float64)
    counts.flags.writeable = False
    return counts


def interval(values: Floats) -> tuple[float, float]:
    """Return the 2.5 and 97.5 percentiles of the resampled values that are defined."""
    low, high = np.percentile(values[np.isfinite(values)], (2.5, 97.5))
    return float(low), float(high)


def ratio(above: Numbers, below: Numbers, n: int | None = None) -> Estimate:
    """Return Σ above / Σ below over examples; ``n``, by default Σ below, is reported as the number of units."""
    a, b = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    count = round(float(b.sum())) if n is None else n
    if not b.sum() > 0:
        return Estimate(None, None, None, count if n is not None else 0)
    drawn = resamples(len(a))
    low, high = interval(_over(drawn @ a, drawn @ b))
    return Estimate(float(a.sum() / b.sum()), low, high, count)


def mean(values: Numbers) -> Estimate:
    return ratio(values, np.ones(len(values)))


def median(values: Numbers) -> Estimate:
    known = np.sort(np.asarray(values, dtype=np.float64))
    if not known.size:
        return NOTHING
    drawn = np.random.default_rng(SEED).integers(0, len(known), (RESAMPLES, len(known)))
    low, high = interval(np.median(known[drawn], axis=1))
    return Estimate(float(np.median(known)), low, high, len(known))


def exact_share(wins: int, n: int) -> Estimate:
    """Return wins / n with its exact interval (Clopper and Pearson 1934), which holds for few and one-sided counts."""
    if not n:
        return NOTHING
    return Estimate(wins / n, 1 - highest_share(n - wins, n), highest_share(wins, n), n)


@lru_cache(maxsize=65536)
def highest_share(wins: int, n: int, probability: float = 0.025) -> float:
    """Return the share at which ``wins`` or fewer of ``n`` have this probability: an exact upper bound."""
    if wins == n:
        return 1.0
    ways = [lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) for k in range(wins + 1)]
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        tail = sum(exp(log_ways + k * log(share) + (n - k) * log1p(-share)) for k, log_ways in enumerate(ways))
        low, high = (share, high) if tail > probability else (low, share)
    return high


def _over(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def difference(one: tuple[Numbers, Numbers], other: tuple[Numbers, Numbers]) -> Difference:
    """Return Σa/Σb of ``one`` minus that of ``other``, both over the same examples in the same order.

    The interval resamples examples; p comes from exchanging the two systems at random example by example, which for
    means is the sign-flip test: p = (1 + #{|permuted| >= |observed|}) / (1 + PERMUTATIONS).
    """
    (a, b), (c, d) = ([np.asarray(side, dtype=np.float64) for side in pair] for pair in (one, other))
    if not (b.sum() > 0 and d.sum() > 0):
        return Difference(None, None, None, len(a), None)
    drawn = resamples(len(a))
    observed = float(a.sum() / b.sum() - c.sum() / d.sum())
    low, high = interval(_over(drawn @ a, drawn @ b) - _over(drawn @ c, drawn @ d))
    random = np.random.default_rng(SEED)
    extreme = total = 0
    step = max(1, BLOCK // len(a))
    for start in range(0, PERMUTATIONS, step):
        swap = random.integers(0, 2, (min(step, PERMUTATIONS - start), len(a))).astype(np.float64)
        above, below = swap @ (c - a), swap @ (d - b)
        permuted = _over(a.sum() + above, b.sum() + below) - _over(c.sum() - above, d.sum() - below)
        permuted = permuted[np.isfinite(permuted)]
        extreme += int((np.abs(permuted) >= abs(observed) - 1e-12).sum())
        total += permuted.size
    return Difference(observed, low, high, len(a), (1 + extreme) / (1 + total))


def auc(labels: Sequence[bool], scores: Numbers) -> float | None:
    """Return P(score of a positive > score of a negative) + ½ P(equal); None without both classes."""
    found = _aucs(np.asarray(labels, dtype=bool), np.asarray(scores, dtype=np.float64), np.ones((1, len(labels))))
    return float(found[0]) if found.size and np.isfinite(found[0]) else None


def auc_estimate(labels: Sequence[bool], scores: Numbers, clusters: Sequence[str] | None = None) -> Estimate:
    """Return AUC with a bootstrap stratified by class.

    With ``clusters`` (the example that each score belongs to) whole clusters are drawn, stratified by the classes that
    they hold, because the scores of one example are not independent. ``n`` is the number of scores.
    """
    value = auc(labels, scores)
    if value is None:
        return NOTHING
    truth, points = np.asarray(labels, dtype=bool), np.asarray(scores, dtype=np.float64)
    names = clusters if clusters is not None else [str(number) for number in range(len(labels))]
    _, member = np.unique(np.asarray(names), return_inverse=True)
    strata = np.zeros(int(member.max()) + 1, dtype=int)
    np.bitwise_or.at(strata, member, np.where(truth, 1, 2))
    found = []
    step = max(1, BLOCK // len(truth))
    for start in range(0, RESAMPLES, step):
        times = min(step, RESAMPLES - start)
        drawn = np.zeros((times, len(strata)))
        for kind in np.unique(strata):
            inside = strata == kind
            # Each stratum has its own seed: equal seeds would correlate the strata's draws.
            drawn[:, inside] = resamples(int(inside.sum()), times, SEED + 4 * start + int(kind))
        found.append(_aucs(truth, points, drawn[:, member]))
    low, high = interval(np.concatenate(found))
    return Estimate(value, low, high, len(labels))


def _aucs(labels: NDArray[np.bool_], scores: Floats, weights: Floats) -> Floats:
    """Return the AUC under each row of weights."""
    if not labels.size:
        return np.empty(0)
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.concatenate(([True], np.diff(scores[order]) > 0)))
    weighed = weights[:, order]
    positive = np.add.reduceat(weighed * labels[order], starts, axis=1)
    negative = np.add.reduceat(weighed * ~labels[order], starts, axis=1)
    below = np.cumsum(negative, axis=1) - negative
    return _over((positive * (below + negative / 2)).sum(axis=1), positive.sum(axis=1) * negative.sum(axis=1))


def reliability(labels: Sequence[bool], scores: Numbers) -> Reliability:
    """Make at most `MAX_BINS` bins of about equal count, with at least five scores each; equal scores share a bin."""
    order = np.argsort(np.asarray(scores, dtype=np.float64), kind="stable")
    points = np.asarray(scores, dtype=np.float64)[order]
    truth = np.asarray(labels, dtype=np.float64)[order]
    n = len(points)
    if not n:
        return Reliability((), None, None, 0)
    count = max(1, min(MAX_BINS, n // 5))
    # A cut moves to the end of the run of equal scores that it falls into.
    cuts = {int(np.searchsorted(points, points[n * part // count - 1], side="right")) for part in range(1, count + 1)}
    bins, start = [], 0
    for end in sorted(cuts):
        bins.append(Bin(float(points[start:end].mean()), float(truth[start:end].mean()), end - start))
        start = end
    error = sum(one.n * abs(one.score - one.share) for one in bins) / n
    return Reliability(tuple(bins), error, float(((points - truth) ** 2).mean()), n)


def risk_coverage(confidence: Numbers, wrong: Sequence[bool], unanswered: int = 0) -> tuple[Point, ...]:
    """Return the share wrong against coverage as the threshold falls; coverage counts unanswered examples as well."""
    points = np.asarray(confidence, dtype=np.float64)
    mistakes = np.asarray(wrong, dtype=np.float64)
    total = len(points) + unanswered
    return tuple(
        Point(float(taken.sum() / total), float(mistakes[taken].mean()), float(threshold))
        for threshold in np.unique(points)[::-1]
        for taken in [points >= threshold]
    )


def aurc(confidence: Floats, wrong: Floats, unanswered: int = 0) -> float:
    """Return the mean over ranks i of the share wrong among the i most confident; ties count in expectation.

    Unanswered examples come last and count as wrong, so that systems are compared at the same, full coverage.
    """
    points = np.concatenate((confidence, np.full(unanswered, -np.inf)))
    mistakes = np.concatenate((wrong, np.ones(unanswered)))
    _, group, sizes = np.unique(points, return_inverse=True, return_counts=True)
    expected = (np.bincount(group, weights=mistakes) / sizes)[group]
    order = np.argsort(-points, kind="stable")
    return float((np.cumsum(expected[order]) / np.arange(1, len(points) + 1)).mean())


def aurc_estimate(confidence: Numbers, wrong: Sequence[bool], unanswered: int = 0) -> Estimate:
    """Return AURC with a bootstrap over examples; lower is better."""
    points, mistakes = np.asarray(confidence, dtype=np.float64), np.asarray(wrong, dtype=np.float64)
    n = len(points) + unanswered
    if not len(points):
        return NOTHING
    drawn = np.random.default_rng(SEED).integers(0, n, (RESAMPLES, n))
    found = [
        aurc(points[row[row < len(points)]], mistakes[row[row < len(points)]], int((row >= len(points)).sum()))
        for row in drawn
    ]
    low, high = interval(np.asarray(found))
    return Estimate(aurc(points, mistakes, unanswered), low, high, n)
