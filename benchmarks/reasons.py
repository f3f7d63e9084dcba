"""The reasons that `--explain` gives, to be read: does each agree with its verdict?

    python -m benchmarks.reasons data/questions.jsonl --most 24 --seed 1

asks a sample of the questions over the sample library, or over the file or folder ``--docs``, keeps every verdict in
the folder ``--out``, and prints 60 of all that are kept there, drawn by the seed: from each label of each kind in turn.
Questions that the folder ``--without`` has verdicts on are not asked; ``--most 0`` only prints.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from app.libraries import SAMPLE
from app.result import Result
from benchmarks.harness import end_progress, option_parser, read_rows, show_progress
from benchmarks.sample import open_docs, questions_in
from evaluation.datasets.selection import select
from evaluation.records import Example

KEPT = "verdicts.jsonl"


def main() -> None:
    """Ask, keep the verdicts, and print those drawn."""
    parser = option_parser(__doc__, docs=SAMPLE, most=24, seed=0, read=60, out=Path("eval/reasons"))
    parser.add_argument("questions", type=Path)
    parser.add_argument("--without", type=Path)
    options = parser.parse_args()
    path = options.out / KEPT
    path.parent.mkdir(parents=True, exist_ok=True)
    asked = {row["question"] for row in read_rows(options.without / KEPT)} if options.without else set()
    examples = [one for one in questions_in(options.questions) if one.question not in asked]
    asyncio.run(ask(select(examples, most=options.most, seed=options.seed), options.docs, path))
    for number, row in enumerate(drawn(read_rows(path), options.read, options.seed), 1):
        print(f"{number}. {row['kind']}: {row['question']}\n   {row['judged']}\n=> {row['label']}: {row['reason']}\n")


async def ask(examples: Sequence[Example], docs: Path, path: Path) -> None:
    """Append the verdicts on each question to the file."""
    if not examples:
        return
    async with open_docs([docs]) as rag:
        explaining = rag.context.model_copy(update={"explain": True})
        for number, example in enumerate(examples, 1):
            show_progress(f"{number} of {len(examples)}")
            result = await rag.aask(example.question, context=explaining)
            with path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in verdicts_of(result))
    end_progress()


def verdicts_of(result: Result) -> Iterator[dict[str, Any]]:
    """A row for each verdict of the run, once: the question, the kind, what is judged, and the verdict."""
    texts = {passage.id: passage.text for passage in result.passages}
    drafts = [step["text"] for step in result.path if step.get("text")]
    seen: list[dict[str, Any]] = []
    for step in result.path:
        judged: list[tuple[str, Any]] = [("", step["verdict"])] if "verdict" in step else []
        judged += [(texts[grade["id"]], grade["verdict"]) for grade in step.get("grades", [])]
        judged += [(claim["text"], claim["verdict"]) for claim in step.get("claims", [])]
        if step["node"] == "answer_check":
            judged += [(" | ".join(drafts), verdict) for verdict in step["usefulness"]]
        for text, verdict in judged:
            row = {"question": result.question, "kind": step["node"], "judged": text, **verdict}
            if row not in seen:
                seen.append(row)
                yield row


def drawn(rows: Sequence[dict[str, Any]], most: int, seed: int) -> list[dict[str, Any]]:
    """At most ``most`` rows: one of each label of each kind in turn, in an order that the seed gives."""
    strata: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)
    for row in shuffled:
        strata[row["kind"], row["label"]].append(row)
    turns = zip_longest(*(strata[key] for key in sorted(strata)))
    return [row for row in chain.from_iterable(turns) if row][:most]


if __name__ == "__main__":
    main()
