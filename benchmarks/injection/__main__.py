"""How many planted instructions and poisoned passages steer plain RAG, and how many Self-RAG, in one run.

    python -m benchmarks.injection --raginject --bipia text_attack_test.json --poisonedrag nq.json --most 36

Each attack of the public sets named is planted in a short honest document, or is found beside one, and the question
that this document answers is asked of both systems: same model, same search, same passages. Code judges whether the
attack succeeded; `sources` and `rules` say how, and what is left out because code cannot tell. ``--benign`` asks the
honest documents alone as well. Answers are kept in ``bench/injection.jsonl``: an interrupted run goes on, and nothing
is asked twice. The table's figures are written as ``bench/injection.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from langsmith import tracing_context

from app.compose import embeddings_of
from app.progress import asking, table
from app.screen import Screen, print_error
from app.settings import load_settings
from benchmarks.harness import FOLDER, option_parser, write_figures
from benchmarks.injection.attack_sources import bipia, drawn, poisonedrag, raginject
from benchmarks.injection.attacks import Attack, unattacked
from benchmarks.injection.shares import as_json, rows
from benchmarks.injection.shares import table as in_words
from benchmarks.injection.targets import libraries, targets
from benchmarks.sample import open_docs
from core.errors import SelfRAGError
from evaluation.record_store import Store
from evaluation.records import Record
from evaluation.run import run
from retrieval.splitter import SplitSettings


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack, print the table, and say where the figures are."""
    parser = option_parser(__doc__)
    parser.add_argument("--raginject", action="store_true", help="the installed package's patterns")
    parser.add_argument("--bipia", type=Path, metavar="FILE", help="text_attack_test.json, or the like")
    parser.add_argument("--poisonedrag", type=Path, action="append", default=[], metavar="FILE", help="repeatable")
    parser.add_argument("--benign", action="store_true", help="ask the honest documents without an attack as well")
    parser.add_argument("--most", type=int, metavar="N", help="attacks at most, evenly from the sets named")
    parser.add_argument("--seed", type=int, default=0, help="draw other attacks (0)")
    options = parser.parse_args(arguments)
    screen = Screen()
    try:
        attacks = chosen(options)
        if not attacks:
            parser.error("name an attack set: --raginject, --bipia FILE, --poisonedrag FILE, or --benign")
        records = asked(attacks, screen)
    except SelfRAGError as error:
        print_error(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        print("Interrupted: the same command goes on from there.", file=sys.stderr)
        return 130
    found = rows(attacks, records)
    table(in_words(found), screen)
    path = write_figures("injection", {"seed": options.seed, "rows": as_json(found)})
    screen.note(f"the answers are in {path.with_suffix('.jsonl')}")
    return 0


def chosen(options: argparse.Namespace) -> list[Attack]:
    """The attacks that the options name, and the honest questions."""
    sources = [raginject()] if options.raginject else []
    sources += [bipia(options.bipia)] if options.bipia else []
    poisoned = [attack for path in options.poisonedrag for attack in poisonedrag(path)]
    sources += [poisoned] if poisoned else []
    return drawn(sources, options.most, options.seed) + (unattacked() if options.benign else [])


def asked(attacks: Sequence[Attack], screen: Screen) -> dict[str, list[Record]]:
    """What each system said to each attack, asked now or kept from before."""
    settings = load_settings()
    embeddings, name = embeddings_of(settings)
    split = SplitSettings(settings.selfrag_chunk_size, settings.selfrag_chunk_overlap)
    examples = [attack.example for attack in attacks]
    documents = {attack.example.id: attack.documents for attack in attacks}
    surroundings = {
        "chat": settings.chat_model,
        "critic": settings.selfrag_critic_model or settings.chat_model,
        "file": settings.selfrag_model_path,
        "embeddings": name,
        "split": vars(split),
    }
    with (
        TemporaryDirectory() as home,
        Store(FOLDER / "injection.jsonl") as store,
        open_docs(None) as rag,
        asking(screen) as progress,
        tracing_context(enabled=False),
    ):
        systems = targets(
            rag.services, rag.context, libraries(documents, Path(home), embeddings, name, split), surroundings
        )
        return asyncio.run(run(systems, examples, store, progress=progress))


if __name__ == "__main__":
    sys.exit(main())
