"""Attacks on what reads documents and texts: ``python -m tests.stress.hostile``."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from tests.stress.hostile import documents, rules

SURFACES: dict[str, Callable[[Path, Random], Iterator[str]]] = {"documents": documents.play, "rules": rules.play}


def played(name: str, seed: int, number: int, folder: Path) -> list[str]:
    return list(SURFACES[name](folder, Random(f"{seed} {name} {number}")))
