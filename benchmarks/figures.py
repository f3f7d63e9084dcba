"""The figures of a benchmark, kept as JSON for the pictures."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

FOLDER = Path("bench")


def write_figures(name: str, figures: Mapping[str, Any]) -> Path:
    """Write ``bench/<name>.json`` and say where it is."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return path


def read_figures(name: str) -> dict[str, Any] | None:
    """What was written; None where nothing was."""
    path = FOLDER / f"{name}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def listed(counts: Mapping[str, int]) -> str:
    """Counts by name, the most frequent first."""
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda one: -one[1]))


def aligned(rows: Sequence[tuple[str, str]]) -> str:
    """Names and values, a line each, the values below each other."""
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(f"{name:{width}}{value}" for name, value in rows)


def ended(name: str | None, figures: Mapping[str, Any], violated: Sequence[str]) -> NoReturn:
    """Say what was violated, keep the figures under their name if they have one, and end with 1 if anything was."""
    for one in violated[:20]:
        print(f"violated: {one}")
    if name:
        print(f"{write_figures(name, figures)} is written", file=sys.stderr)
    sys.exit(1 if violated else 0)
