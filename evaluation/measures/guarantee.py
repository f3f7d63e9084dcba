"""How far the share of wrong answers can be trusted: exact bounds, and the lowest cut that keeps it below a limit.

Learn-then-Test (Angelopoulos et al. 2021) with fixed-sequence testing: cuts, fixed before any label is seen, are
tested from the strictest on, and the first that fails ends the sequence. So with probability ``SURE`` every cut that
passed has no more than the risk asked for, over questions drawn as the labelled ones were.
"""

import math
from collections.abc import Sequence

from evaluation.measures.statistics import highest_share

SURE = 0.9
# Tests begin at the strictest cut with BEGIN times the least number of answers, and SHARE of the lowest cut's answers:
# a single mistake among the first must not end them. Chosen by simulation: so most draws keep the most answers.
BEGIN, SHARE = 2, 0.25


def labels_needed(risk: float) -> int:
    """Return how many answers, all of them right, show a risk of at most ``risk``: ln(0.1) / ln(1 - risk)."""
    return math.ceil(math.log(1 - SURE) / math.log1p(-risk))


def least_risk(answered: int) -> float:
    """Return the least risk that ``answered`` answers show if all are right: the inverse of `labels_needed`."""
    return 1 - (1 - SURE) ** (1 / answered) if answered else 1.0


def highest_risk(wrong: int, answered: int) -> float:
    """Return the upper bound of the risk at a probability of 90 % (Clopper and Pearson 1934, one-sided)."""
    return highest_share(wrong, answered, 1 - SURE) if answered else 1.0


def lowest_cut(counts: Sequence[tuple[int, int]], risk: float) -> int | None:
    """Return the index of the lowest cut whose risk is at most ``risk``; None if no cut passes.

    ``counts`` are the numbers answered and wrong at each cut, from the lowest cut to the highest.
    """
    passed = None
    for at in reversed(range(first_tested(counts, risk) + 1)):
        answered, wrong = counts[at]
        if highest_risk(wrong, answered) > risk:
            break
        passed = at
    return passed


def first_tested(counts: Sequence[tuple[int, int]], risk: float) -> int:
    """Return the index of the strictest cut with enough answers to test the risk; -1 if there is none."""
    least = max(BEGIN * labels_needed(risk), SHARE * counts[0][0])
    return max((at for at, (answered, _) in enumerate(counts) if answered >= least), default=-1)
