"""Split the sections of a document into passages that a model reads at a glance."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from langchain_core.documents import Document

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

_SHORT = 20  # letters and digits: fewer say nothing on their own
# A sentence ends at its mark, perhaps within a quotation, unless an initial or a small letter says no.
_SENTENCE_END = (
    r"(?:(?<=[.!?…])|(?<=[.!?…][\"'”’)\]]))(?<!\b[A-Z]\.)(?<!\b[DMJS]r\.)(?<!\bMrs\.) +(?=[^a-z\s])"
    r"|(?<=[。！？])"
    r"|(?<=[a-z][.!?])(?=[A-Z][a-z])"  # the space was lost, as on many a page from the web
)
_HEADING_GAP = re.compile(r"^(#{1,6} .*|[^\n]{1,80}[^\s.!?:;,])\n[ \t]*\n(?=\S)", re.MULTILINE)
_NOT_SPACE = re.compile(r"\S")


@dataclass(frozen=True)
class SplitSettings:
    """How long a passage may be, and how much of it the next one repeats, in characters."""

    chunk_size: int = 500
    overlap: int = 50


def split(documents: Iterable[Document], settings: SplitSettings | None = None) -> list[Document]:
    """Return the passages of one file's Documents.

    Each has the Document's metadata and ``offset``, where it begins in the Document's text:
    ``text[offset:offset + len(passage)] == passage``. A page or file of next to no letters is left
    out while others remain; a row is never left out.
    """
    settings = settings or SplitSettings()
    passages: list[Document] = []
    trivial: list[Document] = []
    for document in documents:
        says_nothing = document.metadata.get("row") is None and _letters(document.page_content) < _SHORT
        for offset, text in _pieces(document.page_content, settings):
            passage = Document(text, metadata={**document.metadata, "offset": offset})
            (trivial if says_nothing or not _letters(text) else passages).append(passage)
    return passages or trivial


def _pieces(text: str, settings: SplitSettings) -> list[tuple[int, str]]:
    """Return (offset, piece), each long enough to be understood where the text allows it."""
    # The splitter sees a text of the same length, so that its offsets hold for the text itself.
    guide = _HEADING_GAP.sub(_bind_heading, text)
    pieces, end = [], 0
    for piece in _splitter(settings).split_text(guide):
        offset = _find(guide, piece, end, settings.overlap)
        end = offset + len(piece)
        whole = text[offset:end]
        short = 0 < _letters(whole) < _SHORT
        pieces.append(_lengthened(text, offset, whole, settings) if short else (offset, whole))
    return pieces


def _find(text: str, piece: str, end: int, overlap: int) -> int:
    """Return where a piece begins, given where the one before it ends.

    Only white space can lie between the two, and at most the overlap is repeated. Where a text
    repeats itself there are several such places; the last leaves nothing out.
    """
    gap = _NOT_SPACE.search(text, end)
    latest = (gap.start() if gap else end) + len(piece)
    offset = text.rfind(piece, max(0, end - overlap), latest)
    return offset if offset >= 0 else text.rfind(piece, 0, latest)


@lru_cache(maxsize=8)
def _splitter(settings: SplitSettings) -> "RecursiveCharacterTextSplitter":
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(
        separators=_separators(settings),
        is_separator_regex=True,
        chunk_size=settings.chunk_size,
        chunk_overlap=settings.overlap,
    )


def _separators(settings: SplitSettings) -> list[str]:
    """List where to split, the best place first; a word is cut only where it is longer than a passage.

    Lines and sentences are one level, so that a heading stays with the sentences below it.
    """
    fragment = max(1, settings.chunk_size // 20)
    return [r"\n\n+", rf"\n|{_SENTENCE_END}", r"\s", rf"[^\s]{{{fragment}}}"]


def _bind_heading(match: re.Match[str]) -> str:
    r"""Hide the blank line below a heading behind ``\v``, at which the splitter does not end a paragraph."""
    heading = match[1]
    return heading + "\n" + "\v" * (len(match[0]) - len(heading) - 1)


def _lengthened(text: str, offset: int, piece: str, settings: SplitSettings) -> tuple[int, str]:
    """Begin a short piece at an earlier sentence, which the piece before it has as well."""
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
