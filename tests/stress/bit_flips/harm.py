"""Damage index files: flip bytes, truncate, delete, swap, or zero a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

FILES = ("index.sqlite", "vectors.faiss", "manifest.json")
PAGE = 4096
GOLDEN = 0.6180339887498949  # its multiples, without their whole part, lie evenly however many there are
LEAST = 0.1  # of the flips strike each file, however small it is
OTHERS = ("cut", "deleted", "exchanged", "zeroed")  # each a twentieth of the rounds
MOST_BYTES = 30


@dataclass(frozen=True)
class Harm:
    """The kind of damage, the file, and its bytes afterwards (None if deleted)."""

    kind: str
    name: str
    where: str
    before: bytes
    after: bytes | None

    def lasts(self, folder: Path) -> bool:
        """True if the damage is still in the file."""
        path = folder / self.name
        if not path.exists() or self.after is None:
            return path.exists() == (self.after is not None)
        now = path.read_bytes()
        if len(self.after) != len(self.before):
            return now == self.after
        if len(now) != len(self.after):
            return False
        old, left, new = (np.frombuffer(data, dtype=np.uint8) for data in (self.before, self.after, now))
        return bool((new == left)[old != left].all())


def harm(folder: Path, number: int, seed: int, others: Sequence[Path]) -> Harm:
    """Damage the index in ``folder`` as round ``number`` does; swapped files come from ``others``."""
    dice = Random(f"{seed} {number}")
    turn = number % 20
    kind = OTHERS[turn // 5] if turn % 5 == 4 else ("one byte" if turn % 2 else "some bytes")
    name = _file(folder, dice) if kind.endswith(("byte", "bytes")) else dice.choice(FILES)
    if kind == "zeroed":
        name = dice.choice(FILES[:2])
    path = folder / name
    before = path.read_bytes()
    data = bytearray(before)
    place = int((number * GOLDEN + seed * GOLDEN / 7) % 1 * len(data))
    where = f"at {place} of {len(data)}"
    if kind == "deleted":
        path.unlink()
        return Harm(kind, name, "", before, None)
    if kind == "cut":
        del data[place:]
    elif kind == "zeroed":
        place -= place % PAGE
        data[place : place + PAGE] = bytes(len(data[place : place + PAGE]))
    elif kind == "exchanged":
        other = dice.choice(others)
        data = bytearray((other / name).read_bytes())
        where = f"for that of {other.name}"
    else:
        places = [place] if kind == "one byte" else _places(place, len(data), dice)
        for at in places:
            data[at] ^= dice.randrange(1, 256)
        where += f" and {len(places) - 1} more" if len(places) > 1 else ""
    path.write_bytes(data)
    return Harm(kind, name, where, before, bytes(data))


def _file(folder: Path, dice: Random) -> str:
    sizes = [(folder / name).stat().st_size for name in FILES]
    return dice.choices(FILES, [max(size, LEAST * sum(sizes)) for size in sizes])[0]


def _places(first: int, size: int, dice: Random) -> list[int]:
    """Two to thirty offsets, adjacent or scattered."""
    count = min(size, dice.randint(2, MOST_BYTES))
    if dice.random() < 0.5:
        return [min(first, size - count) + step for step in range(count)]
    return sorted({first, *dice.sample(range(size), count - 1)})
