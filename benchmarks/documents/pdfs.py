"""Read PDFs with pypdf, with pdfium and as the application does: what each finds, in which time, and how alike.

    python -m benchmarks.documents.pdfs FOLDER... [--seconds 60] [--jobs 2] [--keep FILE]

Each file is read in a process of its own with 2 GB of memory, by one library after the other. The time is the
processor's. A word is "joined" when the other library has it as two or more words of its own one after the other.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pypdf  # noqa: F401 - imported here once, not in each process
import pypdfium2  # type: ignore[import-untyped]  # noqa: F401

from benchmarks.documents.apart import apart
from core.text import clean
from retrieval.documents.pdf import Pages, pages_by_pdfium, pages_by_pypdf, read_pdf

WORD = re.compile(r"\w+")
KINDS = ("read", "empty", "encrypted", "failed", "hung", "crashed")


@dataclass(frozen=True)
class Reading:
    """What one library made of one file."""

    kind: str
    text: str
    seconds: float
    error: str
    pages: int


def by_pages(read: Callable[[bytes], Pages], data: bytes) -> tuple[str, int]:
    """The text as a library gives it, cleaned, with the hyphens at line ends undone."""
    pages = read(data)
    text = "\n".join(clean(text) for text in pages.texts)
    return re.sub(r"(?<=\w)-\n(?=[a-z])", "", text), len(pages.texts)


def by_ours(data: bytes) -> tuple[str, int]:
    """The text as the application indexes it."""
    pages = read_pdf(data)[0]
    return "\n".join(text for _, text in pages), len(pages)


READERS: dict[str, Callable[[bytes], tuple[str, int]]] = {
    "pypdf": partial(by_pages, pages_by_pypdf),
    "pdfium": partial(by_pages, pages_by_pdfium),
    "ours": by_ours,
}


def main() -> None:
    """Read, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a JSONL file for what each library made of each file")
    options = parser.parse_args()
    files = sorted({path for folder in options.folders for path in folder.rglob("*.pdf") if path.is_file()})
    with ThreadPoolExecutor(options.jobs) as pool:
        found = dict(zip(files, pool.map(partial(readings, seconds=options.seconds), files), strict=True))
    if options.keep:
        with options.keep.open("w", encoding="utf-8") as out:
            for path, by in found.items():
                kept = {name: asdict(reading) for name, reading in by.items()}
                out.write(json.dumps({"path": str(path), **kept}) + "\n")
    report(list(found.values()))


def readings(path: Path, seconds: float) -> dict[str, Reading]:
    """Read one file with each library."""
    data = path.read_bytes()
    return {name: reading(partial(read, data), seconds) for name, read in READERS.items()}


def reading(read: Callable[[], tuple[str, int]], seconds: float) -> Reading:
    """Read a file in a process of its own and say in a word how that ended."""
    outcome = apart(read, seconds)
    text, pages = outcome.result or ("", 0)
    if outcome.error in ("hung", "crashed"):
        kind = outcome.error
    elif "encrypted" in outcome.error:
        kind = "encrypted"
    elif "NoTextError" in outcome.error:
        kind = "empty"
    elif outcome.error:
        kind = "failed"
    else:
        kind = "read" if text.strip() else "empty"
    return Reading(kind, text, outcome.seconds, outcome.error, pages)


def report(found: list[dict[str, Reading]]) -> None:
    """Print what each library reads, then what the two make of the files that both read."""
    print(f"{len(found)} files")
    print(f"{'':8}" + "".join(f"{kind:>10}" for kind in KINDS) + f"{'characters':>12}{'seconds':>10}{'slowest':>9}")
    for name in READERS:
        of = [by[name] for by in found]
        kinds = Counter(reading.kind for reading in of)
        seconds = [reading.seconds for reading in of]
        print(
            f"{name:8}"
            + "".join(f"{kinds[kind]:10}" for kind in KINDS)
            + f"{sum(len(reading.text) for reading in of):12}{sum(seconds):10.1f}{max(seconds):9.1f}"
        )
    for one, other in (("pypdf", "pdfium"), ("pdfium", "pypdf")):
        alone = [by for by in found if by[one].kind == "read" != by[other].kind]
        print(f"only {one} reads {len(alone)}; {other} there: {dict(Counter(by[other].kind for by in alone))}")
    pairs = [(by["pypdf"], by["pdfium"]) for by in found if by["pypdf"].kind == by["pdfium"].kind == "read"]
    spent = sum(one.seconds for one, _ in pairs) / sum(other.seconds for _, other in pairs)
    pages = sum(other.pages for _, other in pairs)
    print(f"both read {len(pairs)} files of {pages} pages, pypdf in {spent:.1f} times the time of pdfium")
    words = [(WORD.findall(one.text.lower()), WORD.findall(other.text.lower())) for one, other in pairs]
    words = [(one, other) for one, other in words if one and other]
    alike = sorted(2 * overlap(one, other) / (len(one) + len(other)) for one, other in words)
    print(
        f"words alike (F1 of the multisets): mean {sum(alike) / len(alike):.3f}, median {alike[len(alike) // 2]:.3f}, "
        f"of all words {sum(overlap(*pair) for pair in words) * 2 / sum(len(a) + len(b) for a, b in words):.3f}, "
        f"below 0.8 in {sum(share < 0.8 for share in alike)} files"
    )
    for name, side in (("pypdf", 0), ("pdfium", 1)):
        own, total = sum(joined(pair[side], pair[1 - side]) for pair in words), sum(len(pair[side]) for pair in words)
        print(f"{name}: {total} words, of which {own} are joined ({own / total:.2%})")


def overlap(one: Iterable[str], other: Iterable[str]) -> int:
    """How many words both have, each as often as both have it."""
    return (Counter(one) & Counter(other)).total()


def joined(words: list[str], other: list[str]) -> int:
    """How many words the other does not have, but has as two or three neighbours."""
    known = set(other)
    together = {"".join(other[at : at + size]) for size in (2, 3) for at in range(len(other) - size + 1)}
    return sum(word not in known and word in together for word in words)


if __name__ == "__main__":
    main()
