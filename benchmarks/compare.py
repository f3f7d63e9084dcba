"""Compare Self-RAG with plain retrieve-and-generate and with the common ways to build it, in one run.

    python -m benchmarks.compare DATASET [options of `python -m app eval`]
    python -m benchmarks.compare ../shared/data/squad2_computational_complexity.json --paragraphs 49-72 --balanced

The peers (``benchmarks/peers``) are the sequential per-document grader with its loops bounded, the best answer of each
passage by support × 5 + utility, and the graph that filters on 300 characters and flags what it doubts: their
behaviour, not their code. All have the same models, search, k, generator's prompt and questions, and pay for every
call. An interrupted run goes on where it stopped.
"""

import sys

from app.commands.eval import evaluate
from app.commands.options import add_eval
from benchmarks.harness import exit_code_of, option_parser
from benchmarks.peers import peers


def main() -> int:
    """Ask, and write the report; the exit code is the command line's."""
    parser = option_parser(__doc__)
    add_eval(parser)
    parser.add_argument("--quiet", action="store_true", help="print the table alone")
    options = parser.parse_args()
    return exit_code_of(lambda: evaluate(options, lambda services, context: [*peers(services, context.k)]))


if __name__ == "__main__":
    sys.exit(main())
