"""How well the critics tell right from wrong, on SQuAD 2.0 questions that nothing was tuned on.

    python -m benchmarks.verdicts ../shared/data/squad2_computational_complexity.json --paragraphs 25-48 --most 32

For each question the graph's own nodes grade what the search finds, then check answers that are put to them: the right
answer, another answer of the same passage, and, of an unanswerable question, the plausible wrong answer that SQuAD's
authors noted. Printed are the AUCs. What was asked is kept in the folder ``--out``; a second run goes on from there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from langgraph.runtime import Runtime

from benchmarks.harness import option_parser, read_rows
from benchmarks.sample import open_docs
from core.types import Draft, Passage
from evaluation.datasets.question_set import load
from evaluation.datasets.selection import select
from evaluation.measures.scores import contains, is_gold_source, tokens
from evaluation.measures.statistics import auc_estimate
from evaluation.records import Dataset, Example
from graph.context import Context, Services
from graph.initial_state import initial_state
from graph.state import SelfRAGState
from models.usage import Budget, NodeBudget
from nodes.grade_documents import grade_documents
from nodes.hallucination_check import hallucination_check
from nodes.retrieve import retrieve
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT

FOREVER = 1e12


def main() -> None:
    """Ask what is missing from earlier runs, and print."""
    parser = option_parser(__doc__, most=32, out=Path("eval/verdicts"))
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--paragraphs", default="25-48")
    options = parser.parse_args()
    first, last = map(int, options.paragraphs.split("-"))
    dataset = load(options.dataset, options.out / "documents", (first, last))
    examples = select(dataset.examples, most=options.most, balanced=True)
    rows = asyncio.run(ask(dataset, examples, options.out))
    print("\n".join(summary(rows)))


async def ask(dataset: Dataset, examples: Sequence[Example], out: Path) -> list[dict[str, Any]]:
    """A row for each verdict: example, kind, score."""
    path = out / "verdicts.jsonl"
    asked = read_rows(path)
    known = {row["example"] for row in asked}
    left = [example for example in examples if example.id not in known]
    if left:
        async with open_docs(dataset.documents) as rag:
            context = rag.services.completed(rag.context)
            # The critic alone: what the gate leaves out would count as the critic's own verdict.
            ungated = replace(rag.services, fits=rag.services.fits.model_copy(update={"gate": None}))
            services = ungated.with_budget(NodeBudget(Budget(calls=10**9, tokens=10**12, seconds=FOREVER)))
            for number, example in enumerate(left, 1):
                rows = await verdicts(example, others(example, dataset.examples), services, context)
                asked += rows
                with path.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(row) + "\n" for row in rows)
                print(f"{number} of {len(left)}: {example.question}", flush=True)
    chosen = {example.id for example in examples}
    return [row for row in asked if row["example"] in chosen]


async def verdicts(
    example: Example, wrong: Sequence[str], services: Services, context: Context
) -> list[dict[str, Any]]:
    """Grade what is found, then check the answers put to the critic against what is relevant, and the gold passage."""
    runtime: Any = Runtime(context=context)
    state = cast("SelfRAGState", {"question": example.question})
    state = cast("SelfRAGState", {**state, **initial_state(state, context), "drafts_left": 0})
    state = cast("SelfRAGState", {**state, **await retrieve(state, services, runtime)})
    state = cast("SelfRAGState", {**state, **await grade_documents(state, services, runtime)})
    rows: list[dict[str, Any]] = [
        {
            "example": example.id,
            "kind": f"passage: {kind_of(passage, example)}",
            "score": RELEVANCE.score(state["verdicts"][passage["id"]]),
        }
        for passage in state["passages"]
        if kind_of(passage, example) != "unclear"
    ]
    texts = example.references or example.plausible
    gold = [passage for passage in state["passages"] if any(contains(passage["text"], text) for text in texts)]
    if not gold:
        return rows or [{"example": example.id, "kind": "nothing found", "score": 0.0}]
    read = [one for one in state["passages"] if one["id"] in state["relevant"] or one is gold[0]]
    answers = [("right", min(example.references, key=len))] if example.references else []
    answers += [("plausible", text) for text in example.plausible[:1] if not example.references]
    answers += [("other span", text) for text in wrong if contains(gold[0]["text"], text)][:1]
    for kind, text in answers:
        draft = Draft(text=text, passages=read, relevance=0.0, declined=False)
        update = await hallucination_check(cast("SelfRAGState", {**state, "drafts": [draft]}), services, runtime)
        scores = [SUPPORT.score(claim["verdict"]) for claim in update["claims"][0]]
        rows.append({"example": example.id, "kind": f"answer: {kind}", "score": sum(scores) / max(1, len(scores))})
    return rows


def kind_of(passage: Passage, example: Example) -> str:
    """Whether the passage answers; None for another paragraph with the answer's words."""
    if any(contains(passage["text"], text) for text in example.references):
        return "right" if is_gold_source(example, passage["source"]) else "unclear"
    if example.answerable:
        return "wrong, of an answerable question"
    plausible = any(contains(passage["text"], text) for text in example.plausible)
    return "right one of an unanswerable question" if plausible else "of an unanswerable question"


def others(example: Example, examples: Sequence[Example]) -> list[str]:
    """Answers of the same paragraph that share no word with the right one."""
    if not example.gold:
        return []
    own = {token for reference in example.references for token in tokens(reference)}
    found = [
        min(one.references, key=len)
        for one in examples
        if one.references and one.gold[0].source == example.gold[0].source and one.id != example.id
    ]
    return [text for text in found if not own & set(tokens(text))]


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The AUC of the right ones against each other kind, with 95 % bootstrap intervals over questions."""
    lines = []
    for group in ("passage", "answer"):
        right = [row for row in rows if row["kind"] == f"{group}: right"]
        for kind in sorted({row["kind"] for row in rows if row["kind"].startswith(group)} - {f"{group}: right"}):
            wrong = [row for row in rows if row["kind"] == kind]
            both = [*right, *wrong]
            found = auc_estimate(
                [True] * len(right) + [False] * len(wrong),
                [row["score"] for row in both],
                [row["example"] for row in both],
            )
            value = "–" if found.value is None else f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"
            other = kind.removeprefix(f"{group}: ")
            lines.append(f"{group} right ({len(right)}) against {other} ({len(wrong)}): {value}")
    return lines


if __name__ == "__main__":
    main()
