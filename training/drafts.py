"""Let the embedded model answer rows, so that its support adapter learns from drafts such as it will judge.

    python -m training.drafts --families squad,german --most 600

Each row's question is put to the generator as the graph puts it, with the passages that claims on the row are read
with; half of the rows have an answer. ``training/rows/drafts.jsonl.xz`` keeps what it wrote, and a second run goes on
where the first stopped. A draft is labelled when it is read back: see `training.layout`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from random import Random
from typing import Any

from app.compose import chat_of
from app.settings import EMBEDDED, load_settings
from benchmarks.harness import end_progress, option_parser, show_progress
from models.generator import Generator
from prompts.delimiters import as_data
from prompts.generate import GENERATE, MAX_TOKENS
from training.layout import DRAFTS, read_with, rows_of, shown
from training.rows import ROWS, write

SAVED = 10  # drafts between two writes


def main() -> None:
    """Draft what no earlier run has drafted."""
    parser = option_parser(__doc__, most=600, seed=0)
    parser.add_argument("--families", default="squad")
    options = parser.parse_args()
    drafts = list(rows_of(ROWS, [DRAFTS]))
    known = {one["id"] for one in drafts}
    rows = list(rows_of(ROWS, options.families.split(",")))
    Random(options.seed).shuffle(rows)
    left = [row for row in list(alternating(rows))[: options.most] if row["id"] not in known]
    asyncio.run(drafted(left, drafts))


def alternating(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield rows with an answer and rows without in turn, as long as there are both, and then the rest."""
    with_answer = [row for row in rows if row["answers"]]
    without = [row for row in rows if not row["answers"]]
    return (row for row in chain.from_iterable(zip_longest(with_answer, without)) if row)


async def drafted(rows: Sequence[Mapping[str, Any]], drafts: list[dict[str, Any]]) -> None:
    """Append the rows' drafts and write them."""
    generator = Generator(chat_of(EMBEDDED, load_settings()))
    for number, row in enumerate(rows, 1):
        question = as_data(row["question"])
        text = await generator.write(GENERATE, max_tokens=MAX_TOKENS, question=question, passages=shown(read_with(row)))
        drafts.append({"id": row["id"], "text": text})
        show_progress(f"{number} of {len(rows)} drafts")
        if number % SAVED == 0 or number == len(rows):
            write(DRAFTS, drafts)
    end_progress()


if __name__ == "__main__":
    main()
