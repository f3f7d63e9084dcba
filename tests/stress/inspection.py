"""Check an index whose writer was killed."""

import os
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from core.files import is_below
from retrieval.library.library import Library
from retrieval.store import Search
from tests.stress.folder import ROWS
from tests.unit.retrieval.fakes import BagOfWords

ASKED = 3  # files an inspection


@dataclass
class Expected:
    """SHA-256 by path of the files that were committed, that are on disk, and that may be gone.

    ``known`` is a sentence of each file that is on the disk.
    """

    acknowledged: Mapping[str, str]
    on_disk: Mapping[str, str]
    removable: Collection[str]
    known: Mapping[str, str]


def records_in(database: Path) -> dict[str, str]:
    """Read the indexed files as another process would; empty if the database cannot be read."""
    with suppress(sqlite3.OperationalError):
        uri = f"{database.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=0.2)) as connection:
            rows = connection.execute("SELECT path, sha256 FROM documents WHERE origin = 'file' AND status = 'indexed'")
            return {path.decode(): sha256 for path, sha256 in rows if sha256}
    return {}


def lost(expected: Expected, after: Mapping[str, str]) -> list[str]:
    """Committed files that are missing, or recorded neither as committed nor as on disk."""
    found = []
    for path, sha256 in expected.acknowledged.items():
        if path not in expected.on_disk or path in expected.removable:
            continue
        if path not in after:
            found.append(f"{Path(path).name} was indexed and is not any more")
        elif after[path] not in (sha256, expected.on_disk[path]):
            found.append(f"{Path(path).name} is indexed as it never was")
    left = set(expected.removable) & set(after)
    if 0 < len(left) < len(expected.removable):
        found.append(f"of {len(expected.removable)} files that are removed together {len(left)} are left")
    return found


def inspect(home: Path, expected: Expected, dice: Random) -> tuple[dict[str, str], list[str]]:
    """Open the index in ``home``, check, sync and verify it; return the records that it had, and violations."""
    records: dict[str, str] = {}
    try:
        with Library.open(home, BagOfWords(), embedding_name="bow") as library:
            records = records_in(home / "index.sqlite")
            found = lost(expected, records)
            for source in library.sources():
                if source.status != "indexed" or not 0 < source.passages <= ROWS:
                    found.append(f"{source.path.name} is {source.status} with {source.passages} passages")
            current = [path for path, sha256 in records.items() if expected.on_disk.get(path) == sha256]
            found += _unfound(library, {path: expected.known[path] for path in current}, dice)
            found += _not_whole(library, expected)
    except Exception as error:  # noqa: BLE001 - an index that cannot be used is what is looked for
        found = [f"it cannot be used: {type(error).__name__}: {error}"]
    found += [f"{path.name} is left" for path in (*home.glob("*.damaged-*"), *home.glob("*.partial"))]
    return records, found


def _unfound(library: Library, known: Mapping[str, str], dice: Random) -> list[str]:
    """Files not found by their own sentence, or whose passage is not found by its own text."""
    missed = []
    for path in dice.sample(sorted(known), min(ASKED, len(known))):
        name, store = Path(path).name, library.store
        by_words = store.similarity_search(known[path], k=1, search="bm25")
        if not (by_words and by_words[0].metadata["source"] == path and known[path] in by_words[0].page_content):
            missed.append(f"{name} is indexed and is not found by {known[path]!r}")
            continue
        way: Search = dice.choice(("vectors", "hybrid"))
        found = store.similarity_search(by_words[0].page_content, k=1, search=way)
        if [one.id for one in found] != [by_words[0].id]:
            missed.append(f"{name} is indexed and searching by {way} does not find its passage")
    return missed


def _not_whole(library: Library, expected: Expected) -> list[str]:
    report = library.sync()
    wrong = [f"a sync says: {note}" for note in report.notes]
    wrong += [f"a sync fails: {failure.reason}" for failure in [*report.failed, *report.empty, *report.still_failed]]
    there = {str(source.path) for source in library.sources()}
    roots = library.store.roots().kinds  # the second folder is none between a life that removed it and the next
    due = {path for path in expected.on_disk if any(is_below(os.fsencode(path), root) for root in roots)}
    due |= (expected.acknowledged.keys() & expected.on_disk.keys()) - set(expected.removable)
    if there != due:
        wrong.append(f"{len(there)} files are indexed after a sync and {len(due)} are due")
    checked = library.verify()
    wrong += [f"a check mends: {one}" for one in [*checked.repairs, *checked.problems]]
    return wrong
