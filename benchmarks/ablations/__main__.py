"""What each rule, fit, check and loop is worth: the graph without it, beside the whole graph and plain, paired.

    python -m benchmarks.ablations ../shared/data/squad2_computational_complexity.json --paragraphs 1-24 --most 100
    python -m benchmarks.ablations … --only rewrites-0,no-gate

Replies are kept by prompt in ``--replies``, so that an ablation costs the calls that it changes, and a later run only
those that no run made. Seconds are estimated from tokens by one regression over all kept replies: those measured
depend on what else the machine did.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.evaluate import add_options, ask_dataset
from app.screen import Screen, print_error
from benchmarks.ablations.recorded_chat import Clock, RecordedChat, Replies, recorded
from benchmarks.ablations.variants import ABLATIONS, Ablation
from benchmarks.harness import FOLDER, write_figures
from core.errors import SelfRAGError
from evaluation.datasets.question_set import name_of
from evaluation.fingerprint import fingerprint
from evaluation.measures.joined_rows import Row, Terms, rows_of
from evaluation.measures.metrics import TERMS, kept
from evaluation.measures.statistics import difference, ratio
from evaluation.records import Example, Record, System
from evaluation.self_rag import CODE, SelfRAGSystem
from evaluation.systems import plain
from graph.builder import build_graph
from graph.context import Context, Services

BASE, PLAIN = "self-rag", "plain"
SECONDS = 36_000  # of one question: no limit of time, as an ablation's calls are real and others' are replayed


@dataclass
class AblatedSystem:
    """The graph with one change, over recorded models."""

    name: str
    fingerprint: str
    ablation: Ablation
    services: Services
    context: Context
    chats: Sequence[RecordedChat]
    clock: Clock

    async def ask(self, example: Example) -> Record:
        """Answer one question; its seconds are our own, and those that each call took when it was made."""
        with self.ablation.applied():
            graph = build_graph(self.services)
            system = SelfRAGSystem(self.name, self.fingerprint, graph, self.context)
            return await timed(system, example, self.chats, self.clock)


@dataclass
class RecordedSystem:
    """A system over recorded models."""

    name: str
    fingerprint: str
    system: System
    chats: Sequence[RecordedChat]
    clock: Clock

    async def ask(self, example: Example) -> Record:
        """Answer one question, timed as an ablation is."""
        return await timed(self.system, example, self.chats, self.clock)


async def timed(system: System, example: Example, chats: Sequence[RecordedChat], clock: Clock) -> Record:
    """Ask, and replace the seconds waited for the model by the recorded ones."""
    for chat in chats:
        chat.begin()
    clock.recorded = clock.waited = 0.0
    began = time.perf_counter()
    record = await system.ask(example)
    record["cost"]["seconds"] = time.perf_counter() - began - clock.waited + clock.recorded
    return record


def systems(services: Services, context: Context, replies: Replies, chosen: Sequence[Ablation]) -> list[System]:
    """Return plain and the ablations, all with the same recorded models."""
    clock = Clock()
    services, chats = recorded(services, replies, clock)
    context = services.completed(context)
    limits = context.effective_limits
    context = context.model_copy(update={"limits": limits.model_copy(update={"seconds": SECONDS})})
    one = plain(services, context)
    found: list[System] = [RecordedSystem(PLAIN, one.fingerprint, one, chats, clock)]
    for ablation in chosen:
        changed = ablation.context(context)
        own = fingerprint(ablation.name, changed.model_dump(mode="json") | {"ablation": str(ablation)}, CODE)
        found.append(AblatedSystem(ablation.name, own, ablation, ablation.services(services), changed, chats, clock))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask what was not asked yet, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ablations", description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    add_options(parser)
    parser.add_argument("--quiet", action="store_true", help="print the table alone")
    parser.add_argument("--only", metavar="NAME,…", help="these ablations, besides self-rag and plain")
    parser.add_argument("--replies", type=Path, metavar="FILE", default=FOLDER / "replies.sqlite")
    options = parser.parse_args(arguments)
    options.out = options.out or FOLDER / f"ablations-{name_of(options.dataset, options.paragraphs)}"
    options.systems = ()
    names = {ablation.name for ablation in ABLATIONS}
    wanted = set(options.only.split(",")) if options.only else names
    if wanted - names:
        parser.error(f"{', '.join(sorted(wanted - names))}: choose of {', '.join(sorted(names))}")
    chosen = [ablation for ablation in ABLATIONS if ablation.name in wanted | {BASE}]
    replies = Replies(options.replies)

    def recorded_systems(services: Services, context: Context) -> list[System]:
        return systems(services, context, replies, chosen)

    try:
        folder, _, examples, records, _ = ask_dataset(options, Screen(quiet=options.quiet), recorded_systems)
    except SelfRAGError as error:
        print_error(str(error))
        return error.exit_code
    report(folder.name, examples, records, replies)
    return 0


def report(name: str, examples: Sequence[Example], records: Sequence[Record], replies: Replies) -> None:
    """Print each ablation's figures, each difference from the whole graph with its interval, and keep them as JSON."""
    by_name = rows_of(examples, records)
    per_call, per_input, per_output = rates(replies.costs())

    def estimated_seconds(row: Row) -> tuple[float, float]:
        cost = row.record["cost"]
        uncached = cost["input_tokens"] - cost["cached_input_tokens"]
        return per_call * cost["model_calls"] + per_input * uncached + per_output * cost["output_tokens"], 1.0

    terms: dict[str, Terms] = {
        "abstention F1": TERMS["abstention_f1"],
        "kept": lambda row: kept(row, by_name[PLAIN].get(row.example.id)),
        "right answered": TERMS["right_answered"],
        "right": TERMS["right"],
        "calls": lambda row: (float(row.record["cost"]["model_calls"]), 1.0),
        "uncached": lambda row: (
            float(row.record["cost"]["input_tokens"] - row.record["cost"]["cached_input_tokens"]),
            1.0,
        ),
        "seconds": estimated_seconds,
    }
    print(
        f"\n{len(examples)} questions; seconds = {per_call:.2f} × calls + {per_input:.4f} × uncached tokens read + "
        f"{per_output:.3f} × tokens written\n"
    )
    print("| | " + " | ".join(terms) + " |\n|---|" + "---|" * len(terms))
    figures: dict[str, Any] = {}
    for system, rows in by_name.items():
        shared = [key for key in rows if key in by_name[BASE]]
        cells = []
        for title, term in terms.items():
            cells.append(_cell(term, [rows[key] for key in shared], [by_name[BASE][key] for key in shared], system))
            figures.setdefault(system, {})[title] = cells[-1]
        print(f"| {system} | " + " | ".join(cells) + " |")
    write_figures(name, {"questions": len(examples), "figures": figures})


def _cell(term: Terms, rows: Sequence[Row], base: Sequence[Row], name: str) -> str:
    pairs = [(one, other) for one, other in zip(map(term, rows), map(term, base), strict=True) if one and other]
    if not pairs:
        return ""
    (a, b), (c, d) = ([[one[side][part] for one in pairs] for part in (0, 1)] for side in (0, 1))
    value = ratio(a, b).value
    if value is None:
        return ""
    shown = f"{value:.2f}" if value < 100 else f"{value:.0f}"
    if name in (BASE, PLAIN):
        return shown
    change = difference((a, b), (c, d), permutations=100)
    if change.value is None or not change.value:
        return f"{shown}, 0"
    return f"{shown}, {change.value:+.3g} [{change.low:+.3g}, {change.high:+.3g}]"


def rates(costs: Sequence[tuple[int, int, float]]) -> tuple[float, float, float]:
    """Return seconds per call, per uncached input token and per output token: a median-weighted least-squares fit."""
    seen = np.asarray(costs, dtype=np.float64)
    design = np.column_stack([np.ones(len(seen)), seen[:, 0], seen[:, 1]])
    weights = np.ones(len(seen))
    for _ in range(30):  # iteratively reweighted: least absolute errors, as a busy machine only ever adds seconds
        root = np.sqrt(weights)[:, None]
        found = np.linalg.lstsq(design * root, seen[:, 2] * root[:, 0], rcond=None)[0]
        weights = 1 / np.maximum(np.abs(seen[:, 2] - design @ found), 1e-3)
    return float(found[0]), float(found[1]), float(found[2])


if __name__ == "__main__":
    sys.exit(main())
