"""Conversations of four turns over the sample library: how many turns are right.

    python -m benchmarks.conversations                                                12 that nothing was tuned on
    python -m benchmarks.conversations --conversations data/conversations/tuning.jsonl     5 others

A turn that the documents answer is right if its answer has what is expected and quotes the document that is expected;
one that they do not answer, if it abstains. ``bench/conversations.json`` has every turn with what it was taken to mean.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.front_door import SelfRAG
from app.libraries import SAMPLE
from benchmarks.harness import aligned, counted, option_parser, read_rows, share_table, write_figures
from benchmarks.sample import open_docs
from core.types import Turn
from evaluation.measures.scores import contains

DEFAULT = SAMPLE.parent / "conversations" / "reporting.jsonl"


def main() -> None:
    """Ask, print each turn that is not right, then the shares of those that are."""
    options = option_parser(__doc__, conversations=DEFAULT).parse_args()
    turns = asyncio.run(ask_all(read_rows(options.conversations), open_docs(None)))
    for turn in turns:
        if not turn["right"]:
            print(f"{turn['kind']:11} {turn['standalone']}  →  {turn['outcome']}: {turn['answer']}")
    print(aligned(share_table(turns, ("kind",), {"right": "right"})))
    write_figures("conversations", {"turns": turns})


async def ask_all(conversations: Sequence[dict[str, Any]], rag: SelfRAG) -> list[dict[str, Any]]:
    """Ask the turns of each conversation, each after those before it, and judge them by what is expected."""
    found = []
    async with rag:
        for conversation in counted(conversations):
            earlier: list[Turn] = []
            for turn in conversation["turns"]:
                result = await rag.aask(turn["question"], conversation=earlier)
                earlier.append(result.turn())
                told = {name: getattr(result, name) for name in ("question", "standalone", "answer", "outcome")}
                right = result.outcome == "abstained"
                if turn["references"]:
                    quoted = turn["source"] in {Path(one["source"]).name for one in result.citations}
                    right = quoted and any(contains(result.answer, one) for one in turn["references"])
                found.append({"kind": turn["kind"], **told, "right": right})
    return found


if __name__ == "__main__":
    main()
