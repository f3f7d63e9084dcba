"""The calibration that comes with a model: thresholds, and small logistic regressions that correct its verdicts.

The paper trains its critic; these are a few coefficients for one model, fitted by ``python -m training.fit_critic`` on
questions that no report uses, and kept beside the model's checksum. They change a verdict's probabilities, and nothing
where a critic gives none. ``python -m training.fit_gate`` fits one more for an embedding model: which of the passages
found are worth grading.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from core.types import Passage, Verdict
from grounding.stems import stems

CLIP = 1e-4
# A passage that lacks more of the question's words than another counts as lacking this much: it may say the same in
# other words, or with a pronoun, and what is near in meaning must not be ruled out by its words.
MOST_BEHIND = 0.3


class Fit(BaseModel):
    """One logistic regression. Evidence that it has no coefficient for is ignored, and that it lacks is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    intercept: float
    coefficients: dict[str, float]

    def probability(self, evidence: Mapping[str, float]) -> float:
        """1 / (1 + exp(-(intercept + Σ coefficient · evidence)))."""
        return expit(self.intercept + sum(value * evidence[name] for name, value in self.coefficients.items()))


class Fits(BaseModel):
    """The regressions that come with a critic; None leaves its verdicts as they are.

    ``gate`` comes with the embedding model instead; None has every passage graded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    relevance: Fit | None = None
    support: Fit | None = None
    gate: Fit | None = None

    def unlikely(self, question: str, passages: Sequence[Passage], least: float, similar: float) -> set[str]:
        """The ids of the passages of one search that are `too_unlikely` to hold the answer.

        None are without a gate, nor where the search gives no similarity. The query must be the question: of another
        query's search the regression knows nothing.
        """
        if self.gate is None or any(passage["similarity"] is None for passage in passages):
            return set()
        evidence = search_evidence(question, passages)
        spared = too_unlikely([self.gate.probability(one) for one in evidence], evidence, least, similar)
        return {passage["id"] for passage, skip in zip(passages, spared, strict=True) if skip}

    def relevant(self, verdicts: Sequence[Verdict], evidence: Sequence[Mapping[str, float]]) -> list[Verdict]:
        """The relevance verdicts with P(relevant) by the regression."""
        fit = self.relevance
        if fit is None:
            return list(verdicts)
        return [
            _with(verdict, {"relevant": p, "irrelevant": 1 - p}) if verdict["probabilities"] else verdict
            for verdict, p in zip(verdicts, map(fit.probability, evidence), strict=True)
        ]

    def supported(self, verdict: Verdict, evidence: Mapping[str, float]) -> Verdict:
        """The support verdict with P(no support) by the regression; the model's own shares divide the rest."""
        before = verdict["probabilities"]
        if self.support is None or not before:
            return verdict
        p = self.support.probability(evidence)
        full, partial = before["fully supported"], before["partially supported"]
        share = full / (full + partial) if full + partial else 0.0
        return _with(
            verdict, {"fully supported": p * share, "partially supported": p * (1 - share), "no support": 1 - p}
        )


def relevance_evidence(
    question: str, passages: Sequence[Passage], verdicts: Sequence[Verdict]
) -> list[dict[str, float]]:
    """What is known of each of the passages that were graded together; ``behind_best`` is against the best of them."""
    odds = [log_odds(verdict, "relevant") for verdict in verdicts]
    best, asked = max(odds, default=0.0), stems(question)
    return [
        {
            "log_odds": one,
            "behind_best": best - one,
            "similarity": passage["similarity"] or 0.0,
            "coverage": coverage(asked, stems(passage["text"])),
        }
        for passage, one in zip(passages, odds, strict=True)
    ]


def search_evidence(question: str, passages: Sequence[Passage]) -> list[dict[str, float]]:
    """What is known before any grade: the cosine, and how far it and the coverage are behind the best of the search."""
    asked = stems(question)
    near = [passage["similarity"] or 0.0 for passage in passages]
    covered = [coverage(asked, stems(passage["text"])) for passage in passages]
    return [
        {
            "similarity": cosine,
            "similarity_behind": max(near) - cosine,
            "coverage_behind": min(max(covered) - share, MOST_BEHIND),
        }
        for cosine, share in zip(near, covered, strict=True)
    ]


def too_unlikely(
    chances: Sequence[float], evidence: Sequence[Mapping[str, float]], least: float, similar: float
) -> list[bool]:
    """Which have a chance below ``least``, or a cosine below ``similar``; never the one of the highest chance."""
    highest = max(chances, default=0.0)
    return [
        chance < highest and (chance < least or one["similarity"] < similar)
        for chance, one in zip(chances, evidence, strict=True)
    ]


def support_evidence(verdict: Verdict, grades: Sequence[Verdict]) -> dict[str, float]:
    """What is known of a claim: its own log-odds, and the best of the passages that its draft was written from."""
    return {
        "log_odds": log_odds(verdict, "fully supported", "partially supported"),
        "relevance": max((log_odds(grade, "relevant") for grade in grades), default=0.0),
    }


def log_odds(verdict: Verdict, *positive: str) -> float:
    """Of the positive labels together, clipped to ±9.2; 0 where the critic gave no probabilities."""
    if not verdict["probabilities"]:
        return 0.0
    p = min(max(sum(verdict["probabilities"].get(label, 0.0) for label in positive), CLIP), 1 - CLIP)
    return math.log(p / (1 - p))


def coverage(wanted: set[str], found: set[str]) -> float:
    """The share of ``wanted`` that is found; 0 where nothing is wanted."""
    return len(wanted & found) / len(wanted) if wanted else 0.0


def expit(value: float) -> float:
    """The logistic function, without overflow."""
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))


def _with(verdict: Verdict, probabilities: dict[str, float]) -> Verdict:
    label = max(probabilities, key=lambda name: probabilities[name])
    return Verdict(label=label, probabilities=probabilities, reason=verdict["reason"])


EMBEDDED_FILE = Path(__file__).with_name("embedded.json")
MINILM_FILE = Path(__file__).with_name("minilm.json")


class Calibration(BaseModel):
    """Thresholds and regressions for one model, known by its SHA-256, and where they come from.

    Those of a chat model are for it as critic; those of an embedding model say which passages found are graded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    thresholds: dict[str, float]
    fits: Fits = Fits()
    provenance: dict[str, str] = {}


EMBEDDED = Calibration.model_validate_json(EMBEDDED_FILE.read_text(encoding="utf-8"))
MINILM = Calibration.model_validate_json(MINILM_FILE.read_text(encoding="utf-8"))
