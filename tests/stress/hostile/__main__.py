"""Attack the readers of documents and the text rules, and report violations.

    python -m tests.stress.hostile [--seed 1] [--attacks 100] [--only SURFACE] [--attack NUMBER]

Attacks are drawn by the seed, ``--attacks`` of each surface, and numbered: with the same seed one can be played alone.
They are played in a process of their own, so that a crash or a hang of it is seen. It writes ``bench/hostile.json`` and
ends with 1 if anything fell.
"""

import multiprocessing
import os
import tempfile
from pathlib import Path

from benchmarks.harness import option_parser, show_progress
from tests.stress.harness import PROCESSES, Tally
from tests.stress.hostile import SURFACES, played

HUNG_SECONDS = 240.0  # for one attack: readers alone may take 40 seconds for each of two files


def main() -> None:
    parser = option_parser(__doc__, seed=1, attacks=100)
    parser.add_argument("--only", choices=SURFACES)
    parser.add_argument("--attack", type=int, metavar="NUMBER", help="play this one alone")
    options = parser.parse_args()
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "LANGSMITH_TRACING": "false"})
    PROCESSES.set_forkserver_preload(["tests.stress.hostile"])
    tally, pool = Tally(), PROCESSES.Pool(1)
    numbers = [options.attack] if options.attack else range(1, options.attacks + 1)
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        for name in [options.only] if options.only else SURFACES:
            for number in numbers:
                playing = pool.apply_async(played, (name, options.seed, number, Path(folder)))
                try:
                    broken = playing.get(HUNG_SECONDS)
                except multiprocessing.TimeoutError:
                    pool.terminate()
                    pool, broken = PROCESSES.Pool(1), ["time: it crashed, or had no end"]
                tally.counts[f"{name} that fell"] += bool(broken)
                again = f"--seed {options.seed} --only {name} --attack {number}"
                tally.violated += [f"{again}: {ascii(text)[1:-1][:600]}" for text in broken]
                show_progress(f"{name}: {number} tried, {tally.counts[f'{name} that fell']} fell")
    pool.terminate()
    rows = [(name, f"{count} of {len(numbers)}") for name, count in tally.counts.items()]
    tally.conclude("hostile", rows, seed=options.seed)


if __name__ == "__main__":
    main()
