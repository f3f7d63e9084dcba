"""How much of the time of indexing is spent in the embedding model.

    python -m benchmarks.index.ingestion [--pages 2000]

The pages are PDFs made from the sample library's sentences in other orders. ``bench/index_ingestion.json`` has the
figures.
"""

import random
import re
import shutil
import time
from pathlib import Path

from fpdf import FPDF
from langchain_core.embeddings import Embeddings

from app.compose import embeddings_of
from app.libraries import SAMPLE
from app.settings import load_settings
from benchmarks.harness import FOLDER, end_progress, option_parser, show_progress, write_figures
from retrieval.library.library import Library

PAGES_A_FILE = 50
SENTENCES_A_PAGE = 22


class Timed(Embeddings):
    """Embeddings that count the seconds that they take."""

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
    """Make the pages, index them, print, write."""
    options = option_parser(__doc__, pages=2_000).parse_args()
    home = FOLDER / "ingestion"
    shutil.rmtree(home, ignore_errors=True)
    _make_pdfs(home / "pages", options.pages)
    model, name = embeddings_of(load_settings())
    timed = Timed(model)
    begun = time.perf_counter()
    with Library.open(home / "index", timed, embedding_name=name) as library:
        library.add([home / "pages"])
        report = library.sync(lambda at: show_progress(f"{at.passages:,} passages"))
    seconds = time.perf_counter() - begun
    end_progress()
    share = timed.seconds / seconds
    print(f"{len(report.added)} PDFs of {options.pages} pages, {report.passages:,} passages in {seconds:.1f} s")
    print(f"in the embedding model: {share:.3f} of the time; {report.passages / seconds:.1f} passages a second")
    figures = {"pages": options.pages, "passages": report.passages, "seconds": seconds, "embedding_share": share}
    write_figures("index_ingestion", figures)


def _make_pdfs(folder: Path, pages: int) -> None:
    folder.mkdir(parents=True)
    text = " ".join(path.read_text(encoding="utf-8") for path in sorted(SAMPLE.glob("*.md")))
    sentences = [one for one in re.split(r"(?<=[.!?])\s+", text) if 40 < len(one) < 300 and one.isascii()]
    for start in range(0, pages, PAGES_A_FILE):
        document = FPDF()
        document.set_font("helvetica", size=11)
        for number in range(start, min(start + PAGES_A_FILE, pages)):
            document.add_page()
            chosen = random.Random(number).sample(sentences, SENTENCES_A_PAGE)
            document.multi_cell(0, 6, f"Page {number + 1}. {' '.join(chosen)}")
        document.output(str(folder / f"{start:05}.pdf"))


if __name__ == "__main__":
    main()
