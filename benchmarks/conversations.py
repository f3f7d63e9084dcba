"""Conversations of four turns over the sample library: how many turns are right, and what a new subject is mixed with.

    python -m benchmarks.conversations                                                12 that nothing was tuned on
    python -m benchmarks.conversations --conversations data/conversations/tuning.jsonl     5 others

A turn that the documents answer is right if its answer has what is expected and quotes the document that is expected;
one that they do not answer, if it abstains. A new subject was dragged along if it was joined with what was asked
before, or answered from another document. A follow-up repeats if its answer also has what was expected of the turn
before it.
``bench/conversations.json`` has the figures, and every turn with what it was taken to mean.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.front_door import SelfRAG
from app.libraries import SAMPLE
from app.results.result import Result
from benchmarks.harness import aligned, counted, option_parser, read_rows, shown, write_figures
from benchmarks.sample import open_docs
from core.types import Turn
from evaluation.measures.scores import contains
from evaluation.measures.statistics import exact_share

DEFAULT = SAMPLE.parent / "conversations" / "reporting.jsonl"
KINDS = ("first", "follow-up", "new subject")


def main() -> None:
    """Ask, print each turn that is not right or not apart, then the figures."""
    options = option_parser(__doc__, conversations=DEFAULT).parse_args()
    turns = asyncio.run(ask_all(read_rows(options.conversations), open_docs(None)))
    for turn in turns:
        faults = [name for name in ("dragged", "repeats") if turn[name]] + ["not right"] * (not turn["right"])
        if faults:
            told = f"{turn['standalone']}  →  {turn['outcome']}: {turn['answer']}"
            print(f"{turn['kind']:11} {', '.join(faults):20} {told}")
    of = {kind: [turn for turn in turns if turn["kind"] == kind] for kind in KINDS}
    held = {f"{kind}: right": [turn["right"] for turn in ones] for kind, ones in of.items()}
    held["all: right"] = [turn["right"] for turn in turns]
    held["new subject: not dragged along"] = [not turn["dragged"] for turn in of["new subject"]]
    held["follow-up: repeats the answer before"] = [turn["repeats"] for turn in of["follow-up"]]
    rows = [(name, shown(exact_share(sum(one), len(one))), f"{sum(one)} of {len(one)}") for name, one in held.items()]
    print(aligned(rows))
    write_figures("conversations", {"turns": turns})


async def ask_all(conversations: Sequence[dict[str, Any]], rag: SelfRAG) -> list[dict[str, Any]]:
    """Ask the turns of each conversation, each after those before it."""
    found = []
    async with rag:
        for conversation in counted(conversations):
            earlier: list[Turn] = []
            before: list[str] = []
            for turn in conversation["turns"]:
                result = await rag.aask(turn["question"], conversation=earlier)
                found.append(judged(turn, before, result))
                earlier, before = [*earlier, result.turn()], turn["references"]
    return found


def judged(turn: dict[str, Any], before: Sequence[str], result: Result) -> dict[str, Any]:
    """Judge a turn by what is expected of it, and of the turn ``before``."""
    has = any(contains(result.answer, one) for one in turn["references"])
    sources = {Path(one["source"]).name for one in result.citations}
    mixed = result.standalone != result.question or bool(sources - {turn["source"]})
    return {
        "kind": turn["kind"],
        "question": result.question,
        "standalone": result.standalone,
        "answer": result.answer,
        "outcome": result.outcome,
        "right": has and turn["source"] in sources if turn["references"] else result.outcome == "abstained",
        "dragged": turn["kind"] == "new subject" and mixed,
        "repeats": turn["kind"] == "follow-up" and any(contains(result.answer, one) for one in before),
    }


if __name__ == "__main__":
    main()
