"""Quotes marked on the pages of PDFs: how many are, and does the marked text, read by another engine, say the same?

    python -m benchmarks.quote_places FOLDER [--quotes 200] [--seed 1]

The PDFs in the folder are read and split as for an index. From their passages come sentences, drawn by the seed, of
each file in turn. Each is placed on its page by pdfium; then pdfminer.six reads the characters whose middle is in one
of the rectangles, and their letters are compared with the quote's. Where pdfminer.six has no Unicode for a glyph, any
letter may stand; so it may where the quote has a symbol, as fonts of symbols name theirs after letters. The figures are
written to ``bench/quote_places.json``; the exit code is 1 when a quote is wrong or fewer than 95 % are marked.

The PDFs of docs/results.md are of 20 programs, settings and scanners. Of Debian 12: 4ti2-doc (pdfTeX),
auto-multiple-choice-doc-pdf (English and Japanese, xdvipdfmx), bzip2-doc (PassiveTeX), camlidl-doc (pdfTeX 0.13),
debian-policy (its fhs-3.0.pdf, Apache FOP), debmake-doc (German), expeyes-doc-en (en-eyes.pdf), fasta3-doc,
ghostscript-doc (MiKTeX), gm-assistant-doc (French), groff (automake.pdf of gropdf, pdfmark.pdf of Ghostscript),
gutenprint-doc (LibreOffice), python-reportlab-doc (ReportLab), yorick-doc (refs.pdf, in columns). Of the source
archives of pypdf 7.1.0 and tabula-py 2.10.0 on PyPI: GeoBase_NHNC1_Data_Model_UML_EN.pdf (Word),
Seige_of_Vicksburg_Sample_OCR.pdf (a scan with OCR), indirect-rotation.pdf (one whose OCR is beside the words it read),
12s0324.pdf (InDesign).
"""

import hashlib
import random
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.harness import counted, end, listed, option_parser
from grounding.sentences import sentences
from retrieval.documents.load import documents_of
from retrieval.documents.loaded import PageQuote
from retrieval.sandbox.pages import PageReader
from retrieval.sandbox.pool import Readers
from retrieval.splitter import split

LEAST = 20  # letters and digits of a quote
WANTED = 0.95  # share of the quotes that are marked
UNMARKED = "not marked"
UNKNOWN = "\ufffd"


@dataclass(frozen=True)
class Drawn:
    """A sentence of a passage that stands on a page."""

    path: Path
    page: int
    passage: str
    start: int
    end: int

    @property
    def quote(self) -> str:
        return self.passage[self.start : self.end]


def main() -> None:
    """Draw the quotes, mark them, read what is marked, print, write."""
    parser = option_parser(__doc__, quotes=200, seed=1)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.pdf"))
    drawn = draw_quotes(paths, options.quotes, random.Random(options.seed))
    checksums = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    outcomes: Counter[str] = Counter()
    wrong, unmarked = [], []
    with PageReader() as reader:
        for one in counted(drawn):
            before, after = one.passage[: one.start], one.passage[one.end :]
            place = reader.place_quote(one.path, one.page, one.quote, checksums[one.path], before=before, after=after)
            outcome, said = judged(one, place)
            outcomes[outcome] += 1
            where = f"{one.path.name} p. {one.page}: {one.quote!r}"
            unmarked += [where] if outcome == UNMARKED else []
            wrong += [f"{where}, but {said!r} is marked"] if outcome == "wrong" else []
    share = 1 - len(unmarked) / len(drawn)
    print(f"{len(drawn)} quotes, {share:.1%} marked: {listed(outcomes)}", *unmarked, sep="\n")
    few = [f"{share:.1%} of the quotes are marked"] if share < WANTED else []
    end("quote_places", {"share": share, "outcomes": outcomes, "unmarked": unmarked}, wrong + few)


def judged(one: Drawn, place: PageQuote | None) -> tuple[str, str]:
    """Return what became of a quote, and what the other engine reads in its place."""
    if place is None:
        return UNMARKED, ""
    said = text_within(one.path, one.page, place)
    outcome = compared(one.quote, said)
    return "not readable" if outcome == "wrong" and lacks_widths(one.path, one.page, place) else outcome, said


def draw_quotes(paths: Sequence[Path], count: int, rng: random.Random) -> list[Drawn]:
    """Return sentences of the files' passages, one of each file in turn."""
    with Readers(workers=1) as readers:
        readings = list(readers.read([str(path).encode() for path in paths]))
    of_files: list[list[Drawn]] = []
    for path, reading in zip(paths, readings, strict=True):
        if reading.loaded is None:
            raise SystemExit(reading.reason)
        passages = split(documents_of(path, reading.loaded))
        found = [
            Drawn(path, passage.metadata["page"], passage.page_content, start, stop)
            for passage in passages
            for start, stop in sentences(passage.page_content)
            if sum(map(str.isalnum, passage.page_content[start:stop])) >= LEAST
        ]
        rng.shuffle(found)
        of_files.append(found[:count])
    in_turn = chain.from_iterable(zip_longest(*of_files))
    return [one for one in in_turn if one is not None][:count]


def compared(quote: str, said: str) -> str:
    """Return 'same', 'wrong', or 'not readable' if the other engine knows none of the letters."""
    ours, theirs = Counter(letters(quote)), Counter(letters(said))
    unknown = theirs.pop(UNKNOWN, 0)
    if unknown and not theirs:
        return "not readable"
    symbols = sum(unicodedata.category(character) in ("No", "So", "Sm", "Co") for character in quote)
    surplus, missing = (theirs - ours).total(), (ours - theirs).total()
    return "same" if surplus <= symbols and missing <= unknown + symbols else "wrong"


def letters(text: str) -> str:
    """Return what both engines tell of a text: letters and digits, without ligatures."""
    text = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in text if letter.isalnum() or letter == UNKNOWN)


def text_within(path: Path, page: int, place: PageQuote) -> str:
    """Return the characters whose middle is in a rectangle, as pdfminer.six reads them."""
    return "".join(
        one.text
        for one in characters(path, page)
        if any(left < one.x < right and top < one.y < bottom for left, top, right, bottom in place.rectangles)
    )


def lacks_widths(path: Path, page: int, place: PageQuote) -> bool:
    """Whether pdfminer.six has no width for a letter in one of the marked lines, whose others it misplaces then."""
    return any(
        one.width == 0 and one.text.isalnum() and any(box.top < one.y < box.bottom for box in place.rectangles)
        for one in characters(path, page)
    )


class Character(NamedTuple):
    """A character, and its middle and width in shares of the page as it is displayed."""

    text: str
    x: float
    y: float
    width: float


@cache
def characters(path: Path, page: int) -> list[Character]:
    """Return the characters of a page, as pdfminer.six reads them."""
    from pdfminer.converter import PDFPageAggregator
    from pdfminer.layout import LTChar, LTContainer
    from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
    from pdfminer.pdfpage import PDFPage

    def glyphs(container: Any) -> Iterator[LTChar]:
        for one in container:
            if isinstance(one, LTChar):
                yield one
            elif isinstance(one, LTContainer):
                yield from glyphs(one)

    manager = PDFResourceManager()
    device = PDFPageAggregator(manager, laparams=None)
    with path.open("rb") as file:
        (read,) = PDFPage.get_pages(file, [page - 1])
        PDFPageInterpreter(manager, device).process_page(read)
        left, bottom, right, top = displayed_crop(read)
        return [
            Character(
                UNKNOWN if one.get_text().startswith("(cid:") else one.get_text(),
                ((one.x0 + one.x1) / 2 - left) / (right - left),
                (top - (one.y0 + one.y1) / 2) / (top - bottom),
                (one.x1 - one.x0) / (right - left),
            )
            for one in glyphs(device.get_result())
        ]


def displayed_crop(page: Any) -> tuple[float, float, float, float]:
    """Return a page's crop box in the coordinates of pdfminer.six: rotated, and from the corner of the media box."""
    x0, y0, x1, y1 = page.mediabox
    left, bottom, right, top = page.cropbox
    turned = {
        90: (bottom - y0, x1 - right, top - y0, x1 - left),
        180: (x1 - right, y1 - top, x1 - left, y1 - bottom),
        270: (y1 - top, left - x0, y1 - bottom, right - x0),
    }
    return turned.get(page.rotate, (left - x0, bottom - y0, right - x0, top - y0))


if __name__ == "__main__":
    main()
