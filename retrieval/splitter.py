"""Split the sections of a document into short passages."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby
from typing import TYPE_CHECKING

from langchain_core.documents import Document

from core.passages import BETWEEN_CELLS
from retrieval.documents.headings import Outline
from retrieval.documents.loaded import CELLS, Cell

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

_SHORT = 20  # letters and digits: fewer mean nothing on their own
# A sentence ends at its full stop or mark and a closing quote, unless after an initial or before a lower-case letter.
_SENTENCE_END = (
    r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))(?<!\b[A-Z]\.)(?<!\b[DMJS]r\.)(?<!\bMrs\.) +(?=[^a-z\s])"
    r"|(?<=[。！？])"
    r"|(?<=[a-z][.!?])(?=[A-Z][a-z])"  # a lost space, as on many web pages
)
_HEADING = r"^(#{1,6} .*|[^\n]{1,80}[^\s.!?:;,])\n"
_HEADING_GAP = re.compile(_HEADING + r"[ \t]*\n(?=\S)", re.MULTILINE)
_HEADING_AT_END = re.compile(_HEADING + r"\v*\Z", re.MULTILINE)
_NOT_SPACE = re.compile(r"\S")
_SPACE = re.compile(r"\s")
_WHOLE = "\ue000"  # in the place of white space where the splitter must not split


@dataclass(frozen=True)
class SplitSettings:
    """The maximum length of a passage and its overlap with the next, in characters."""

    chunk_size: int = 500
    overlap: int = 50


def split(documents: Iterable[Document], settings: SplitSettings | None = None) -> list[Document]:
    """Return the passages of one file's Documents.

    Each passage has the Document's metadata and ``offset``, its start in the Document's text:
    ``text[offset:offset + len(passage)] == passage``. Instead of the Document's ``headings`` it has ``heading``, the
    headings above it, if there are any. A passage with rows of a table has no other text than these and the heading
    above. A table no longer than a passage is not split. Pages with hardly any letters are left out if other passages
    remain; rows of a file never are.
    """
    settings = settings or SplitSettings()
    passages: list[Document] = []
    trivial: list[Document] = []
    for document in documents:
        is_trivial = document.metadata.get("row") is None and _letters(document.page_content) < _SHORT
        metadata = {key: value for key, value in document.metadata.items() if key != "headings"}
        headings = document.metadata.get("headings", ())
        outline = Outline(document.page_content, headings, metadata.get("title", "")) if headings else None
        for offset, text in _pieces(document.page_content, settings):
            passage = Document(text, metadata={**metadata, "offset": offset})
            if cells := _cells_within(metadata.get(CELLS, ()), offset, offset + len(text)):
                passage.metadata[CELLS] = cells
            else:
                passage.metadata.pop(CELLS, None)
            if outline and (heading := outline.above(offset, offset + len(text))):
                passage.metadata["heading"] = heading
            (trivial if is_trivial or not _letters(text) else passages).append(passage)
    return passages or trivial


def _cells_within(cells: Sequence[Cell], begin: int, end: int) -> list[Cell]:
    """Return the cells that stand wholly in a part of a text, with their places in it; ``cells`` are in text order."""
    first, last = (bisect_left(cells, place, key=lambda cell: cell[2]) for place in (begin, end))
    return [
        (table, row, start - begin, middle - begin, close - begin)
        for table, row, start, middle, close in cells[first:last]
        if close <= end
    ]


def _pieces(text: str, settings: SplitSettings) -> list[tuple[int, str]]:
    """Return (offset, piece), each long enough to be understood where the text allows it."""
    # The text given to the splitter has the same length, so that its offsets hold for ``text``.
    blocks = _blocks(_HEADING_GAP.sub(_bind_heading, text), settings.chunk_size)
    masked = "".join(blocks)
    pieces, end = [], 0
    for piece in chain.from_iterable(map(_splitter(settings).split_text, blocks)):
        offset = _find(masked, piece, end, settings.overlap)
        end = offset + len(piece)
        original = text[offset:end]
        short = 0 < _letters(original) < _SHORT
        pieces.append(_lengthened(text, offset, original, settings) if short else (offset, original))
    return pieces


def _find(text: str, piece: str, end: int, overlap: int) -> int:
    """Return where a piece begins, given where the previous one ends.

    Only white space can lie between the two, and at most the overlap is repeated. In a repetitive text several
    positions qualify; with the last one, no text is left out.
    """
    gap = _NOT_SPACE.search(text, end)
    latest = (gap.start() if gap else end) + len(piece)
    offset = text.rfind(piece, max(0, end - overlap), latest)
    return offset if offset >= 0 else text.rfind(piece, 0, latest)


@lru_cache(maxsize=8)
def _splitter(settings: SplitSettings) -> "RecursiveCharacterTextSplitter":
    """Return the splitter for these settings; it cuts a word only if it is longer than a passage.

    Ends of lines and ends of sentences rank the same as separators, so that a heading stays with the sentences below
    it. A line of cells that is longer than a passage is cut between cells.
    """
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    fragment = max(1, settings.chunk_size // 20)
    return RecursiveCharacterTextSplitter(
        separators=[r"\n\n+", rf"\n|{_SENTENCE_END}", r"(?<=\s\|)\s", r"\s", rf"[^\s]{{{fragment}}}"],
        is_separator_regex=True,
        chunk_size=settings.chunk_size,
        chunk_overlap=settings.overlap,
    )


def _bind_heading(match: re.Match[str]) -> str:
    r"""Replace the blank line below a heading by ``\v``, so that the splitter does not see a paragraph's end there."""
    heading = match[1]
    return heading + "\n" + "\v" * (len(match[0]) - len(heading) - 1)


def _blocks(text: str, most: int) -> list[str]:
    """Return each table with the heading above it, and the text before, between and after tables.

    White space in a table of at most ``most`` characters is replaced, so that the table is not split.
    """
    if BETWEEN_CELLS not in text:
        return [text]
    blocks: list[str] = []
    between: list[str] = []
    for is_row, lines in groupby(text.splitlines(keepends=True), key=lambda line: BETWEEN_CELLS in line):
        block = "".join(lines)
        body = block.rstrip()
        if not is_row or "\n" not in body:
            between.append(block)
            continue
        before = "".join(between)
        heading = match[0] if (match := _HEADING_AT_END.search(before)) else ""
        table = _SPACE.sub(_WHOLE, body) if len(body) <= most else body
        blocks += [before.removesuffix(heading), heading + table + block[len(body) :]]
        between.clear()
    return [*blocks, "".join(between)]


def _lengthened(text: str, offset: int, piece: str, settings: SplitSettings) -> tuple[int, str]:
    """Extend a short piece to begin at an earlier sentence, which the previous piece contains as well."""
    end = offset + len(piece)
    earliest = max(0, end - settings.chunk_size // 2)
    before = text[earliest:offset]
    for boundary in (rf"\n|{_SENTENCE_END}", r"\s"):
        if match := re.search(rf"(?:{boundary})\s*", before):
            begin = earliest + match.end()
            return begin, text[begin:end]
    return offset, piece


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
