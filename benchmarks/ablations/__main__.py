"""What each rule, fit, check and loop is worth: the graph without it, beside the whole graph and plain, paired.

    python -m benchmarks.ablations ../shared/data/squad2_computational_complexity.json --paragraphs 1-24 --most 100
    python -m benchmarks.ablations … --only rewrites-0,no-gate

Replies are kept by prompt in ``--replies``, so that an ablation costs the calls that it changes, and a later run only
those that no run made.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from app.commands.eval import ask_dataset
from app.commands.options import add_eval
from app.terminal.screen import Screen
from benchmarks.ablations.variants import ABLATIONS, Ablation
from benchmarks.harness import (
    FOLDER,
    WrappedSystem,
    aligned,
    exit_code_of,
    option_parser,
    shown,
    without_time_limit,
    write_figures,
)
from core.fingerprint import fingerprint
from evaluation.datasets.question_set import dataset_name
from evaluation.judging.saved_replies import Replies
from evaluation.measures.joined_rows import Row, Terms, ratio_over, rows_of
from evaluation.measures.metrics import TERMS, compared, costs_of, kept
from evaluation.recorded_chat import with_recorded_chats
from evaluation.records import BASELINE, OURS, Example, Record, System
from evaluation.self_rag import CODE, SelfRAGSystem
from evaluation.systems import plain
from evaluation.variants import variant
from graph.builder import build_graph
from run.context import Context, Services


def ablated(ablation: Ablation, services: Services, context: Context) -> System:
    """Return the graph with one change."""
    _, context = variant(f"{ablation.name}:{ablation.settings}", context, services)
    if ablation.fit:
        services = replace(services, fits=services.fits.model_copy(update={ablation.fit: None}))
    own = fingerprint(ablation.name, context.model_dump(mode="json") | {"ablation": str(ablation)}, CODE)

    async def ask(example: Example) -> Record:
        with ablation.applied():
            graph = build_graph(services)
            return await SelfRAGSystem(ablation.name, own, graph, context).ask(example)

    return WrappedSystem(ablation.name, own, ask)


def systems(services: Services, context: Context, replies: Replies, chosen: Sequence[Ablation]) -> list[System]:
    """Return plain and the ablations, all with the same recorded models."""
    services = with_recorded_chats(services, replies)
    context = without_time_limit(services, context)
    return [plain(services, context), *(ablated(one, services, context) for one in chosen)]


def main() -> int:
    """Ask what was not asked yet, and print the table."""
    parser = option_parser(__doc__, replies=FOLDER / "replies.jsonl")
    add_eval(parser)
    parser.add_argument("--quiet", action="store_true", help="print the table alone")
    parser.add_argument("--only", metavar="NAME,…", help="these ablations, besides self-rag and plain")
    options = parser.parse_args()
    options.out = options.out or FOLDER / f"ablations-{dataset_name(options.dataset, options.paragraphs)}"
    options.systems = ()
    names = {ablation.name for ablation in ABLATIONS}
    wanted = set(options.only.split(",")) if options.only else names
    if wanted - names:
        parser.error(f"{', '.join(sorted(wanted - names))}: choose of {', '.join(sorted(names))}")
    return exit_code_of(lambda: measure(options, [one for one in ABLATIONS if one.name in wanted | {OURS}]))


def measure(options: argparse.Namespace, chosen: Sequence[Ablation]) -> None:
    """Ask, and report."""
    replies = Replies(options.replies)
    folder, _, examples, records, _ = ask_dataset(
        options, Screen(quiet=options.quiet), lambda services, context: systems(services, context, replies, chosen)
    )
    report(folder.name, examples, records)


def report(folder: str, examples: Sequence[Example], records: Sequence[Record]) -> None:
    """Print each ablation's figures, each difference from the whole graph with its interval, and keep them as JSON."""
    by_name = rows_of(examples, records)
    terms: dict[str, Terms] = {
        "abstention F1": TERMS["abstention_f1"],
        "kept": lambda row: kept(row, by_name[BASELINE].get(row.example.id)),
        "right answered": TERMS["right_answered"],
        "right": TERMS["right"],
        "calls": lambda row: (costs_of(row.record)["model_calls"], 1.0),
    }
    figures = {name: {title: _cell(name, by_name, title, term) for title, term in terms.items()} for name in by_name}
    print(aligned([(f"{len(examples)} questions", *terms), *((name, *row.values()) for name, row in figures.items())]))
    write_figures(folder, {"questions": len(examples), "figures": figures})


def _cell(name: str, by_name: dict[str, dict[str, Row]], title: str, term: Terms) -> str:
    base, rows = by_name[OURS], by_name[name]
    value = ratio_over([rows[key] for key in rows if key in base], term).value
    if value is None:
        return ""
    change = compared(name, rows, OURS, base, title, term).difference
    return f"{value:.2f}" if name in (OURS, BASELINE) else f"{value:.2f}, {shown(change) if change.value else 0}"


if __name__ == "__main__":
    sys.exit(main())
