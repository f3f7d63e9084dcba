"""Fit the regressions that calibrate the embedded model's verdicts, on questions that no report uses.

    python -m training.fit_critic ../shared/data/squad2_computational_complexity.json --paragraphs 1-24 --most 90

Each question is asked with the corrections off, without rewrites or redrafts. Replies are kept by prompt in
``--replies``, so that a second run goes on where the first stopped, and after a change only the prompts that it changes
are asked again. Then two logistic regressions are fitted: whether a passage holds the answer, and whether a draft's
first claim is the right answer. The latter is also fitted on the drafts among the rows that no step of the adapter's
training saw, of the families trained on (``--drafts`` and ``--scores`` are what `training.prepare` and
`training.fit_adapter` wrote). Printed are the AUCs of the model's own probability and of the regressions, the latter on
questions left out of the fit (grouped by paragraph), and the thresholds. ``--write`` stores the coefficients with the
model's description.
"""

import asyncio
import json
import lzma
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from app.options import number_range
from benchmarks.harness import FOLDER, counted, option_parser
from benchmarks.sample import open_docs
from core.types import Passage
from evaluation.datasets.question_set import load, select_examples
from evaluation.judging.saved_replies import Replies
from evaluation.measures.scores import contains, is_gold_source, right_answer
from evaluation.measures.statistics import auc
from evaluation.recorded_chat import with_recorded_chats
from evaluation.records import Example
from graph.builder import build_graph
from models.calibration import (
    CLIP,
    EMBEDDED,
    EMBEDDED_FILE,
    SUPPORTED,
    Calibration,
    Fit,
    Fits,
    log_odds,
    relevance_features,
)
from run.context import Context, Limits, Thresholds
from training.layout import DRAFT

# The rank in the search, and how much of claim and question the quote covers, added nothing.
RELEVANCE = ("log_odds", "behind_best", "similarity", "coverage")
SUPPORT = ("log_odds",)
KEPT = 0.9  # of the right drafts, which the thresholds must let through
AS_GOOD = 0.01  # an abstention F1 this little below the best counts as the best
WIDEST = math.log((1 - CLIP) / CLIP)  # the engine's verdicts have no wider log-odds
LENIENT = 0.1  # the least P(relevant) of a passage that is drafted from for the traces: low, so that there are drafts


@dataclass(frozen=True)
class Row:
    """Evidence with its label; ``group`` is the paragraph, which keeps folds apart in cross-validation."""

    evidence: dict[str, float]
    label: bool
    group: str
    example: str


def main() -> None:
    """Collect, fit, print, and store if asked."""
    parser = option_parser(__doc__, most=90, out=Path("eval/fit"), replies=FOLDER / "replies.jsonl", write=False)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--paragraphs", type=number_range, default="1-24")
    parser.add_argument("--drafts", type=Path)
    parser.add_argument("--scores", type=Path)
    options = parser.parse_args()
    dataset = load(options.dataset, options.out / "documents", options.paragraphs)
    examples = select_examples(dataset.examples, most=options.most, balanced=True)
    traces = asyncio.run(collect(dataset.documents, examples, Replies(options.replies)))
    passages = passage_rows(examples, traces)
    relevance, relevant, lines = fitted("relevance", passages, RELEVANCE)
    claims = claim_rows(examples, traces)
    unanswerable = {one.id for one in examples if one.answerable is False}
    # What differs from the references of an answerable question may be right in other words.
    rows = [one for one in claims if one.label or one.example in unanswerable]
    if options.scores:
        rows += draft_rows(options.drafts, options.scores)
    support, _, more = fitted("support", rows, SUPPORT)
    supported = [support.probability(one.evidence) for one in claims]
    levels, said = thresholds(examples, best_by_example(passages, relevant), best_by_example(claims, supported), claims)
    print("\n".join([*lines, *more, said]))
    if options.write:
        provenance = {
            "command": command(),
            "fitted": date.today().isoformat(),
            "questions": str(len(traces)),
            "passages": str(len(passages)),
            "claims": str(len(rows)),
        }
        store(EMBEDDED, EMBEDDED_FILE, {"relevance": relevance, "support": support}, levels, provenance)


async def collect(documents: Sequence[Path], examples: Sequence[Example], replies: Replies) -> dict[str, Any]:
    """Return, by example, the state in which the graph ends over these documents, with the corrections off."""
    context = Context(
        mode="always",
        thresholds=Thresholds(relevant=LENIENT),
        limits=Limits(rewrites=0, drafts=1, seconds=600),
        ratings="direct",
    )
    async with open_docs(documents) as rag:
        services = with_recorded_chats(rag.services, replies)
        graph = build_graph(replace(services, fits=Fits()))
        return {one.id: await graph.ainvoke({"question": one.question}, context=context) for one in counted(examples)}


def passage_rows(examples: Sequence[Example], traces: dict[str, Any]) -> list[Row]:
    """Return a row for each graded passage: positive if it holds a reference and is of the question's paragraph.

    A passage of another paragraph that holds a reference by chance is left out: it may answer, or not.
    """
    rows = []
    for example in examples:
        verdicts = traces[example.id]["verdicts"]
        graded = [one for one in traces[example.id]["passages"] if verdicts[one["id"]]["probabilities"]]
        known = relevance_features(example.question, graded, [verdicts[one["id"]] for one in graded])
        for passage, evidence in zip(graded, known, strict=True):
            holds = any(contains(passage["text"], reference) for reference in example.references)
            if holds and not is_gold_source(example, passage["source"]):
                continue
            paragraph = paragraph_of(example, traces[example.id]["passages"])
            rows.append(Row(evidence, holds, paragraph, example.id))
    return rows


def claim_rows(examples: Sequence[Example], traces: dict[str, Any]) -> list[Row]:
    """Return a row for the first claim of each draft that a critic judged: right if the draft holds a reference."""
    rows = []
    for example in examples:
        trace = traces[example.id]
        claims = [claim for one in trace["claims"][:1] for claim in one]
        judged = next((claim for claim in claims if claim["verdict"]["probabilities"] and claim["quote"]), None)
        if judged is None:
            continue
        right = example.answerable is True and right_answer(
            trace["drafts"][0]["text"], example.references, example.question
        )
        evidence = {"log_odds": log_odds(judged["verdict"], *SUPPORTED)}
        rows.append(Row(evidence, right, paragraph_of(example, trace["passages"]), example.id))
    return rows


def draft_rows(drafts: Path, scores: Path) -> list[Row]:
    """Return a row for each scored draft of the families trained on."""
    asked = json.loads(lzma.decompress(drafts.read_bytes()))["rows"]
    trained = {one["family"] for one in asked if one["seen"]}
    rows = []
    for key, odds in json.loads(scores.read_text(encoding="utf-8")).items():
        one = asked[int(key.rpartition(" ")[2])]
        if one["family"] in trained and one["kind"].endswith(f"/{DRAFT}"):
            evidence = {"log_odds": min(max(odds, -WIDEST), WIDEST)}
            rows.append(Row(evidence, one["reply"] != "no", one["id"], one["id"]))
    return rows


def paragraph_of(example: Example, passages: Sequence[Passage]) -> str:
    """Return the file that the example was asked on, or that of the best passage found for it."""
    sources = [gold.source for gold in example.gold if gold.source] + [one["source"] for one in passages[:1]]
    return Path(sources[0]).name if sources else example.id


def fitted(name: str, rows: Sequence[Row], features: Sequence[str]) -> tuple[Fit, list[float], list[str]]:
    """Return the regression on all rows, each row's score by one without its paragraph, and lines to print."""
    evidence, labels = [one.evidence for one in rows], [one.label for one in rows]
    fit, held_out = cross_fitted(evidence, labels, [one.group for one in rows], features)
    own = [one["log_odds"] for one in evidence]
    lines = [
        f"{name}: {len(own)} rows, {sum(labels)} right; AUC of the model {auc(labels, own):.3f}, "
        f"of the regression on rows left out {auc(labels, held_out):.3f}",
        f"  {fit}",
    ]
    return fit, held_out, lines


def cross_fitted(
    evidence: Sequence[Mapping[str, float]], labels: Sequence[bool], groups: Sequence[str], features: Sequence[str]
) -> tuple[Fit, list[float]]:
    """Return the regression on all rows, and each row's probability by one without its group.

    It is fitted to standardised evidence with L2 of strength 1; the coefficients are for unscaled evidence.
    """
    x = np.array([[row[name] for name in features] for row in evidence])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = GroupKFold(n_splits=min(8, len(set(groups))))
    held_out = cross_val_predict(model, x, labels, groups=groups, cv=folds, method="predict_proba")[:, 1]
    scaler, regression = (step for _, step in model.fit(x, labels).steps)
    coefficients = regression.coef_[0] / scaler.scale_
    intercept = round(float(regression.intercept_[0] - coefficients @ scaler.mean_), 4)
    rounded = {name: round(float(one), 4) for name, one in zip(features, coefficients, strict=True)}
    return Fit(intercept=intercept, coefficients=rounded), held_out.tolist()


def best_by_example(rows: Sequence[Row], scores: Sequence[float]) -> dict[str, float]:
    """Return the highest score among each example's rows."""
    best: dict[str, float] = {}
    for row, score in zip(rows, scores, strict=True):
        best[row.example] = max(score, best.get(row.example, 0.0))
    return best


def thresholds(
    examples: Sequence[Example], relevant: dict[str, float], supported: dict[str, float], claims: Sequence[Row]
) -> tuple[dict[str, float], str]:
    """Return the thresholds that keep the most right drafts, of those with about the best F1 that keep ``KEPT``."""
    right = {one.example for one in claims if one.label}
    found: list[tuple[float, float, dict[str, float]]] = []
    for least_relevant in np.arange(LENIENT, 0.5, 0.01).tolist():
        for least_supported in np.arange(0.02, 0.6, 0.01).tolist():
            answered = {
                one
                for one, score in supported.items()
                if score >= least_supported and relevant.get(one, 0.0) >= least_relevant
            }
            kept = len(right & answered) / max(1, len(right))
            abstained = [example for example in examples if example.id not in answered]
            hits = sum(example.answerable is False for example in abstained)
            f1 = 2 * hits / max(1, len(abstained) + sum(example.answerable is False for example in examples))
            if kept >= KEPT:
                levels = {"relevant": round(least_relevant, 2), "supported": round(least_supported, 2)}
                found.append((f1, kept, levels))
    best = max(f1 for f1, _, _ in found)
    # Of what is about as good, what keeps the most; of that the middle, as the edges are chance.
    good = [one for one in found if one[0] >= best - AS_GOOD]
    most = [one for one in good if one[1] == max(kept for _, kept, _ in good)]
    f1, kept, levels = most[len(most) // 2]
    return levels, f"thresholds {levels}: abstention F1 {f1:.3f}, kept {kept:.0%} of {len(right)} right drafts"


def command() -> str:
    """Return the command that runs, with files by their names alone."""
    spec = sys.modules["__main__"].__spec__
    return " ".join(["python -m", spec.name if spec else "", *(Path(word).name for word in sys.argv[1:])])


def store(
    model: Calibration, path: Path, fits: dict[str, Fit], thresholds: dict[str, float], told: dict[str, str]
) -> None:
    """Replace the fitted parts of a model's calibration file, and record ``told``, their provenance."""
    update = {
        "fits": model.fits.model_copy(update=fits),
        "thresholds": model.thresholds | thresholds,
        "provenance": model.provenance | told,
    }
    described = model.model_copy(update=update)
    path.write_text(described.model_dump_json(indent=2, exclude_none=True) + "\n", encoding="utf-8")
    print(f"written: {path}")


if __name__ == "__main__":
    main()
