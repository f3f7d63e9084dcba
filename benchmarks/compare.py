"""Compare Self-RAG with plain retrieve-and-generate and with the common ways to build it, in one run.

    python -m benchmarks.compare DATASET [options of `python -m app eval`]
    python -m benchmarks.compare ../shared/data/squad2_computational_complexity.json --paragraphs 49-72 --balanced

The peers (``benchmarks/peers``) are the sequential per-document grader with its loops bounded, the best answer of each
passage by support × 5 + utility, and the graph that filters on 300 characters and flags what it doubts: their
behaviour, not their code. All have the same models, search, k, generator's prompt and questions, and pay for every
call. An interrupted run goes on where it stopped. The report's path is printed last.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from app.commands.eval import evaluate
from app.commands.options import add_eval
from benchmarks.harness import exit_code_of, option_parser
from benchmarks.peers import peers
from evaluation.datasets.question_set import name_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, write the report, and say where it is; the exit code is the command line's."""
    parser = option_parser(__doc__)
    add_eval(parser)
    parser.add_argument("--quiet", action="store_true", help="print the table and the report's path alone")
    options = parser.parse_args(arguments)
    # Said here, so that the path printed is the one that is written.
    options.out = options.out or Path("eval") / name_of(options.dataset, options.paragraphs)
    code = exit_code_of(
        lambda: evaluate(options, extra_systems=lambda services, context: [*peers(services, context.k)])
    )
    if code == 0:
        print(options.out / "report.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
