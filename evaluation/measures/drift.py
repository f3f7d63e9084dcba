"""Test whether the answers since a calibration are still like the answers on which the calibration was fitted.

Two tests, each at the level `ALARM` / 2: of the distribution of the confidence (Kolmogorov-Smirnov), and of how many
of the answers that people judged are wrong (exact, one-sided). Made daily, they give at most one false alarm a year.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.measures.statistics import highest_share

ALARM = 1 / 365
FEWEST = 10  # answers on either side, below which the series of `same_distribution` says too little


@dataclass(frozen=True)
class Drift:
    """Counts of answers since the calibration; the alarms ``moved`` (confidence) and ``worse`` (share wrong)."""

    answers: int
    judged: int
    wrong: int
    risk: float
    moved: bool
    worse: bool

    @property
    def sentences(self) -> list[str]:
        """Each alarm as a sentence."""
        said = []
        if self.moved:
            said.append(
                f"The confidence of the {self.answers} answers since the calibration is not distributed as it was on "
                "the labels: questions or documents have changed. Label some of today's, and calibrate again."
            )
        if self.worse:
            said.append(
                f"Of {self.judged} judged answers since the calibration {self.wrong} are not right, which is more than "
                f"its risk of {self.risk:.2f}. Label some of today's questions, and calibrate again."
            )
        return said


def drift(labelled: Sequence[float], since: Sequence[float], judged: int, wrong: int, risk: float) -> Drift:
    """Compare the confidences in ``since`` with those in ``labelled``, and ``wrong`` / ``judged`` with ``risk``."""
    known = min(len(labelled), len(since)) >= FEWEST
    moved = known and same_distribution(labelled, since) < ALARM / 2
    least = 1 - highest_share(judged - wrong, judged, ALARM / 2) if judged else 0.0
    return Drift(len(since), judged, wrong, risk, moved, least > risk)


def same_distribution(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the p of the two-sample test of Kolmogorov and Smirnov, with Stephens' correction for few values."""
    a, b = np.sort(one), np.sort(other)
    both = np.concatenate((a, b))
    apart = np.abs(
        np.searchsorted(a, both, side="right") / len(a) - np.searchsorted(b, both, side="right") / len(b)
    ).max()
    root = math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    scaled = (root + 0.12 + 0.11 / root) * float(apart)
    if scaled < 0.2:  # the series does not converge there
        return 1.0
    tail: float = sum((-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101))
    return min(1.0, 2 * tail)
