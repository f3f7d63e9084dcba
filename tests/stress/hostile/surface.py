"""A surface is the product of some dimensions; its attacks are drawn by a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from random import Random
from typing import Any

BETWEEN = " | "


def named(*values: str) -> dict[str, str]:
    """A dimension whose values name themselves."""
    return {value: value for value in values}


@dataclass(frozen=True)
class Surface:
    """``play`` gets the world, a random generator and one value of each dimension; the value names name the attack."""

    name: str
    dimensions: Sequence[Mapping[str, Any]]
    play: Callable[..., None]

    @property
    def possible(self) -> int:
        """How many attacks there are."""
        return prod(map(len, self.dimensions))

    def drawn(self, seed: int, most: int) -> Iterator[str]:
        """The names of at most ``most`` distinct attacks, covering each dimension's values early."""
        turns = [_turns(list(one), Random(f"{seed} {self.name} {place}")) for place, one in enumerate(self.dimensions)]
        names = (BETWEEN.join(next(turn) for turn in turns) for _ in range(10 * min(most, self.possible)))
        return islice(dict.fromkeys(names), most)

    def attack(self, world: Any, name: str) -> None:
        """Play the attack of this name. Raises LookupError where there is none."""
        words = name.split(BETWEEN)
        if len(words) != len(self.dimensions):
            raise LookupError(f"{self.name} has no attack {name!r}")
        values = [dimension[word] for dimension, word in zip(self.dimensions, words, strict=True)]
        self.play(world, Random(f"{self.name} {name}"), *values)


def _turns(names: list[str], dice: Random) -> Iterator[str]:
    while True:
        dice.shuffle(names)
        yield from names
