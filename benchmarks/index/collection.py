"""Index whole collections and account for every file in them: indexed, empty, failed or skipped, and why.

    python -m benchmarks.index.collection [FOLDER...] [--bad] [--embedding]

Each folder is indexed into a temporary index, with a trivial embedding unless ``--embedding`` asks for the real one.
Its files are counted apart, by ``os.walk``: every one must be in the index or among what was skipped, and nothing else
may be. Files below a hidden folder are out of sight, and counted as such; a link to a file that is in the index by its
own name is the same file again. ``--bad`` adds a generated folder of loops, pipes, sparse files, strange names and the
like, with what must become of each; permissions do not bind root, unless started so:

    setpriv --bounding-set=-dac_override,-dac_read_search python -m benchmarks.index.collection --bad

It writes ``bench/index_collection.json`` and ends with 1 if a file is unaccounted for.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from langchain_core.embeddings import Embeddings

from app.compose import embeddings_of
from app.settings import load_settings
from benchmarks.harness import end, end_progress, listed, option_parser, show_progress
from benchmarks.index.bad_files import write_bad_files
from benchmarks.index.bag_of_words import NAME, BagOfWords
from core.text import shown
from retrieval.library.library import Library
from retrieval.sandbox.process import ReaderProcess
from retrieval.sandbox.replies import Reading
from retrieval.sync_report import Advance

SAME = "the same file again"
UNSEEN = "out of sight"
MOST_LINES = 40
SLOWEST = 5


@dataclass
class Account:
    """What became of each file by its path, with the reason where it is not indexed, and what does not add up."""

    fates: dict[bytes, str] = field(default_factory=dict)
    reasons: dict[bytes, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def main() -> None:
    """Index, account, print, write."""
    parser = option_parser(__doc__)
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--bad", action="store_true")
    parser.add_argument("--embedding", action=argparse.BooleanOptionalAction, default=False)
    options = parser.parse_args()
    if not options.folders and not options.bad:
        parser.error("name a folder, or --bad")
    embeddings, name = embeddings_of(load_settings()) if options.embedding else (BagOfWords(), NAME)
    collections = {}
    for folder in options.folders:
        collections[folder.name] = collection(folder, embeddings, name)
    if options.bad:
        collections["bad input"] = bad_collection(embeddings, name)
    for title, figures in collections.items():
        print(table(title, figures))
    figures = {"embedding": name, "collections": collections}
    end("index_collection", figures, [text for one in collections.values() for text in one["wrong"]])


def collection(
    folder: Path, embeddings: Embeddings, name: str, expected: Mapping[bytes, str] | None = None
) -> dict[str, Any]:
    """Index a folder and account for it; the figures."""
    with tempfile.TemporaryDirectory() as place:
        home, began = Path(place) / "index", time.perf_counter()
        with timed_reads() as seconds, Library.open(home, embeddings, embedding_name=name) as library:
            library.add([folder])
            report = library.sync(progress_of(folder.name))
            took = time.perf_counter() - began
            found = account(folder, library)
        size = sum(path.stat().st_size for path in home.iterdir())
    end_progress()
    if expected is not None:
        found.wrong += surprises(found, expected)
    failures = {within(path, folder): found.reasons[path] for path, fate in found.fates.items() if fate == "failed"}
    slowest = sorted(seconds.items(), key=lambda one: -one[1])[:SLOWEST]
    fates = Counter(found.fates.values())
    return {
        "files": len(found.fates),
        **{kind: fates[kind] for kind in ("indexed", "empty", "failed")},
        "skipped": dict(Counter(found.reasons[path] for path, fate in found.fates.items() if fate == "skipped")),
        UNSEEN: fates[UNSEEN],
        SAME: fates[SAME],
        "kinds": dict(Counter(suffix_of(path) for path, fate in found.fates.items() if fate == "indexed")),
        "passages": report.passages,
        "index_bytes": size,
        "seconds": took,
        "slowest": [[within(path, folder), one] for path, one in slowest],
        "failures": failures,
        "failure_kinds": dict(Counter(map(kind_of, failures.values()))),
        "empty_kinds": dict(
            Counter(kind_of(found.reasons[path]) for path, fate in found.fates.items() if fate == "empty")
        ),
        "empties": [within(path, folder) for path, fate in found.fates.items() if fate == "empty"],
        "notes": report.notes,
        "wrong": found.wrong,
    }


def bad_collection(embeddings: Embeddings, name: str) -> dict[str, Any]:
    """The same for the folder of bad input."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "bad"
        expected = write_bad_files(folder)
        try:
            return collection(folder, embeddings, name, expected)
        finally:
            (folder / "closed").chmod(0o755)


def account(folder: Path, library: Library) -> Account:
    """Compare what the library says of each file with what is there."""
    root = os.fsencode(os.path.realpath(folder))
    sources = {os.fsencode(source.path): source for source in library.sources()}
    skipped = {os.fsencode(one.path): one.reason for one in library.skipped()}
    fates = {path: (one.status, one.reason) for path, one in sources.items()}
    return settled(dict(entries(root)), fates, skipped)


def entries(root: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every file and every link below a folder with its real path; links are not followed."""
    for parent, folders, files in os.walk(root):
        for name in files:
            path = os.path.join(parent, name)  # noqa: PTH118 - paths are bytes
            yield path, os.path.realpath(path)
        for name in folders:
            path = os.path.join(parent, name)  # noqa: PTH118
            if os.path.islink(path):  # noqa: PTH114
                yield path, path


def settled(
    there: Mapping[bytes, bytes], sources: Mapping[bytes, tuple[str, str]], skipped: Mapping[bytes, str]
) -> Account:
    """Give each file that is ``there`` one fate; what is left over on either side is wrong."""
    found = Account()
    for path, real in there.items():
        if path in sources and path in skipped:
            found.wrong.append(f"{_name(path)} is indexed and skipped")
        if path in sources:
            found.fates[path], found.reasons[path] = sources[path]
        elif path in skipped:
            found.fates[path], found.reasons[path] = "skipped", skipped[path]
        elif real != path and real in sources:
            found.fates[path] = SAME if real in there else sources[real][0]
        elif any(path.startswith(one + b"/") for one in skipped):
            found.fates[path] = UNSEEN
        else:
            found.fates[path] = "unaccounted for"
            found.wrong.append(f"{_name(path)} is neither indexed nor skipped")
    reals = set(there.values())
    found.wrong += [f"{_name(path)} is indexed and not there" for path in sources if path not in reals]
    hidden = [path for path in skipped if path not in there and not os.path.isdir(path)]  # noqa: PTH112
    found.wrong += [f"{_name(path)} is skipped and not there" for path in hidden]
    return found


def surprises(found: Account, expected: Mapping[bytes, str]) -> list[str]:
    """The files of bad input that did not fare as they must; those in a closed folder are not there at all."""
    fates = {os.path.basename(path): fate for path, fate in found.fates.items()}  # noqa: PTH119
    return [
        f"{_name(name)} is {fates.get(name, 'not seen')}, not {fate}"
        for name, fate in expected.items()
        if fates.get(name) != fate
    ]


@contextmanager
def timed_reads() -> Iterator[dict[bytes, float]]:
    """How long the reading of each file takes, by its path."""
    seconds: dict[bytes, float] = {}
    guard, read = threading.Lock(), ReaderProcess.read

    def timed(process: ReaderProcess, path: bytes) -> Reading:
        began = time.perf_counter()
        try:
            return read(process, path)
        finally:
            with guard:
                seconds[path] = time.perf_counter() - began

    with patch.object(ReaderProcess, "read", timed):
        yield seconds


def progress_of(name: str) -> Any:
    """Say on standard error how far it is."""

    def tell(advance: Advance) -> None:
        show_progress(f"{name}: {advance.files} of {advance.total} files")

    return tell


def kind_of(reason: str) -> str:
    """A reason without the file's name and figures, so that those of a kind are counted together."""
    said = re.sub(
        r"^.*?\.\w+ (?=is |has |holds |made |needs |took |gives |cannot |unpacks )", "", reason, flags=re.DOTALL
    )
    return re.sub(r"\d+", "N", said)[:100]


def within(path: bytes, folder: Path) -> str:
    """A path as it is below the folder."""
    return shown(os.fsdecode(os.path.relpath(path, os.path.realpath(os.fsencode(folder)))))


def suffix_of(path: bytes) -> str:
    """The suffix of a name, in small letters."""
    return os.path.splitext(os.fsdecode(path))[1].lower() or "none"  # noqa: PTH122


def table(title: str, figures: Mapping[str, Any]) -> str:
    """The figures of one folder as they are printed."""
    skipped: Mapping[str, int] = figures["skipped"]
    slowest: Sequence[tuple[str, float]] = figures["slowest"]
    rows = [
        ("files", f"{figures['files']:,}"),
        ("indexed", f"{figures['indexed']:,} ({listed(figures['kinds'])}), {figures['passages']:,} passages"),
        ("empty", f"{figures['empty']:,} ({listed(figures['empty_kinds'])})" if figures["empty"] else "0"),
        ("failed", f"{figures['failed']:,} ({listed(figures['failure_kinds'])})" if figures["failed"] else "0"),
        ("skipped", f"{sum(skipped.values()):,} ({listed(skipped)})" if skipped else "0"),
        (UNSEEN, f"{figures[UNSEEN]:,}"),
        (SAME, f"{figures[SAME]:,}"),
        ("seconds", f"{figures['seconds']:.1f}"),
        ("index", f"{figures['index_bytes'] / 1e6:.1f} MB"),
        ("slowest", ", ".join(f"{Path(path).name[:50]} {seconds:.1f} s" for path, seconds in slowest)),
    ]
    lines = [title, *(f"  {name:22}{value}" for name, value in rows)]
    lines += [f"  failed: {reason}" for reason in list(figures["failures"].values())[:MOST_LINES]]
    lines += [f"  note: {note}" for note in figures["notes"][:5]]
    lines += [f"  WRONG: {one}" for one in figures["wrong"][:MOST_LINES]] or ["  every file is accounted for"]
    return "\n".join(lines)


def _name(path: bytes) -> str:
    return shown(Path(os.fsdecode(path)).name)


if __name__ == "__main__":
    main()
