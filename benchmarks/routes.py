"""How well `decide` routes beside the sample library: the share right of each route, and the AUC of P(retrieve).

python -m benchmarks.routes                                  100 questions that nothing was tuned on
python -m benchmarks.routes --questions data/routes_factual.jsonl    50 more that ask for facts
python -m benchmarks.routes --questions data/routes_cases.jsonl      84 more that first describe a situation
python -m benchmarks.routes --questions data/routes_tuning.jsonl     those that everything was tuned on
"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from app.front_door import SelfRAG
from benchmarks.harness import option_parser
from benchmarks.sample import open_docs, questions_in
from evaluation.measures.statistics import auc
from nodes.decide import decide
from prompts.decide import RETRIEVE
from run.initial_state import initial_state
from run.prefetch import PrefetchingRetriever

DEFAULT = Path(__file__).resolve().parent.parent / "data" / "routes.jsonl"


def main() -> None:
    """Ask, print what went wrong, then the figures."""
    options = option_parser(__doc__, questions=DEFAULT).parse_args()
    rows = questions_in(options.questions)
    made = asyncio.run(ask([row.question for row in rows], open_docs(None)))
    chosen = [(row.route, one["route"], row.question, one["decision"]) for row, one in zip(rows, made, strict=True)]
    for route in ("retrieve", "direct"):
        of = [one for one in chosen if one[0] == route]
        wrong = [f"{RETRIEVE.score(verdict):5.2f}  {question}" for _, to, question, verdict in of if to != route]
        print(f"{len(of) - len(wrong)} of {len(of)} to {route}", *wrong, sep="\n  ")
    judged = [(route == "retrieve", RETRIEVE.score(one)) for route, _, _, one in chosen if one["probabilities"]]
    area = auc([needs for needs, _ in judged], [score for _, score in judged])
    print(f"AUC {area:.3f} of {len(judged)} that the critic judged" if area is not None else "")


async def ask(questions: list[str], rag: SelfRAG) -> list[dict[str, Any]]:
    """Return the update that `decide` makes for each question."""
    made, services = [], rag.services
    context = services.completed(None)
    async with rag:
        for question in questions:
            asked = replace(services, retriever=PrefetchingRetriever(services.retriever))
            state: Any = {"question": question}
            made.append(await decide(state | initial_state(state, context), asked, Runtime(context=context)))
    return made


if __name__ == "__main__":
    main()
