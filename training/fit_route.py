"""Fit the regression by which what the search finds counts in `decide`, on questions that no report uses.

    python -m training.fit_route ../shared/data/squad2_computational_complexity.json --paragraphs 1-24 --write

The critic is asked the tuning questions for routes, which are searched for in the sample library, and questions of the
article's tuning half, which it answers. Tuning questions that need no documents are searched for in the article too, so
that they are seen beside documents that come near them and documents that do not. The critic's replies are kept in
``--replies``. A logistic regression is fitted, and its errors on questions left out of the fit are shown. Its intercept
is moved so that the threshold in force is the highest that sends no question for facts to *direct*, less a margin:
where a search reports no similarities, the critic's own probability meets the same threshold. The critic is not asked
from the highest cosine of a question that needs no documents, plus a margin. ``--write`` stores both.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.libraries import SAMPLE
from app.options import number_range
from benchmarks.harness import FOLDER, counted, option_parser
from benchmarks.sample import open_docs, questions_in
from evaluation.datasets.question_set import load, select_examples
from evaluation.judging.saved_replies import Replies
from evaluation.measures.statistics import auc
from evaluation.recorded_chat import with_recorded_chats
from models.calibration import EMBEDDED, EMBEDDED_FILE, MINILM, MINILM_FILE, Fit, expit, log_odds, logit, route_features
from nodes.found_passages import as_passage
from prompts.decide import RETRIEVE
from prompts.delimiters import as_data
from training.fit_critic import command, cross_fitted, store

TUNING = SAMPLE.parent / "routes_tuning.jsonl"
FEATURES = ("log_odds", "similarity", "coverage")
MARGIN = 0.25  # in log-odds, between the lowest question that asks for facts and the threshold
NEAR_MARGIN = 0.1  # of cosine, above the highest of a question that needs no documents


@dataclass(frozen=True)
class Asked:
    """A question beside one library: its features, and whether it is to be retrieved for."""

    question: str
    features: dict[str, float]
    retrieve: bool


def main() -> None:
    """Ask, fit, print, and store if asked."""
    parser = option_parser(__doc__, most=60, replies=FOLDER / "replies.jsonl", out=Path("eval/route"), write=False)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--paragraphs", type=number_range, default="1-24")
    options = parser.parse_args()
    article = load(options.dataset, options.out / "documents", options.paragraphs)
    routes = [(one.question, one.route == "retrieve") for one in questions_in(TUNING)]
    of_article = [(one.question, True) for one in select_examples(article.examples, most=options.most)]
    asked = asyncio.run(ask(SAMPLE, routes, options.replies))
    asked += asyncio.run(
        ask(article.documents[0], [*of_article, *(one for one in routes if not one[1])], options.replies)
    )
    fit, held_out = fitted(asked)
    labels = [one.retrieve for one in asked]
    own = [one.features["log_odds"] for one in asked]
    before = EMBEDDED.thresholds["retrieve"]
    print(f"{len(asked)} rows, {sum(labels)} to retrieve for; AUC of the critic {auc(labels, own):.3f}, of the ")
    print(f"regression on questions left out {auc(labels, held_out):.3f}; {fit}")
    print(wrong("the critic", asked, own, logit(before)))
    print(wrong("the regression", asked, [logit(p) for p in held_out], logit(before)))
    near = round(max(one.features["similarity"] for one in asked if not one.retrieve) + NEAR_MARGIN, 2)
    spared = [one.retrieve for one in asked if one.features["similarity"] >= near]
    print(f"cosine {near} and more: {len(spared)} rows, of which {sum(spared)} ask for facts")
    if options.write:
        store(EMBEDDED, EMBEDDED_FILE, {"route": fit}, {}, {"route": command(), "route_rows": str(len(asked))})
        store(MINILM, MINILM_FILE, {}, {"near": near}, {})


async def ask(docs: Path, questions: Sequence[tuple[str, bool]], replies: Path) -> list[Asked]:
    """Return each question with what the critic says of it and what is found for it."""
    found = []
    async with open_docs([docs]) as rag:
        services = with_recorded_chats(rag.services, Replies(replies))
        for question, retrieve in counted(questions):
            verdict = await services.critic.choose(RETRIEVE, question=as_data(question))
            passages = [as_passage(one) for one in await services.retriever.ainvoke(question, k=4)]
            features = route_features(question, passages)
            if features is not None:
                row = {**features, "log_odds": log_odds(verdict, "retrieve")}
                found.append(Asked(question, row, retrieve))
    return found


def fitted(asked: Sequence[Asked]) -> tuple[Fit, list[float]]:
    """Return the regression, moved as the module says, and each row's probability by one without its question."""
    labels, groups = [one.retrieve for one in asked], [one.question for one in asked]
    fit, held_out = cross_fitted([one.features for one in asked], labels, groups, FEATURES)
    lowest = min(logit(p) for p, retrieve in zip(held_out, labels, strict=True) if retrieve)
    shift = logit(EMBEDDED.thresholds["retrieve"]) - (lowest - MARGIN)
    moved = fit.model_copy(update={"intercept": round(fit.intercept + shift, 4)})
    return moved, [expit(logit(p) + shift) for p in held_out]


def wrong(name: str, asked: Sequence[Asked], scores: Sequence[float], least: float) -> str:
    """Return how many rows of each kind fall on the wrong side of a threshold, with their questions."""
    pairs = list(zip(asked, scores, strict=True))
    missed = [one.question for one, score in pairs if one.retrieve and score < least]
    searched = [one.question for one, score in pairs if not one.retrieve and score >= least]
    return "\n".join(
        [f"{name}: {len(missed)} that ask for facts are sent to direct, {len(searched)} others are searched for"]
        + [f"  direct: {question}" for question in missed]
        + [f"  search: {question}" for question in searched]
    )


if __name__ == "__main__":
    main()
