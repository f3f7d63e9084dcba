"""Attack the readers of documents, the client of a model's server and the text rules, and report violations.

    python -m tests.stress.hostile [--seed 1] [--attacks 100] [--only SURFACE [--attack NUMBER]]

Attacks are drawn by the seed, ``--attacks`` of each surface, and numbered: with the same seed and number of attacks
one can be played alone. They are played in a process of their own, so that a crash or a hang of it is seen. The
program runs as its command line has it; `run_checks` says what must hold of every run. Ends with 1 if anything fell.
"""

import os
import sys
import tempfile
import time
from collections import Counter
from random import Random

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.strategies import SearchStrategy

from benchmarks.harness import aligned, end_progress, listed, option_parser, show_progress
from tests.stress.harness import PROCESSES, Worker
from tests.stress.hostile import documents, replies, rules
from tests.stress.hostile.world import Attack, Play, played

SURFACES: dict[str, tuple[SearchStrategy[Attack], Play]] = {
    "replies": (replies.ATTACKS, replies.play),
    "documents": (documents.ATTACKS, documents.play),
    "rules": (rules.ATTACKS, rules.play),
}
SPARE = 50  # examples more than are played: the first are the simplest, and many lie beside each other
HUNG_SECONDS = 240.0  # for one attack: readers alone may take 40 seconds for each of two files


def main() -> int:
    parser = option_parser(__doc__, seed=1, attacks=100)
    parser.add_argument("--only", choices=SURFACES)
    parser.add_argument("--attack", type=int, metavar="NUMBER", help="play this one alone, of --only SURFACE")
    options = parser.parse_args()
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "LANGSMITH_TRACING": "false"})
    PROCESSES.set_forkserver_preload(["tests.stress.hostile.replies", "langchain_openai", "faiss"])
    rows = [("surface", "tried", "fell", "seconds", "broken")]
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        worker = Worker()
        for name in [options.only] if options.only else SURFACES:
            drawn = dict(enumerate(draw(name, options.seed, options.attacks), 1))
            if options.attack:
                drawn = {options.attack: drawn[options.attack]}
            how = f"python -m tests.stress.hostile --seed {options.seed} --attacks {options.attacks} --only {name}"
            began, fell = time.monotonic(), list[list[str]]()
            for number, attack in drawn.items():
                if broken := attacked(worker, folder, SURFACES[name][1], attack):
                    fell.append(broken)
                    print(f"\n{how} --attack {number}")
                    print("\n".join(f"    {ascii(text)[1:-1][:600]}" for text in (str(attack), *broken)), flush=True)
                show_progress(f"{name}: {number} tried, {len(fell)} fell")
            end_progress()
            kinds = Counter(kind for broken in fell for kind in {text.partition(":")[0] for text in broken})
            seconds = f"{time.monotonic() - began:.0f}"
            rows.append((name, str(len(drawn)), str(len(fell)), seconds, listed(kinds)))
        worker.close()
    print(aligned(rows))
    return int(any(row[2] != "0" for row in rows[1:]))


def draw(name: str, seed: int, most: int) -> list[Attack]:
    """Draw ``most`` attacks of a surface, the same whenever seed and number are the same."""
    found: list[Attack] = []

    @hypothesis.seed(f"{seed} {name}")
    @hypothesis.settings(
        max_examples=10 * most + SPARE,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(SURFACES[name][0])
    def collect(attack: Attack) -> None:
        found.append(attack)

    collect()
    return Random(f"{seed} {name}").sample(found, min(most, len(found)))


def attacked(worker: Worker, folder: str, play: Play, attack: Attack) -> list[str]:
    try:
        broken: list[str] = worker.call(played, folder, play, attack, seconds=HUNG_SECONDS)
    except TimeoutError:
        broken = ["time: it crashed, or had no end"]
    return broken


if __name__ == "__main__":
    sys.exit(main())
