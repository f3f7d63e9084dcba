"""How much of the time of indexing is spent in the embedding model, and what it costs when little or nothing changed.

    python -m benchmarks.index.ingestion [--pages 2000] [--files 10000] [--pdfs FOLDER]

The pages are PDFs made from the sample library's sentences in other orders, or those of ``--pdfs``. The files are
short Markdown notes; they are indexed by the command line, in processes of their own, and by the library alone.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from langchain_core.embeddings import Embeddings

from app.compose import embeddings_of
from app.libraries import SAMPLE
from app.settings import load_settings
from benchmarks.harness import FOLDER, end_progress, option_parser, write_figures
from benchmarks.index.corpus import told
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
    """Run both parts and print the figures."""
    parser = option_parser(__doc__, pages=2_000, files=10_000)
    parser.add_argument("--pdfs", type=Path, help="a folder of PDFs to take in place of those made here")
    options = parser.parse_args()
    home = FOLDER / "ingestion"
    shutil.rmtree(home, ignore_errors=True)
    figures = _pages(home, options.pages, options.pdfs) if options.pages else {}
    figures |= _files(home, options.files) if options.files else {}
    write_figures("index_ingestion", figures)


def _pages(home: Path, pages: int, pdfs: Path | None) -> dict[str, float]:
    folder = pdfs or home / "pages"
    if not pdfs:
        _make_pdfs(folder, pages)
    settings = load_settings()
    model, name = embeddings_of(settings)
    timed = Timed(model)
    begun = time.perf_counter()
    with Library.open(home / "index", timed, embedding_name=name) as library:
        library.add([folder])
        report = library.sync(told)
    seconds = time.perf_counter() - begun
    end_progress()
    share = timed.seconds / seconds
    print(f"{len(report.added)} PDFs of {pages} pages, {report.passages:,} passages in {seconds:.1f} s")
    print(f"in the embedding model: {share:.3f} of the time; {report.passages / seconds:.1f} passages a second")
    return {"pages": pages, "passages": report.passages, "seconds": seconds, "embedding_share": share}


def _files(home: Path, files: int) -> dict[str, float]:
    folder = home / "notes"
    folder.mkdir(parents=True)
    chance = random.Random(3)
    sentences = _sentences()
    for number in range(files):
        text = f"# Note {number}\n\n" + " ".join(chance.sample(sentences, 3))
        (folder / f"{number % 100:02}").mkdir(exist_ok=True)
        (folder / f"{number % 100:02}" / f"{number}.md").write_text(text, encoding="utf-8")
    aged = time.time() - 60  # as found on a disk: what was written a moment ago is looked at twice
    for path in folder.rglob("*.md"):
        os.utime(path, (aged, aged))
    first = _command(home, folder)
    unchanged = median(_command(home, folder) for _ in range(AGAIN))
    changed = []
    for number in range(AGAIN):
        (folder / "07" / "7.md").write_text(f"# Note 7\n\nIt says something else now, for the {number} time.")
        changed.append(_command(home, folder))
    print(f"{files:,} files by the command line: first {first:.1f} s")
    print(f"unchanged {unchanged:.2f} s: {unchanged / first:.4f} of it; one changed {median(changed):.2f} s: ", end="")
    print(f"{median(changed) / first:.4f}")
    model, name = embeddings_of(load_settings())
    alone = []
    with Library.open(home / "home" / "libraries" / "library", model, embedding_name=name) as library:
        for _ in range(AGAIN):
            begun = time.perf_counter()
            library.sync()
            alone.append(time.perf_counter() - begun)
    print(f"unchanged, the library alone without the start of a process: {median(alone):.2f} s")
    return {
        "files": files,
        "first_seconds": first,
        "unchanged_share": unchanged / first,
        "changed_share": median(changed) / first,
        "library_unchanged_seconds": median(alone),
    }


def _command(home: Path, folder: Path) -> float:
    """Seconds that ``python -m app index`` takes, with a home of its own and the models of this one."""
    own = home / "home"
    own.mkdir(exist_ok=True)
    models = load_settings().models_folder
    if not (own / "models").exists():
        (own / "models").symlink_to(models)
    begun = time.perf_counter()
    environment = os.environ | {"SELFRAG_HOME": str(own.resolve())}
    command = [sys.executable, "-m", "app", "index", str(folder)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def _sentences() -> list[str]:
    text = " ".join(path.read_text(encoding="utf-8") for path in sorted(SAMPLE.glob("*.md")))
    return [one for one in re.split(r"(?<=[.!?])\s+", text) if 40 < len(one) < 300 and one.isascii()]


def _make_pdfs(folder: Path, pages: int) -> None:
    from fpdf import FPDF

    folder.mkdir(parents=True)
    for start in range(0, pages, PAGES_A_FILE):
        document = FPDF()
        document.set_font("helvetica", size=11)
        for text in _page_texts(start, min(PAGES_A_FILE, pages - start)):
            document.add_page()
            document.multi_cell(0, 6, text)
        document.output(str(folder / f"{start:05}.pdf"))


def _page_texts(start: int, pages: int) -> Iterator[str]:
    sentences: Sequence[str] = _sentences()
    for number in range(start, start + pages):
        chance = random.Random(number)
        yield f"Page {number + 1}. " + " ".join(chance.sample(sentences, SENTENCES_A_PAGE))


if __name__ == "__main__":
    main()
