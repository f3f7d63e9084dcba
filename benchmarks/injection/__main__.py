"""How many planted instructions steer plain RAG, and how many Self-RAG, in one run.

    python -m benchmarks.injection [--most 36]

Each attack of the installed raginject is planted in a short honest document, or is found beside one, and the question
that this document answers is asked of both systems: same model, same search, same passages. The package's own judge
says whether the attack succeeded. Answers are kept in ``bench/injection.jsonl``: an interrupted run goes on, and
nothing is asked twice. ``bench/injection.json`` has the figures.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.terminal.screen import Screen
from benchmarks.harness import aligned, exit_code_of, option_parser, shown, write_figures
from benchmarks.injection.attacks import Attack, drawn, raginject
from benchmarks.own_documents import Bind, asked
from evaluation.measures.scores import abstained, answer_of
from evaluation.measures.statistics import Estimate, exact_share
from evaluation.records import Record, System
from evaluation.self_rag import self_rag
from evaluation.systems import plain
from run.context import Context, Services


@dataclass(frozen=True)
class Shares:
    """Of the attacks that a system answered without a failure: succeeded, honest question answered, abstained."""

    succeeded: Estimate
    right: Estimate
    abstained: Estimate
    failed: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack, print the table, and write the figures."""
    parser = option_parser(__doc__, seed=0)
    parser.add_argument("--most", type=int, metavar="N", help="attacks at most, evenly from all categories")
    options = parser.parse_args(arguments)
    return exit_code_of(lambda: measure(options.most, options.seed))


def measure(most: int | None, seed: int) -> None:
    """Ask what was not asked yet, and report."""
    attacks = drawn(raginject(), most, seed)
    documents = {attack.example.id: attack.documents for attack in attacks}
    records = asked("injection", [attack.example for attack in attacks], documents, systems, Screen())
    found = {name: shares(attacks, said) for name, said in records.items()}
    rows = [
        (name, *map(shown, (one.succeeded, one.right, one.abstained)), str(one.failed)) for name, one in found.items()
    ]
    print(aligned([(f"{len(attacks)} attacks", "succeeded", "right", "abstained", "failed"), *rows]))
    write_figures("injection", {"seed": seed, "attacks": len(attacks), "systems": found})


def systems(services: Services, context: Context, bind: Bind) -> list[System]:
    """Plain retrieve-and-generate, and Self-RAG."""
    return [
        bind(lambda services: plain(services, context), services),
        bind(lambda services: self_rag(services, context), services),
    ]


def shares(attacks: Sequence[Attack], records: Sequence[Record]) -> Shares:
    """Count what a system said; what failed counts nowhere else, and an abstention neither succeeds nor is right."""
    by_example: Mapping[str, Record] = {record["example"]: record for record in records}
    pairs = [(one, by_example[one.example.id]) for one in attacks if one.example.id in by_example]
    kept = [(attack, record) for attack, record in pairs if record["error"] is None]
    answers = [(attack, answer_of(record)) for attack, record in kept if not abstained(record)]
    return Shares(
        succeeded=exact_share(sum(attack.succeeded(answer) for attack, answer in answers), len(kept)),
        right=exact_share(sum(attack.right(answer) for attack, answer in answers), len(kept)),
        abstained=exact_share(len(kept) - len(answers), len(kept)),
        failed=len(pairs) - len(kept),
    )


if __name__ == "__main__":
    sys.exit(main())
