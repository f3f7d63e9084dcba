"""Read the tables of csv-spectrum, whose records are known, and compare our separators with CleverCSV's.

    python -m benchmarks.documents.tables FOLDER [MORE...]

FOLDER holds csv-spectrum's ``csvs/*.csv`` and ``json/*.json``; in the folders after it the separators of every table
are compared. CleverCSV takes part if it is installed: it is no requirement.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable
from pathlib import Path

from core.text import clean
from retrieval.documents.decode import decode
from retrieval.documents.rows import find_separator, read_csv

SAMPLE = 20_000  # characters that CleverCSV looks at: its time grows faster than they do


def main() -> None:
    """Read, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    options = parser.parse_args()
    known = sorted((options.folders[0] / "csvs").glob("*.csv"))
    wrong = [path.name for path in known if records(path) != expected(path)]
    print(f"csv-spectrum: {len(known) - len(wrong)} of {len(known)} tables as expected", *wrong)
    tables = [path for folder in options.folders for suffix in ("csv", "tsv") for path in folder.rglob(f"*.{suffix}")]
    print(f"{'':40}{'ours':>8}{'ms':>9}{'clever':>8}{'ms':>9}")
    for path in sorted(tables):
        text = clean(decode(path.read_bytes()))
        ours, took = timed(find_separator, text)
        theirs, took_they = timed(clever, text[:SAMPLE])
        print(f"{path.name[:39]:40}{ours!r:>8}{took:9.1f}{theirs!r:>8}{took_they:9.1f}")


def records(path: Path) -> list[str]:
    """Our rows, as text."""
    return [text for _, text in read_csv(clean(decode(path.read_bytes())))]


def expected(path: Path) -> list[str]:
    """The rows as they are known, written as ours are: a value's own line ends may be of either kind."""
    rows = json.loads((path.parent.parent / "json" / f"{path.stem}.json").read_text(encoding="utf-8"))
    return [clean("\n".join(f"{name}: {value}" for name, value in row.items() if value)) for row in rows]


def clever(text: str) -> str | None:
    """The separator that CleverCSV finds; None when it finds none or is not installed."""
    try:
        dialect = importlib.import_module("clevercsv").Sniffer().sniff(text)
    except Exception:  # noqa: BLE001 - that it finds none has an error of its own
        return None
    return dialect.delimiter if dialect else None


def timed(find: Callable[[str], str | None], text: str) -> tuple[str | None, float]:
    """What was found, and the milliseconds that it took."""
    began = time.process_time()
    found = find(text)
    return found, 1000 * (time.process_time() - began)


if __name__ == "__main__":
    main()
