"""Whether two stores, or a library and its copy, give the same answers: embedded model, each question asked of both.

    python -m benchmarks.stores --other postgresql://user@host/database
    python -m benchmarks.stores --store sqlite:///old --other sqlite:///new --library library --most 50

Without ``--library`` the sample library is indexed in both. Replies are kept by prompt (at temperature 0 the same
prompt has the same reply), so that the second store costs only the prompts in which it differs. It prints each
difference, and writes ``bench/stores.json``.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from langsmith import tracing_context

from app.compose import context_of, embeddings_of, services_of
from app.libraries import SAMPLE
from app.screen import Screen, print_error
from app.settings import Settings, load_settings
from benchmarks.ablations.__main__ import SECONDS
from benchmarks.ablations.recorded_chat import Clock, Replies, recorded
from benchmarks.harness import FOLDER, end_progress, option_parser, show_progress, write_figures
from benchmarks.sample import QUESTIONS, questions_in
from core.errors import SelfRAGError
from evaluation.datasets.selection import select
from evaluation.records import Example, Record
from evaluation.self_rag import self_rag
from retrieval.library.library import Library, library_name, open_store
from retrieval.splitter import SplitSettings
from retrieval.store import Model


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, print and write."""
    parser = option_parser(__doc__, questions=QUESTIONS, most=30, seed=0)
    parser.add_argument("--store", metavar="URL", default=f"sqlite:///{FOLDER.resolve()}/stores")
    parser.add_argument("--other", metavar="URL", required=True)
    parser.add_argument("--library", metavar="NAME", help="a library that both hold, such as library")
    parser.add_argument("--replies", type=Path, metavar="FILE", default=FOLDER / "replies.sqlite")
    options = parser.parse_args(arguments)
    examples = select(questions_in(options.questions), most=options.most, seed=options.seed)
    replies = Replies(options.replies)
    try:
        records = [answers(url, options.library, examples, replies) for url in (options.store, options.other)]
    except SelfRAGError as error:
        print_error(str(error))
        return error.exit_code
    differences = [found for pair in zip(*records, strict=True) for found in differing(*pair)]
    for one in differences:
        print(f"{one['question']}: {one['what']}: {one['store']!r}, {one['other']!r}")
    unlike = {one["question"] for one in differences}
    print(
        f"{len(examples)} questions; {len(examples) - len(unlike)} with the same passages, outcome, answer and quotes"
    )
    write_figures("stores", {"questions": len(examples), "differences": differences})
    return 0


def answers(url: str, library: str | None, examples: Sequence[Example], replies: Replies) -> list[Record]:
    """Return what is answered from a library of a store."""
    settings = load_settings()
    model = Model(*embeddings_of(settings))
    with closing(open_store(url, library or library_name([SAMPLE]), model, search=settings.selfrag_search)) as store:
        opened = Library(store, SplitSettings(settings.selfrag_chunk_size, settings.selfrag_chunk_overlap))
        if library is None:
            opened.add([SAMPLE])
            opened.sync()
        opened.require_passages()
        return asyncio.run(asked(settings, store.as_retriever(), examples, replies))


async def asked(settings: Settings, retriever: Any, examples: Sequence[Example], replies: Replies) -> list[Record]:
    """Ask each question of the graph over a retriever."""
    with Screen().downloads() as progress:
        services, _ = recorded(services_of(settings, retriever, progress), replies, Clock())
    context = services.completed(context_of(settings))
    limits = context.effective_limits.model_copy(update={"seconds": SECONDS})
    system = self_rag(services, context.model_copy(update={"limits": limits}))
    found = []
    with tracing_context(enabled=False):
        for number, example in enumerate(examples, 1):
            show_progress(f"{number} of {len(examples)}")
            found.append(await system.ask(example))
    end_progress()
    await services.aclose()
    return found


def differing(one: Record, other: Record) -> list[dict[str, Any]]:
    """Return in what two records of a question differ."""
    pairs = zip(parts(one).items(), parts(other).values(), strict=True)
    return [
        {"question": one["question"], "what": what, "store": first, "other": second}
        for (what, first), second in pairs
        if first != second
    ]


def parts(record: Record) -> dict[str, Any]:
    """Return what has to be the same in both stores."""
    return {
        "passages": [(Path(one["source"]).name, one["text"]) for one in record["seen"]],
        "outcome": record["outcome"],
        "answer": record["answer"],
        "quotes": [one.get("quote") for one in record["citations"]],
    }


if __name__ == "__main__":
    sys.exit(main())
