"""How much of the time of indexing is spent in the embedding model, and what it costs when little or nothing changed.

    python -m benchmarks.index.ingestion [--pages 2000] [--files 10000]

The pages are PDFs made from the sample library's sentences in other orders. The files are short Markdown notes, which
the command line indexes in processes of its own. ``bench/index_ingestion.json`` has the figures.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from statistics import median

from fpdf import FPDF
from langchain_core.embeddings import Embeddings

from app.compose import embeddings_of
from app.libraries import SAMPLE
from app.settings import load_settings
from benchmarks.harness import FOLDER, end_progress, option_parser, show_progress, write_figures
from retrieval.library.library import Library

PAGES_A_FILE = 50
SENTENCES_A_PAGE = 22
AGAIN = 3  # runs of what takes little


class Timed(Embeddings):
    """Counts the seconds that embedding takes."""

    def __init__(self, model: Embeddings) -> None:
        self.model = model
        self.seconds = 0.0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        begun = time.perf_counter()
        try:
            return self.model.embed_documents(texts)
        finally:
            self.seconds += time.perf_counter() - begun

    def embed_query(self, text: str) -> list[float]:
        return self.model.embed_query(text)


def main() -> None:
    """Run both parts, and write the figures."""
    options = option_parser(__doc__, pages=2_000, files=10_000).parse_args()
    home = FOLDER / "ingestion"
    shutil.rmtree(home, ignore_errors=True)
    write_figures("index_ingestion", _pages(home, options.pages) | _files(home, options.files))


def _pages(home: Path, pages: int) -> dict[str, float]:
    _make_pdfs(home / "pages", pages)
    model, name = embeddings_of(load_settings())
    timed = Timed(model)
    begun = time.perf_counter()
    with Library.open(home / "index", timed, embedding_name=name) as library:
        library.add([home / "pages"])
        report = library.sync(lambda at: show_progress(f"{at.passages:,} passages"))
    seconds = time.perf_counter() - begun
    end_progress()
    share = timed.seconds / seconds
    print(f"{len(report.added)} PDFs of {pages} pages, {report.passages:,} passages in {seconds:.1f} s")
    print(f"in the embedding model: {share:.3f} of the time; {report.passages / seconds:.1f} passages a second")
    return {"pages": pages, "passages": report.passages, "seconds": seconds, "embedding_share": share}


def _files(home: Path, files: int) -> dict[str, float]:
    folder = home / "notes"
    chance = random.Random(3)
    for number in range(files):
        path = folder / f"{number % 100:02}" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\n" + " ".join(chance.sample(_sentences(), 3)), encoding="utf-8")
    aged = time.time() - 60  # as found on a disk: what was written a moment ago is looked at twice
    for path in folder.rglob("*.md"):
        os.utime(path, (aged, aged))
    first = _command(home, folder)
    unchanged = median(_command(home, folder) for _ in range(AGAIN))
    changes = []
    for number in range(AGAIN):
        (folder / "00" / "0.md").write_text(f"# Note 0\n\nIt says something else now, for the {number} time.")
        changes.append(_command(home, folder))
    shares = {"unchanged_share": unchanged / first, "changed_share": median(changes) / first}
    print(f"{files:,} files by the command line: first {first:.1f} s, then over it unchanged and one changed")
    print(", ".join(f"{share:.4f}" for share in shares.values()))
    return {"files": files, "first_seconds": first} | shares


def _command(home: Path, folder: Path) -> float:
    """Seconds that ``python -m app index`` takes, with a home of its own and the models of this one."""
    own = home / "home"
    own.mkdir(exist_ok=True)
    if not (own / "models").exists():
        (own / "models").symlink_to(load_settings().models_folder)
    begun = time.perf_counter()
    environment = os.environ | {"SELFRAG_HOME": str(own.resolve())}
    command = [sys.executable, "-m", "app", "index", str(folder)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


@cache
def _sentences() -> list[str]:
    text = " ".join(path.read_text(encoding="utf-8") for path in sorted(SAMPLE.glob("*.md")))
    return [one for one in re.split(r"(?<=[.!?])\s+", text) if 40 < len(one) < 300 and one.isascii()]


def _make_pdfs(folder: Path, pages: int) -> None:
    folder.mkdir(parents=True)
    for start in range(0, pages, PAGES_A_FILE):
        document = FPDF()
        document.set_font("helvetica", size=11)
        for number in range(start, min(start + PAGES_A_FILE, pages)):
            document.add_page()
            chosen = random.Random(number).sample(_sentences(), SENTENCES_A_PAGE)
            document.multi_cell(0, 6, f"Page {number + 1}. {' '.join(chosen)}")
        document.output(str(folder / f"{start:05}.pdf"))


if __name__ == "__main__":
    main()
