"""What Self-RAG costs against plain retrieve-and-generate: same model, k and questions, in one run.

    python -m benchmarks.cost [--questions data/questions.jsonl] [--most 12] [--peers]

Each question is asked both ways, in turns, after one warm-up of each; only questions that are grounded at the first
draft count. Printed are the medians and the median ratio, in wall-clock and in tokens not served from a cache. With
``--peers`` the same questions are asked in the peers' ways too, and count whatever a peer makes of them; they come last
and write with the prompt of plain, so that what the server's cache has of it is in their favour.
`bench/cost.json` has the figures.
"""

import asyncio
from collections.abc import Sequence

from benchmarks.harness import option_parser, write_figures
from benchmarks.peers import peers
from benchmarks.sample import QUESTIONS, open_docs, questions_in
from benchmarks.turns import OURS, PLAIN, Turn, medians, table, turn_of
from evaluation.records import System
from evaluation.self_rag import self_rag_system
from evaluation.systems import plain


def main() -> None:
    """Measure, print, write."""
    options = option_parser(__doc__, questions=QUESTIONS, most=12, peers=False).parse_args()
    questions = [one.question for one in questions_in(options.questions) if one.answerable][: options.most + 1]
    rows = asyncio.run(measure(questions, options.peers))
    if not rows:
        print("No question was grounded at its first draft: nothing to compare.")
        return
    times = sorted(row[OURS].seconds / row[PLAIN].seconds for row in rows)
    ways = medians(rows)
    print(f"\n{len(rows)} questions grounded at the first draft; ours over plain {times[0]:.2f} to {times[-1]:.2f}")
    print(table(ways))
    write_figures("cost", {"questions": len(rows), "ways": ways})


async def measure(questions: Sequence[str], with_peers: bool) -> list[dict[str, Turn]]:
    """Ask in turns, the first question to warm up; print a line for each, and return those that count."""
    rows = []
    async with open_docs(None) as rag:
        context = rag.services.completed(rag.context)
        basic, own = plain(rag.services, context, PLAIN), self_rag_system(rag.services, context, OURS)
        others: list[System] = [*peers(rag.services, context.k)] if with_peers else []
        for number, question in enumerate(questions):
            # Which goes first alternates: the machine may slow down or speed up meanwhile.
            order: list[System] = [own, basic] if number % 2 else [basic, own]
            turns = {one.name: await turn_of(one, question) for one in order + others}
            row = {name: turns[name] for name in (PLAIN, OURS, *(peer.name for peer in others))}
            counts = number > 0 and row[OURS].accepted
            rows += [row] if counts else []
            seconds = ", ".join(f"{name} {one.seconds:.1f} s" for name, one in row.items())
            print(f"{'' if counts else 'not counted: '}{seconds}; {row[OURS].outcome}: {question}", flush=True)
    return rows


if __name__ == "__main__":
    main()
