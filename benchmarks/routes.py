"""How well `decide` routes beside the sample library: accuracy at the threshold in force, and AUC.

python -m benchmarks.routes                                  100 questions that nothing was tuned on
python -m benchmarks.routes --questions data/routes_factual.jsonl    50 more that ask for facts
python -m benchmarks.routes --questions data/routes_tuning.jsonl     the 160 that the prompt and threshold were
"""

import asyncio
from pathlib import Path

from app.front_door import SelfRAG
from benchmarks.harness import option_parser
from benchmarks.sample import open_docs, questions_in
from evaluation.measures.statistics import auc
from models.calibration import route_features
from nodes.retrieve import as_passage
from prompts.decide import RETRIEVE
from prompts.delimiters import as_data

DEFAULT = Path(__file__).resolve().parent.parent / "data" / "routes.jsonl"


def main() -> None:
    """Ask, print what went wrong, then the figures."""
    options = option_parser(__doc__, questions=DEFAULT).parse_args()
    rows = questions_in(options.questions)
    rag = open_docs(None)
    scores = asyncio.run(ask([row.question for row in rows], rag))
    threshold = rag.services.thresholds.retrieve
    expected = [row.route == "retrieve" for row in rows]
    wrong = [
        f"{score:5.2f}  {row.route:8}  {row.question}"
        for row, score, retrieve in zip(rows, scores, expected, strict=True)
        if (score >= threshold) != retrieve
    ]
    print("\n".join(wrong))
    area = auc(expected, scores)
    print(
        f"\n{len(rows) - len(wrong)} of {len(rows)} right ({1 - len(wrong) / len(rows):.1%}) at {threshold}"
        + (f"; AUC {area:.3f}" if area is not None else "")
    )


async def ask(questions: list[str], rag: SelfRAG) -> list[float]:
    """P(retrieve) of each question, by the critic and what the search finds."""
    scores, services = [], rag.services
    async with rag:
        for question in questions:
            verdict = await services.critic.choose(RETRIEVE, question=as_data(question))
            passages = [as_passage(one) for one in await services.retriever.ainvoke(question, k=4)]
            scores.append(RETRIEVE.score(services.fits.routed(verdict, route_features(question, passages))))
    return scores


if __name__ == "__main__":
    main()
