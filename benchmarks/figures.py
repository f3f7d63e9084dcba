"""The figures of a benchmark, kept as JSON for the pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
