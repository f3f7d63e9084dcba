"""What benchmarks and stress runs share: options, a progress line, a table, figures kept as JSON, an exit code."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

FOLDER = Path("bench")


def option_parser(doc: str | None, **defaults: int | float | Path) -> argparse.ArgumentParser:
    """A parser described by a module's first line; each default is an option of its type, and False is a flag."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n", maxsplit=1)[0])
    for name, default in defaults.items():
        option = f"--{name.replace('_', '-')}"
        if default is False:
            parser.add_argument(option, action="store_true")
        else:
            parser.add_argument(option, type=type(default), default=default)
    return parser


def show_progress(text: str) -> None:
    """Write over the line of standard error that says how far the run is."""
    print(f"\r{text} ", end="", file=sys.stderr, flush=True)


def end_progress() -> None:
    """Leave the line of progress as it is, and go to the next."""
    print(file=sys.stderr)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows that an earlier run appended to a JSONL file; none where there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def write_figures(name: str, figures: Mapping[str, Any]) -> Path:
    """Write ``bench/<name>.json``, say so, and return where it is."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(f"{path} is written", file=sys.stderr)
    return path


def read_figures(name: str) -> dict[str, Any] | None:
    """What was written; None where nothing was."""
    path = FOLDER / f"{name}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def listed(counts: Mapping[str, int]) -> str:
    """Counts by name, the most frequent first."""
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda one: -one[1]))


def aligned(rows: Sequence[tuple[str, str]]) -> str:
    """A table of two columns: names and values."""
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(f"{name:{width}}{value}" for name, value in rows)


def end(name: str | None, figures: Mapping[str, Any], violated: Sequence[str] = ()) -> NoReturn:
    """Print what was violated, write the figures if they have a name, and exit with 1 if anything was violated."""
    for one in violated[:20]:
        print(f"violated: {one}")
    if name:
        write_figures(name, figures)
    sys.exit(1 if violated else 0)
