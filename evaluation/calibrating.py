"""Calibrate ``confidence`` for a model and a library, and choose the cut: answers of less confidence are withheld.

Each labelled question is run once for each of ``CUTS``, which are fixed before any label is seen. A draft below the cut
is redrafted in that run, so that the counts at a cut include what redrafts change. The model's replies are kept by
prompt: a run at one more cut costs only the calls whose prompts are new.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from core.errors import ModelError, RequestError
from evaluation.measures.guarantee import BEGIN, first_tested, highest_risk, least_risk, lowest_cut
from evaluation.measures.scores import abstained, right
from evaluation.measures.statistics import Estimate, aurc_estimate, ratio, reliability
from evaluation.records import Example
from evaluation.self_rag import record_of
from evaluation.written_labels import Withheld
from graph.builder import SelfRAGGraph, build_graph
from models.calibration import CLIP, Fits, composed, expit, logit
from run.candidates import ANSWERED, confidence
from run.context import Context, Services, Thresholds
from run.state import SelfRAGState

CUTS = tuple(expit(quarter / 4) for quarter in range(-18, 29))  # of the confidence before it is calibrated
OF_SUPPORT = ("verified", "yes_or_no", "segment", "unconditional")  # thresholds for P(full) + P(partial)
FOLDS = 5
FEWEST = 20  # answers on which two coefficients can be fitted
AS_GOOD = 0.01  # an abstention F1 this little below the best counts as the best


@dataclass(frozen=True)
class JudgedReply:
    """The reply to a question: whether it is an answer, whether it is right, and the confidence before calibration."""

    answered: bool
    right: bool
    confidence: float | None = None


@dataclass(frozen=True)
class Trial:
    """The replies to one labelled question: ``before`` with the present settings, ``at`` with each of ``CUTS``.

    ``document`` is the document that the question is about, ``passage`` the id of the first passage found.
    ``confidence`` is that of the answer at the lowest cut, in 0..1 and not calibrated; None without an answer.
    """

    example: Example
    document: str
    passage: str
    confidence: float | None
    before: JudgedReply
    at: tuple[JudgedReply, ...]


@dataclass(frozen=True)
class Measured:
    """How good the confidence and the cut are, before a calibration or, on held-out questions, after it."""

    log_loss: Estimate
    calibration_error: float | None
    aurc: Estimate
    risk: Estimate
    answered: Estimate
    abstention_f1: Estimate


@dataclass(frozen=True)
class Guarantee:
    """With a probability of 0.9 at most a share ``risk`` of the answers is wrong; ``asked`` is the share asked for."""

    risk: float
    asked: float
    answered: int
    wrong: int


@dataclass(frozen=True)
class Calibrated:
    """A calibration: logit(calibrated) = ``slope`` · logit(confidence) + ``intercept``; ``cut`` indexes ``CUTS``.

    It is ``estimated`` if the model wrote the labels: then nothing is guaranteed.
    """

    slope: float
    intercept: float
    cut: int
    guarantee: Guarantee | None
    before: Measured
    after: Measured
    estimated: bool = False

    @property
    def better(self) -> bool:
        """Whether the slope is positive, and the log loss on held-out questions is lower than before calibration."""
        return self.slope > 0 and cast("float", self.after.log_loss.value) < cast("float", self.before.log_loss.value)

    @property
    def risk(self) -> float:
        """The guaranteed share of wrong answers; without a guarantee, the upper end of the measured 95 % interval."""
        return self.guarantee.risk if self.guarantee else self.after.risk.high or 1.0

    def scaled(self, probability: float) -> float:
        """Return the calibrated value of a confidence."""
        return expit(self.slope * logit(probability) + self.intercept)

    def confidences(self, trials: Sequence[Trial]) -> list[float]:
        """Return the calibrated confidence of each answer at the cut."""
        said = [one.at[self.cut] for one in trials]
        return [self.scaled(one.confidence) for one in said if one.answered and one.confidence is not None]

    def fits(self, base: Fits) -> Fits:
        """Return ``base`` with its regression of support changed so that it gives calibrated confidences."""
        scaled = composed(base.support, self.slope, self.intercept)
        return base.model_copy(update={"support": scaled, "graded": True})

    def thresholds(self, base: Thresholds) -> Thresholds:
        """Return ``base`` on the calibrated scale, with the chosen cut for any language; what is off (0) stays so."""
        rescaled = {name: self.scaled(least) for name in OF_SUPPORT if (least := getattr(base, name))}
        return base.model_copy(update={**rescaled, "supported": self.scaled(CUTS[self.cut]), "not_english": 0.0})


def usable(examples: Sequence[Example]) -> list[Example]:
    """Return the examples that say what is right: a reference, or that there is no answer."""
    return [one for one in examples if one.answerable is False or one.references]


async def trials_of(
    services: Services,
    context: Context,
    examples: Sequence[Example],
    progress: Callable[[int, int], None],
    withheld: Mapping[str, Withheld] | None = None,
) -> list[Trial]:
    """Ask each example at each cut. ``withheld`` maps an example's id to the passage that is hidden from its searches.

    The chats of ``services`` should keep their replies (`with_recorded_chats`). Raises `ModelError` or `RequestError`.
    """
    services = replace(services, fits=services.fits.model_copy(update={"graded": True}))
    context = services.completed(context).model_copy(update={"mode": "always", "caution": None})
    usual = build_graph(services)

    def graph_for(example: Example) -> SelfRAGGraph:
        hidden = (withheld or {}).get(example.id)
        return build_graph(replace(services, retriever=hidden.over(services.retriever))) if hidden else usual

    async def end(graph: SelfRAGGraph, example: Example, cut: float | None) -> tuple[SelfRAGState, JudgedReply]:
        asked = cast("SelfRAGState", {"question": example.question})
        changed = {} if cut is None else {"supported": cut, "not_english": 0.0}
        given = context.model_copy(update={"thresholds": context.effective_thresholds.model_copy(update=changed)})
        state = cast("SelfRAGState", await graph.ainvoke(asked, context=given))
        record = record_of("", example, state, [])
        if record["error"]:
            raise ModelError(record["error"])
        answered = not abstained(record)
        return state, JudgedReply(answered, answered and bool(right(example, record)), record["confidence"])

    trials: list[Trial] = []
    for example in examples:
        progress(len(trials), len(examples))
        graph = graph_for(example)
        _, before = await end(graph, example, None)
        ends = [await end(graph, example, CUTS[0])]
        for cut in CUTS[1:]:
            ends.append(ends[-1] if _ends_the_same(ends[-1][0], cut) else await end(graph, example, cut))
        trials.append(_trial(example, before, ends[0][0], tuple(said for _, said in ends)))
    progress(len(examples), len(examples))
    return trials


def _ends_the_same(lower: SelfRAGState, cut: float) -> bool:
    """Return True if the run would end in the same state at ``cut``; ``lower`` is its final state at a lower cut."""
    if lower["outcome"] not in ANSWERED or lower["best"] is None:
        return True
    known = confidence(lower["best"])
    return known is not None and known >= cut


def _trial(example: Example, before: JudgedReply, lowest: SelfRAGState, at: tuple[JudgedReply, ...]) -> Trial:
    """Return the trial of an example; ``lowest`` is the final state of its run at the lowest cut."""
    first = lowest["passages"][:1]
    sources = [gold.source for gold in example.gold if gold.source] + [one["source"] for one in first]
    known = confidence(lowest["best"]) if at[0].answered and lowest["best"] else None
    passage = first[0]["id"] if first else example.id
    return Trial(example, sources[0] if sources else example.id, passage, known, before, at)


def fit_calibration(trials: Sequence[Trial], risk: float | None = None, *, estimated: bool = False) -> Calibrated:
    """Fit slope, intercept and cut on all trials; measure them by cross-validation over documents.

    With a ``risk`` to keep to, `guaranteed_cut` chooses the cut, which all folds share; else `best_cut` does, per fold.
    Raises `RequestError` if the answers are too few, or all right or all wrong.
    """
    rows = [one for one in trials if one.confidence is not None]
    kinds = {one.at[0].right for one in rows}
    if len(rows) < FEWEST or len(kinds) < 2:
        what = "right" if kinds == {True} else "wrong"
        found = f"all of {len(rows)} answers are {what}" if len(rows) >= FEWEST else f"there are {len(rows)} answers"
        raise RequestError(
            f"Nothing can be fitted, as {found}: label at least {FEWEST} questions that are answered, some of them "
            "wrongly."
        )
    slope, intercept = fit_of(rows)
    guarantee = None
    cut = best_cut(trials)
    if risk is not None:
        cut, guarantee = guaranteed_cut(trials, risk)
    before = measured(rows, [cast("float", one.confidence) for one in rows], trials, [one.before for one in trials])
    probabilities, said = _held_out(trials, rows, cut if guarantee else None)
    after = measured(rows, probabilities, trials, said)
    return Calibrated(slope, intercept, cut, guarantee, before, after, estimated)


def fit_of(rows: Sequence[Trial]) -> tuple[float, float]:
    """Return slope and intercept by Platt's method (1999): logistic regression on labels moved slightly towards ½.

    Moved labels keep the slope finite even if all answers above some confidence are right.
    """
    odds = np.array([logit(cast("float", one.confidence)) for one in rows])
    truth = np.array([one.at[0].right for one in rows])
    wins = truth.sum()
    wanted = np.where(truth, (wins + 1) / (wins + 2), 1 / (len(rows) - wins + 2))
    x = np.column_stack((odds, np.ones_like(odds)))

    def loss(weights: np.ndarray) -> float:
        return float(np.logaddexp(0, x @ weights).sum() - wanted @ (x @ weights))

    weights = np.array([1.0, 0.0])
    for _ in range(100):
        p = 1 / (1 + np.exp(-x @ weights))
        steepness = (x * (p * (1 - p))[:, None]).T @ x + 1e-9 * np.eye(2)
        step = np.linalg.solve(steepness, x.T @ (p - wanted))
        while loss(weights - step) > loss(weights) and np.abs(step).max() > 1e-9:
            step = step / 2
        weights = weights - step
        if np.abs(step).max() < 1e-9:
            break
    return float(weights[0]), float(weights[1])


def best_cut(trials: Sequence[Trial]) -> int:
    """Return the index of the lowest cut whose abstention F1 is at most `AS_GOOD` below the best of all cuts."""
    f1 = [f1_of(trials, [one.at[cut] for one in trials]) for cut in range(len(CUTS))]
    return next(cut for cut, value in enumerate(f1) if value >= max(f1) - AS_GOOD)


def guaranteed_cut(trials: Sequence[Trial], risk: float) -> tuple[int, Guarantee]:
    """Return the index of the lowest cut that guarantees a share of at most ``risk`` wrong answers, and the guarantee.

    If the answers are too few to show ``risk``, the least risk that they can show is used instead. Raises
    `RequestError` if even the strictest cut that can be tested does not guarantee the risk used.
    """
    counts = [(sum(one.at[cut].answered for one in trials), _wrong(trials, cut)) for cut in range(len(CUTS))]
    most = counts[0][0]
    can = max(risk, least_risk(most // (2 * BEGIN)))
    cut = lowest_cut(counts, can)
    if cut is None:
        answered, wrong = counts[first_tested(counts, can)]
        raise RequestError(
            f"No cut is sure to keep the share of wrong answers to {can:.2f}: of the {answered} most confident answers "
            f"{wrong} are wrong, so that it may be {highest_risk(wrong, answered):.2f}. Ask for a higher --risk, or "
            "label more questions."
        )
    return cut, Guarantee(can, risk, *counts[cut])


def _wrong(trials: Sequence[Trial], cut: int) -> int:
    return sum(one.at[cut].answered and not one.at[cut].right for one in trials)


def _held_out(trials: Sequence[Trial], rows: Sequence[Trial], cut: int | None) -> tuple[list[float], list[JudgedReply]]:
    """Return each row's probability, and each trial's reply at the cut, by a fit on the trials of other documents.

    With fewer than `FOLDS` documents trials are divided by first passage instead. Without ``cut`` each fit chooses one.
    """
    documents = [one.document for one in trials]
    by_document = len(set(documents)) >= FOLDS
    fold_of = folds(documents if by_document else [one.passage for one in trials])

    def left_out(one: Trial, fold: int) -> bool:
        return fold_of[one.document if by_document else one.passage] == fold

    probabilities: dict[str, float] = {}
    said: dict[str, JudgedReply] = {}
    for fold in range(FOLDS):
        slope, intercept = fit_of([one for one in rows if not left_out(one, fold)])
        chosen = best_cut([one for one in trials if not left_out(one, fold)]) if cut is None else cut
        for one in trials:
            if left_out(one, fold):
                said[one.example.id] = one.at[chosen]
                if one.confidence is not None:
                    probabilities[one.example.id] = expit(slope * logit(one.confidence) + intercept)
    return [probabilities[one.example.id] for one in rows], [said[one.example.id] for one in trials]


def folds(groups: Sequence[str]) -> dict[str, int]:
    """Assign each group to a fold: the largest first, each to the smallest fold so far."""
    sizes = [0] * FOLDS
    chosen: dict[str, int] = {}
    for group in sorted(set(groups), key=lambda one: (-groups.count(one), one)):
        chosen[group] = sizes.index(min(sizes))
        sizes[chosen[group]] += groups.count(group)
    return chosen


def measured(
    rows: Sequence[Trial], probabilities: Sequence[float], trials: Sequence[Trial], said: Sequence[JudgedReply]
) -> Measured:
    """Measure the ``probabilities`` that the rows' answers are right, and the replies ``said`` to all trials."""
    truth = [one.at[0].right for one in rows]
    clipped = np.clip(np.asarray(probabilities), CLIP, 1 - CLIP)
    losses = -np.log(np.where(truth, clipped, 1 - clipped))
    wrong = [one.answered and not one.right for one in said]
    hits, both = _f1_parts(trials, said)
    return Measured(
        log_loss=ratio(losses, np.ones(len(rows))),
        calibration_error=reliability(truth, probabilities).error,
        aurc=aurc_estimate(probabilities, [not one for one in truth], len(trials) - len(rows)),
        risk=ratio(wrong, [one.answered for one in said]),
        answered=ratio([one.answered for one in said], np.ones(len(said))),
        abstention_f1=ratio(hits, both, len(said)),
    )


def f1_of(trials: Sequence[Trial], said: Sequence[JudgedReply]) -> float:
    hits, both = _f1_parts(trials, said)
    return sum(hits) / sum(both) if any(both) else 0.0


def _f1_parts(trials: Sequence[Trial], said: Sequence[JudgedReply]) -> tuple[list[float], list[float]]:
    """Return each question's 2·TP and 2·TP + FP + FN; a positive is a question that the documents do not answer."""
    lacking = [one.example.answerable is False for one in trials]
    withheld = [not one.answered for one in said]
    hits = [2.0 * (a and b) for a, b in zip(withheld, lacking, strict=True)]
    return hits, [float(a) + float(b) for a, b in zip(withheld, lacking, strict=True)]
