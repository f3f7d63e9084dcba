"""A model's calibration: thresholds, and small logistic regressions that correct its verdicts.

The paper trains its critic; these are a few coefficients for one model, fitted by ``python -m training.fit_critic`` on
questions that no report uses, and stored with the model's checksum. They adjust the probabilities of a verdict; a
verdict without probabilities stays as it is. ``python -m training.fit_gate`` fits one more regression for an
embedding model: which of the retrieved passages are worth grading.
"""

import hashlib
import logging
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pydantic import BaseModel

from core.passages import stated_by
from core.types import Passage, Verdict
from grounding.stems import stems

log = logging.getLogger("selfrag.models")

CLIP = 1e-4
SUPPORTED = ("fully supported", "partially supported")
# P(full or partial support) assumed for a label without probabilities; only the order counts for the regression.
GRADES = {"fully supported": 0.75, "partially supported": 0.5, "no support": 0.25}
# Upper limit of the feature ``coverage_behind``: a passage may say the same in other words, or with a pronoun, and one
# near in meaning must not be ruled out by its wording.
MAX_COVERAGE_BEHIND = 0.3
# Stands in for a cosine that a retriever does not give: the mean of 136 passages found for tuning questions.
USUAL_SIMILARITY = 0.52


class Fit(BaseModel, frozen=True, extra="forbid"):
    """One logistic regression. Extra features are ignored; a missing one raises KeyError."""

    intercept: float
    coefficients: dict[str, float]

    def probability(self, features: Mapping[str, float]) -> float:
        """Return 1 / (1 + exp(-(intercept + Σ coefficient · feature)))."""
        return expit(self.intercept + sum(value * features[name] for name, value in self.coefficients.items()))


class Fits(BaseModel, frozen=True, extra="forbid"):
    """The regressions fitted for a critic. A regression that is None changes no verdict.

    ``gate``, fitted for the embedding model, finds the passages worth grading; without ``gate`` all are graded.
    ``route``, fitted for both models, corrects whether to search. If ``graded`` is True, a support verdict without
    probabilities gets those that `GRADES` has for its label.
    """

    relevance: Fit | None = None
    support: Fit | None = None
    graded: bool = False
    gate: Fit | None = None
    route: Fit | None = None

    def routed(self, verdict: Verdict, features: Mapping[str, float] | None) -> Verdict:
        """Return the verdict on a question with P(retrieve) from the regression, or unchanged without features."""
        if self.route is None or features is None or not verdict["probabilities"]:
            return verdict
        p = self.route.probability({**features, "log_odds": log_odds(verdict, "retrieve")})
        changed = _with_probabilities(verdict, {"retrieve": p, "direct": 1 - p})
        # The critic's reply word explains the critic's own label only.
        same = changed["label"] == verdict["label"]
        return {**changed, "reply": verdict["reply"]} if same and "reply" in verdict else changed

    def unlikely(self, question: str, passages: Sequence[Passage], min_p: float, min_cosine: float) -> set[str]:
        """Return the ids of the passages of one search that are `too_unlikely` to hold the answer.

        The set is empty without the regression ``gate``, or if the search reports no similarities. The query must be
        the question itself: the regression was not fitted on rewritten queries.
        """
        if self.gate is None or any(passage["similarity"] is None for passage in passages):
            return set()
        features = search_features(question, passages)
        skipped = too_unlikely([self.gate.probability(one) for one in features], features, min_p, min_cosine)
        return {passage["id"] for passage, skip in zip(passages, skipped, strict=True) if skip}

    def relevant(self, verdicts: Sequence[Verdict], features: Sequence[Mapping[str, float]]) -> list[Verdict]:
        """Return the relevance verdicts with P(relevant) from the regression."""
        fit = self.relevance
        if fit is None:
            return list(verdicts)
        return [
            _with_probabilities(verdict, {"relevant": p, "irrelevant": 1 - p}) if verdict["probabilities"] else verdict
            for verdict, p in zip(verdicts, map(fit.probability, features), strict=True)
        ]

    def supported(self, verdict: Verdict) -> Verdict:
        """Return the support verdict with P(no support) from the regression; full and partial keep their ratio."""
        before = verdict["probabilities"]
        if self.graded and not before and verdict["label"] in GRADES:
            grade = GRADES[verdict["label"]]
            halves = (grade, 0.0) if verdict["label"] == SUPPORTED[0] else (0.0, grade)
            before = dict(zip(GRADES, (*halves, 1 - grade), strict=True))
            verdict = Verdict(label=verdict["label"], probabilities=before, reason=verdict["reason"])
        if self.support is None or not before:
            return verdict
        p = self.support.probability({"log_odds": log_odds(verdict, *SUPPORTED)})
        full, partial = before["fully supported"], before["partially supported"]
        share = full / (full + partial) if full + partial else 0.0
        return _with_probabilities(
            verdict, {"fully supported": p * share, "partially supported": p * (1 - share), "no support": 1 - p}
        )


def route_features(question: str, passages: Sequence[Passage]) -> dict[str, float] | None:
    """Return the highest cosine and the highest coverage of the question's words; None if cosines are missing."""
    if not passages or any(passage["similarity"] is None for passage in passages):
        return None
    asked = stems(question)
    return {
        "similarity": max(passage["similarity"] or 0.0 for passage in passages),
        "coverage": max(coverage(asked, stems(stated_by(passage))) for passage in passages),
    }


def relevance_features(
    question: str, passages: Sequence[Passage], verdicts: Sequence[Verdict]
) -> list[dict[str, float]]:
    """Return each passage's features; ``behind_best``: how far its log-odds are below the best passage's."""
    odds = [log_odds(verdict, "relevant") for verdict in verdicts]
    best, asked = max(odds, default=0.0), stems(question)
    return [
        {
            "log_odds": one,
            "behind_best": best - one,
            "similarity": USUAL_SIMILARITY if passage["similarity"] is None else passage["similarity"],
            "coverage": coverage(asked, stems(stated_by(passage))),
        }
        for passage, one in zip(passages, odds, strict=True)
    ]


def search_features(question: str, passages: Sequence[Passage]) -> list[dict[str, float]]:
    """Return each passage's features before grading: its cosine, and how far cosine and coverage are below the highest.

    Coverage is the share of the question's words in the passage and the headings above it.
    """
    asked = stems(question)
    similarities = [passage["similarity"] or 0.0 for passage in passages]
    coverages = [coverage(asked, stems(stated_by(passage))) for passage in passages]
    return [
        {
            "similarity": cosine,
            "similarity_behind": max(similarities) - cosine,
            "coverage_behind": min(max(coverages) - share, MAX_COVERAGE_BEHIND),
        }
        for cosine, share in zip(similarities, coverages, strict=True)
    ]


def too_unlikely(
    probabilities: Sequence[float], features: Sequence[Mapping[str, float]], min_p: float, min_cosine: float
) -> list[bool]:
    """Flag passages of probability below ``min_p`` or cosine below ``min_cosine``; never the most probable one."""
    highest = max(probabilities, default=0.0)
    return [
        p < highest and (p < min_p or one["similarity"] < min_cosine)
        for p, one in zip(probabilities, features, strict=True)
    ]


def log_odds(verdict: Verdict, *positive: str) -> float:
    """Return the log-odds of the positive labels together, clipped to ±9.2; 0 if the critic gave no probabilities."""
    if not verdict["probabilities"]:
        return 0.0
    return logit(sum(verdict["probabilities"].get(label, 0.0) for label in positive))


def logit(p: float) -> float:
    """Return the log-odds of a probability, clipped to ±9.2."""
    p = min(max(p, CLIP), 1 - CLIP)
    return math.log(p / (1 - p))


def composed(fit: Fit | None, slope: float, intercept: float) -> Fit:
    """Return ``fit`` with its log-odds x replaced by ``slope`` · x + ``intercept``; without ``fit``, x is the input."""
    own = fit or Fit(intercept=0.0, coefficients={"log_odds": 1.0})
    coefficients = {name: slope * value for name, value in own.coefficients.items()}
    return Fit(intercept=slope * own.intercept + intercept, coefficients=coefficients)


def coverage(wanted: set[str], found: set[str]) -> float:
    """Return the share of ``wanted`` that is in ``found``; 0 if ``wanted`` is empty."""
    return len(wanted & found) / len(wanted) if wanted else 0.0


def expit(value: float) -> float:
    """Compute the logistic function without overflow."""
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))


def _with_probabilities(verdict: Verdict, probabilities: dict[str, float]) -> Verdict:
    label = max(probabilities, key=lambda name: probabilities[name])
    return Verdict(label=label, probabilities=probabilities, reason=verdict["reason"])


EMBEDDED_FILE = Path(__file__).with_name("embedded.json")
MINILM_FILE = Path(__file__).with_name("minilm.json")


class Calibration(BaseModel, frozen=True, extra="forbid"):
    """Thresholds and regressions for one model, identified by its SHA-256, and their provenance.

    For a chat model they calibrate it as a critic; for an embedding model they select the passages to grade.
    ``adapters`` maps each choice that is asked with an adapter (`adapter_file`) to the SHA-256 of that file.
    """

    sha256: str
    thresholds: dict[str, float]
    fits: Fits = Fits()
    adapters: dict[str, str] = {}
    provenance: dict[str, str] = {}


EMBEDDED = Calibration.model_validate_json(EMBEDDED_FILE.read_text(encoding="utf-8"))
MINILM = Calibration.model_validate_json(MINILM_FILE.read_text(encoding="utf-8"))


def adapter_file(choice: str) -> Path:
    """Return the path of the LoRA adapter that was trained for this choice, for example "relevance".

    The adapter acts only from the prompt's final instruction on, so what precedes that instruction stays in the cache.
    """
    return Path(__file__).parent / "adapters" / f"{choice}.gguf"


@cache
def adapters_are_intact() -> bool:
    """Return True if each adapter file has its calibrated checksum; log a warning for the first that has not."""
    for choice, sha256 in EMBEDDED.adapters.items():
        path = adapter_file(choice)
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            log.warning(
                "%s is missing, damaged or of another version: install Self-RAG again; until then the embedded model "
                "judges as an untrained one",
                path,
            )
            return False
    return True
