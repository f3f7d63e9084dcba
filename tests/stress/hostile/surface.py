"""A surface has a strategy for its attacks; those of a run are drawn by a seed."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.strategies import SearchStrategy

SPARE = 50  # examples more than are played: the first are the simplest, and many lie beside each other


@dataclass(frozen=True)
class Surface:
    """``play`` gets the world, a random generator and what ``attacks`` drew, which is data that can be shown."""

    name: str
    attacks: SearchStrategy[tuple[Any, ...]]
    play: Callable[..., None]

    def drawn(self, seed: int, most: int) -> dict[str, tuple[Any, ...]]:
        """Draw ``most`` attacks, the same whenever seed and number are the same, by the names 1, 2 and so on."""
        found: list[tuple[Any, ...]] = []

        @hypothesis.seed(f"{seed} {self.name}")
        @hypothesis.settings(
            max_examples=10 * most + SPARE,
            phases=[Phase.generate],
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(self.attacks)
        def draw(attack: tuple[Any, ...]) -> None:
            found.append(attack)

        draw()
        chosen = Random(f"{seed} {self.name}").sample(found, min(most, len(found)))
        return {str(number): attack for number, attack in enumerate(chosen, 1)}
