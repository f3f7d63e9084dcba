"""How well `decide` routes: accuracy at the threshold in force, and AUC.

python -m benchmarks.routes                                  100 questions that nothing was tuned on
python -m benchmarks.routes --questions data/routes_tuning.jsonl     the 160 that the prompt and threshold were
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

from app.compose import services_of
from app.screen import Screen
from app.settings import load_settings
from benchmarks.common import questions_in
from evaluation.statistics import auc
from graph.context import Services
from models.usage import Budget, NodeBudget
from prompts.decide import RETRIEVE
from prompts.delimiters import as_data

DEFAULT = Path(__file__).resolve().parent.parent / "data" / "routes.jsonl"


def main() -> None:
    """Ask, print what went wrong, then the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--questions", type=Path, default=DEFAULT)
    options = parser.parse_args()
    rows = questions_in(options.questions)
    retriever: Any = None  # never asked
    with Screen().downloads() as progress:
        services = services_of(load_settings(), retriever, progress)
    scores = asyncio.run(ask([row.question for row in rows], services))
    threshold = services.thresholds.retrieve
    expected = [row.route == "retrieve" for row in rows]
    wrong = [
        f"{score:5.2f}  {row.route:8}  {row.question}"
        for row, score, retrieve in zip(rows, scores, expected, strict=True)
        if (score >= threshold) != retrieve
    ]
    print("\n".join(wrong))
    print(
        f"\n{len(rows) - len(wrong)} of {len(rows)} right ({1 - len(wrong) / len(rows):.1%}) at {threshold}; "
        f"AUC {auc(expected, scores):.3f}"
    )


async def ask(questions: list[str], services: Services) -> list[float]:
    """P(retrieve) of each question."""
    budget = NodeBudget(Budget(calls=10**6, tokens=10**9, seconds=24 * 3600))
    critic = services.with_budget(budget).critic
    return [RETRIEVE.score(await critic.choose(RETRIEVE, question=as_data(question))) for question in questions]


if __name__ == "__main__":
    main()
