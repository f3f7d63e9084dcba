"""Attack everything that reads bytes from outside or shows them, and report violations.

    python -m tests.stress.hostile [--seed N] [--attacks N] [--only SURFACE...] [--attack NAME] [--list]

Attacks are drawn by the seed, ``--attacks`` of each surface, and named by their numbers, which ``--list`` prints: with
the same seed and number of attacks one can be played alone. The program runs as its command line has it, in a process
of its own that is watched and limited; `run_checks` says what must hold of every run, and an attack may add what must
hold of it. All of it takes place in a network of its own without a way out, where the system allows one. Ends with 1 if
anything fell.
"""

import ctypes
import fcntl
import shlex
import socket
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.harness import aligned, end_progress, listed, option_parser, show_progress
from tests.stress.hostile.documents import DOCUMENTS
from tests.stress.hostile.files import INDEX_FILES
from tests.stress.hostile.records import RECORDS
from tests.stress.hostile.replies import REPLIES
from tests.stress.hostile.rules import RULES
from tests.stress.hostile.run_checks import check
from tests.stress.hostile.surface import Surface
from tests.stress.hostile.world import World, worlds

SURFACES = (REPLIES, DOCUMENTS, INDEX_FILES, RECORDS, RULES)
CLONE_NEWNET = 0x40000000
Attacks = Mapping[str, tuple[Any, ...]]
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


@dataclass
class Count:
    """The results of a surface's attacks: which found violations, and of what kind."""

    surface: Surface
    tried: int = 0
    seconds: float = 0.0
    fell: dict[str, list[str]] = field(default_factory=dict)

    @property
    def kinds(self) -> Counter[str]:
        """Attacks by kind of violation."""
        return Counter(kind for broken in self.fell.values() for kind in {text.partition(":")[0] for text in broken})


def main() -> int:
    """Attack, count, print."""
    parser = option_parser(__doc__, seed=1, attacks=100, list=False)
    parser.add_argument("--only", nargs="+", choices=[one.name for one in SURFACES], metavar="SURFACE")
    parser.add_argument("--attack", metavar="NAME", help="play this one alone, of the one surface that --only names")
    options = parser.parse_args()
    chosen = [one for one in SURFACES if not options.only or one.name in options.only]
    if options.attack is not None and len(chosen) != 1:
        parser.error("--attack needs the one surface of it: --only SURFACE")
    if options.list:
        for surface in chosen:
            for name, attack in surface.drawn(options.seed, options.attacks).items():
                print(ascii(f"{surface.name} {name}: {attack}")[1:-1][:300])
        return 0
    alone = leave_the_network()
    print("in a network without a way out" if alone else "in this machine's network: native look-ups are not counted")
    began = time.monotonic()
    counts = []
    with (
        tempfile.TemporaryDirectory(prefix="hostile-", ignore_cleanup_errors=True) as folder,
        worlds(Path(folder), check) as fresh,
    ):
        for surface in chosen:
            drawn = surface.drawn(options.seed, options.attacks)
            if options.attack is not None:
                drawn = {options.attack: drawn[options.attack]}
            counts.append(attacked(surface, drawn, fresh, f"--seed {options.seed} --attacks {options.attacks}"))
    print(table(counts))
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if any(one.fell for one in counts) else 0


def leave_the_network() -> bool:
    """Enter a network namespace with loopback only (root only); return whether that worked."""
    with suppress(OSError, AttributeError):
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) == 0:
            with socket.socket() as any_socket:
                fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
            return True
    return False


def attacked(surface: Surface, drawn: Attacks, fresh: Callable[[str], World], how: str) -> Count:
    """Play the attacks; retry one whose only violation is time, since the machine may be busy."""
    count = Count(surface)
    began = time.monotonic()
    for name, attack in drawn.items():
        broken = played(surface, name, attack, fresh)
        if broken and all(text.startswith("time") for text in broken):
            broken = played(surface, name, attack, fresh)
        count.tried += 1
        if broken:
            count.fell[name] = broken
            print(f"\npython -m tests.stress.hostile {how} --only {shlex.quote(surface.name)} --attack {name}")
            print("\n".join(f"    {ascii(text)[1:-1][:600]}" for text in (str(attack), *broken)), flush=True)
        show_progress(f"{surface.name}: {count.tried} tried, {len(count.fell)} fell")
    count.seconds = time.monotonic() - began
    end_progress()
    return count


def played(surface: Surface, name: str, attack: tuple[Any, ...], fresh: Callable[[str], World]) -> list[str]:
    """Play one attack; return its distinct violations."""
    world = fresh(f"{surface.name} {name}")
    try:
        surface.play(world, Random(f"{surface.name} {name}"), *attack)
    except Exception as error:  # noqa: BLE001 - a fault of the suite's own is shown, and the other attacks go on
        world.broken.append(f"suite: {type(error).__name__}: {error}, line {_line_of(error)}")
    return list(dict.fromkeys(world.broken))


def _line_of(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def table(counts: Sequence[Count]) -> str:
    """Format the results, a line for each surface."""
    rows = [("surface", "tried", "fell", "seconds", "broken")]
    for one in counts:
        rows.append((one.surface.name, str(one.tried), str(len(one.fell)), f"{one.seconds:.0f}", listed(one.kinds)))
    tried, fell = sum(one.tried for one in counts), sum(len(one.fell) for one in counts)
    return aligned([*rows, ("all", str(tried), str(fell), "", "")])


if __name__ == "__main__":
    sys.exit(main())
