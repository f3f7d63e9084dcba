"""The results of an evaluation: every metric with its formula, and the figures as plain, serialisable data."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from evaluation.measures.statistics import NOTHING, Difference, Estimate, Point, Reliability
from evaluation.records import OURS

Unit = Literal["share", "score", "count", "total", "seconds"]
KINDS = ("route", "relevance", "support", "confidence")


class Metric(NamedTuple):
    """A metric: ``better`` is 1 if more is better, -1 if less is, 0 if neither."""

    key: str
    title: str
    group: str
    unit: Unit
    better: int
    formula: str


# fmt: off
COSTS: tuple[tuple[str, str, Unit, Unit, int, str], ...] = (
    ("seconds", "Seconds", "seconds", "seconds", -1, "wall-clock time"),
    ("model_calls", "Model calls", "count", "total", -1, "calls; retries are calls"),
    ("input_tokens", "Input tokens", "count", "total", -1, "tokens read"),
    ("cached_tokens", "Cached input tokens", "count", "total", 0, "tokens read that were served from a cache"),
    ("uncached_tokens", "Uncached input tokens", "count", "total", -1, "tokens read less cached ones"),
    ("output_tokens", "Output tokens", "count", "total", -1, "tokens written"),
)
METRICS = (
    Metric("routing_accuracy", "Routing accuracy", "Route", "share", 1,
           "route taken = route expected, over examples with an expected route; none for a system that has only one"),
    Metric("routing_auc", "Routing AUC", "Route", "score", 1,
           "AUC of P(retrieve), examples to be retrieved for against the others"),
    Metric("recall_at_k", "Recall@k", "Retrieval", "share", 1,
           "some passage of the first search is gold, over answerable examples that were searched for; a passage is "
           "gold when it stems from a gold source, where one is given, and its normalised tokens hold a gold span "
           "or a reference of at most 8 tokens"),
    Metric("context_precision", "Context precision, first search", "Retrieval", "share", 1,
           "Σ precision@k · gold_k / Σ gold_k over the ranks of the first search, 0 if none is gold (RAGAS)"),
    Metric("read_precision", "Context precision, as read", "Reading", "share", 1,
           "mean over answerable examples of which something was read of Σ precision@k · v_k / Σ v_k over the passages "
           "that the generator read, in its order, 0 if no v is 1; v_k = 1 if the k-th is gold (RAGAS, docs.ragas.io, "
           "Context Precision). Read is what stood in the prompt of the answer, or of an abstention's best draft"),
    Metric("read_precision_judge", "Context precision, as read, judge", "Reading", "share", 1,
           "the same, v_k = 1 if the judge finds the k-th passage useful to arrive at the first reference (RAGAS, "
           "docs.ragas.io, Context Precision)"),
    Metric("read_precision_agreement", "Judge agrees with gold, passages", "Reading", "share", 1,
           "the judge's v = the gold label / passages read that have both"),
    Metric("read_gold", "Share of gold, as read", "Reading", "share", 1,
           "mean over the same examples of: gold passages read / passages read, whatever their order; unlike context "
           "precision it falls for an irrelevant passage that stands after all relevant ones"),
    Metric("read_recall", "Context recall, as read", "Reading", "share", 1,
           "mean over the same examples of: gold spans that a passage read holds / gold spans; without gold spans, 1 "
           "if one holds a reference of at most 8 tokens (RAGAS, docs.ragas.io, Context Recall, non-LLM: gold spans "
           "are the reference contexts)"),
    Metric("read_recall_judge", "Context recall, as read, judge", "Reading", "share", 1,
           "mean over examples with a reference of: claims of the first reference that the judge finds to follow from "
           "the passages read / its claims (RAGAS, docs.ragas.io, Context Recall)"),
    Metric("read_recall_agreement", "Judge agrees with gold, recall", "Reading", "share", 1,
           "(the judge's recall >= ½) = (the recall by gold >= ½) / examples that have both"),
    Metric("grader_precision", "Grader precision", "Relevance", "share", 1,
           "gold / passages judged relevant; passages of unanswerable examples are never gold"),
    Metric("grader_recall", "Grader recall", "Relevance", "share", 1,
           "judged relevant / gold passages that were judged"),
    Metric("grader_auc", "Grader AUC", "Relevance", "score", 1,
           "AUC of P(relevant), gold passages against all others"),
    Metric("grader_auc_nearest", "Grader AUC, nearest wrong", "Relevance", "score", 1,
           "AUC of P(relevant), gold passages against the first wrong passage of each answerable example"),
    Metric("grader_auc_unanswerable", "Grader AUC, unanswerable", "Relevance", "score", 1,
           "AUC of P(relevant), gold passages against the passages found for unanswerable examples"),
    Metric("grader_auc_plausible", "Grader AUC, plausible", "Relevance", "score", 1,
           "AUC of P(relevant), gold passages against those that hold a plausible answer to an unanswerable example"),
    Metric("support_agreement", "Support agreement", "Support", "share", 1,
           "(claim judged fully supported) = (answer right), over claims of answers, and of withheld drafts"),
    Metric("support_auc", "Support AUC", "Support", "score", 1,
           "AUC of the support score, claims of right answers against those of wrong ones, withheld drafts among them"),
    Metric("right", "Right", "Answer", "share", 1,
           "answered rightly / answerable examples; right: a reference is contained in the answer, or F1 >= ½ and its "
           "figures are there, or at least half of the content words of a reference of more than 8 tokens, and one of "
           "its figures, are held"),
    Metric("exact_match", "Exact match", "Answer", "share", 1,
           "normalised tokens of the answer = those of a reference, over answerable examples; 0 if abstained"),
    Metric("f1", "F1", "Answer", "share", 1,
           "token F1, best over references, over answerable examples; 0 if abstained"),
    Metric("squad_f1", "F1 as in SQuAD 2.0", "Answer", "share", 1,
           "F1, and of unanswerable examples 1 if abstained else 0"),
    Metric("containment", "Containment", "Answer", "share", 1,
           "a reference stands in the answer as it is, over answerable examples; 0 if abstained"),
    Metric("abstention_precision", "Abstention precision", "Abstention", "share", 1,
           "unanswerable / abstained"),
    Metric("abstention_recall", "Abstention recall", "Abstention", "share", 1,
           "abstained / unanswerable"),
    Metric("abstention_f1", "Abstention F1", "Abstention", "share", 1,
           "2PR / (P + R) of abstention precision and recall"),
    Metric("right_answered", "Right among answered", "Abstention", "share", 1,
           "right / answered: precision at coverage; an answer to an unanswerable example is wrong"),
    Metric("coverage", "Coverage", "Abstention", "share", 0,
           "answered / all whose answer can be judged"),
    Metric("kept", "Kept of plain", "Abstention", "share", 1,
           "right here too / right by plain, over the same examples"),
    Metric("aurc", "AURC", "Abstention", "score", -1,
           "mean over ranks of the share wrong among the most confident; what was abstained from comes last, as wrong"),
    Metric("citation_gold", "Quote holds the gold", "Evidence", "share", 1,
           "some quote holds a gold span / right answers with citations and a known gold span"),
    Metric("supported", "Claims supported, own verdict", "Evidence", "share", 1,
           "mean over answers of: claims that the system itself judged fully supported / claims"),
    Metric("faithfulness", "Faithfulness, judge", "Evidence", "share", 1,
           "mean over answers of: claims that the judge finds to follow from the passages / claims (RAGAS, Es et al. "
           "2023, arXiv:2309.15217)"),
    Metric("relevancy", "Answer relevancy, judge", "Evidence", "score", 1,
           "mean over answers of the mean cosine between the question and questions made from the answer, 0 if "
           "abstained (RAGAS, Es et al. 2023, arXiv:2309.15217)"),
    *(Metric(key + suffix, title + added, "Cost", unit, better, f"{how} over examples: {what}")
      for key, title, each, total, better, what in COSTS
      for suffix, added, unit, how in (("", "", each, "mean"), ("_median", ", median", each, "median"),
                                       ("_total", ", total", total, "sum"))),
)
# fmt: on
BY_KEY = {metric.key: metric for metric in METRICS}
MAIN_METRICS = tuple(
    """routing_accuracy recall_at_k grader_auc support_auc f1 squad_f1 abstention_f1 right_answered
    coverage kept citation_gold uncached_tokens seconds""".split()
)
RAG = tuple(
    "read_precision read_precision_judge read_gold read_recall read_recall_judge faithfulness relevancy".split()
)
PAIRED = ("f1", "squad_f1", "abstention_f1", "right", "right_answered", "seconds", *RAG)
RATIOS = ("model_calls", "input_tokens", "uncached_tokens", "output_tokens", "seconds")


@dataclass(frozen=True)
class Histogram:
    """The scores of one kind of passage, counted in ``len(counts)`` equal bins of 0..1."""

    label: str
    counts: tuple[int, ...]


@dataclass(frozen=True)
class SystemSummary:
    """One system: ``n`` examples succeeded, ``failed`` did not; ``metrics`` by key."""

    name: str
    n: int
    failed: int
    metrics: dict[str, Estimate]
    calibration: dict[str, Reliability]
    risk_coverage: tuple[Point, ...]
    relevance: tuple[Histogram, ...]

    def __getitem__(self, key: str) -> Estimate:
        """Return the estimate of a metric; an empty one if it was not computed."""
        return self.metrics.get(key, NOTHING)


@dataclass(frozen=True)
class MetricDifference:
    """A system's metric minus the baseline's, paired by example; a `RAG` metric skips those where one read nothing."""

    system: str
    baseline: str
    metric: str
    difference: Difference


@dataclass(frozen=True)
class CostRatio:
    """A system's total of a cost divided by another's, over the examples that both were asked."""

    system: str
    against: str
    metric: str
    ratio: Estimate


@dataclass(frozen=True)
class Preference:
    """How often the judge preferred each of two answers in both orders; ``neither`` counts ties and contradictions.

    ``identical`` answers were not compared, and on ``failures`` the judge gave no verdict. ``share`` is ``one_wins`` /
    (``one_wins`` + ``other_wins``), with its exact interval.
    """

    one: str
    other: str
    one_wins: int
    other_wins: int
    neither: int
    contradictions: int
    ties: int
    identical: int
    failures: int
    share: Estimate


@dataclass(frozen=True)
class Summary:
    """The results of an evaluation: the examples by label, the systems, and how they differ.

    ``judge_asked`` counts the questions put to the judge, ``judge_unanswered`` those without a verdict.
    """

    examples: int
    answerable: int
    unanswerable: int
    systems: tuple[SystemSummary, ...]
    differences: tuple[MetricDifference, ...] = ()
    preferences: tuple[Preference, ...] = ()
    judge_agreement: float | None = None
    baseline: str = OURS
    ratios: tuple[CostRatio, ...] = ()
    judge_asked: int = 0
    judge_unanswered: int = 0

    def __getitem__(self, system: str) -> SystemSummary:
        """Return the summary of one system. Raises KeyError."""
        return {one.name: one for one in self.systems}[system]
