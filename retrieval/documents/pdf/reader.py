"""Read the text of a PDF page by page, and join wrapped lines."""

import io
import logging
import re
from collections.abc import Container, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from statistics import quantiles
from typing import Any

from core.errors import NoTextError
from core.text import clean
from retrieval.documents.decode import numbered, stated_day
from retrieval.documents.headings import stated_title
from retrieval.documents.loaded import Loaded
from retrieval.documents.pdf.page_lines import body_text
from retrieval.documents.pdf.sections import marked_text, page_section
from retrieval.documents.pdf.tables import PageTable, page_tables
from retrieval.documents.pdf.words import LIGATURES, LINE_END_HYPHEN, characters_of, rules_of, words_of


@dataclass
class Pages:
    """The text of every page in order, "" for a page without text, and the numbers of ``broken`` pages, from 1.

    ``tables`` are those of each page, by its number, which its text has marks in the places of.
    """

    texts: list[str] = field(default_factory=list)
    tables: dict[int, list[PageTable]] = field(default_factory=dict)
    broken: list[int] = field(default_factory=list)
    title: str = ""
    date: str | None = None


class EncryptedError(ValueError):
    """The document needs a password other than the empty one, or a cipher that is not known."""


_HYPHEN = re.compile(rf"(?<=\w){LINE_END_HYPHEN}(?=\w)")
_LOCKED = "is encrypted: save it without a password, for example with qpdf --decrypt"
_UNKNOWN_CIPHER = "is encrypted in a way that cannot be undone here: save it without"
_MOST_SEARCHED = 8_000_000  # characters of a file, on whose pages tables are searched, which takes 6 s a million
_PASSWORD, _SECURITY = 4, 5  # FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY


def pages_by_pdfium(data: bytes) -> Pages:
    """Return the text within each page's visible box.

    Raises ``EncryptedError``, and ``PdfiumError`` for a document that it cannot open.
    """
    from pypdfium2 import PdfDocument, PdfiumError  # type: ignore[import-untyped]

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if error.err_code not in (_PASSWORD, _SECURITY):
            raise
        raise EncryptedError(_LOCKED if error.err_code == _PASSWORD else _UNKNOWN_CIPHER) from error
    pages = Pages()
    length = 0
    with document:
        for index in range(len(document)):
            text = ""
            try:
                with closing(document[index]) as page:
                    text, tables = read_page(page, with_tables=length < _MOST_SEARCHED)
                    pages.tables[index + 1] = tables
                    length += len(text) + sum(len(word.text) for table in tables for word in table.words)
            except PdfiumError:
                pages.broken.append(index + 1)
            pages.texts.append(_HYPHEN.sub("-\n", text.replace("\r\n", "\n")))
        pages.title = stated_title(clean(document.get_metadata_value("Title")))
        pages.date = stated_day(*map(document.get_metadata_value, ("ModDate", "CreationDate")))
    return pages


def read_page(page: Any, *, with_tables: bool = True) -> tuple[str, list[PageTable]]:
    """Return the text within the page's visible box, with a mark in the place of each table, and the tables."""
    with closing(page.get_textpage()) as text:
        if not with_tables:
            return text.get_text_bounded(), []
        characters = characters_of(text)
        words = words_of(page, text, characters)
        tables = page_tables(words, *rules_of(page))
        return marked_text(characters, words, tables) if tables else (text.get_text_bounded(), [])


def pages_by_pypdf(data: bytes, wanted: Container[int] | None = None) -> Pages:
    """Return the text of all pages, or of those in ``wanted``, numbered from 1.

    Raises ``EncryptedError``, and any exception on a damaged file.
    """
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL + 1)  # it warns of what it repairs
    reader = PdfReader(io.BytesIO(data))
    try:
        locked = reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED
    except (DependencyError, NotImplementedError) as error:
        raise EncryptedError(_UNKNOWN_CIPHER) from error
    if locked:
        raise EncryptedError(_LOCKED)
    pages = Pages()
    for number in range(1, len(reader.pages) + 1):
        text = ""
        if wanted is None or number in wanted:
            try:
                text = reader.pages[number - 1].extract_text()
            except Exception:  # noqa: BLE001 - a broken page can make pypdf raise anything
                pages.broken.append(number)
        pages.texts.append(text)
    with suppress(Exception):
        metadata: Mapping[str, object] = reader.metadata or {}
        pages.title = stated_title(clean(str(metadata.get("/Title") or "")))
        pages.date = stated_day(metadata.get("/ModDate"), metadata.get("/CreationDate"))
    return pages


_SENTENCE_END = re.compile(r"""[.!?:;…。！？]["'”’»)\]]*$""")
_BULLET = re.compile(r"\s*(?:[-–—*•▪◦‣●○■□➢✓·]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4})[.)]\s)")
_BROKEN_WORD = re.compile(r"-([^\W\d_]\w*)")  # matched on the reversed text
_PAGE_NUMBER = re.compile(r"(?:Page )?\W*\d{1,4}\W*(?:of \d+)?$")
_LEADERS = re.compile(r"\.{4,}|(?:\. ){4,}")
_LONG = 0.75  # of the page's full line length: a shorter line ends on purpose
_HALF = 0.5  # of it: the least length of a line that a lower-case one continues
_WORD = 100  # characters of a broken word that are read
_NARROW = 25  # characters: shorter full lines are a list, not a paragraph


def unwrap(pages: Sequence[str]) -> list[str]:
    """Return the pages with wrapped lines joined; headings, bullets and blank lines are kept.

    A word hyphenated at a line's end is joined as the rest of the document spells it.
    """
    words = set(re.findall(r"[\w-]+", "\n".join(pages).lower()))
    return [_unwrap_page(page, words) for page in pages]


def _unwrap_page(page: str, words: set[str]) -> str:
    lines = [re.sub(r"[ \t]+", " ", line).strip() for line in page.split("\n")]
    lengths = [len(line) for line in lines if line]
    full = quantiles(lengths, n=10, method="inclusive")[-1] if len(lengths) > 1 else float("inf")  # of a full line
    paragraphs: list[list[str]] = []
    previous = ""
    for line in lines:
        if paragraphs and _continues(previous, line, full):
            _join(paragraphs[-1], line, words)
        else:
            paragraphs.append([line])
        previous = line
    return re.sub(r"\n{3,}", "\n\n", "\n".join(map("".join, paragraphs))).strip()


def _continues(previous: str, line: str, full: float) -> bool:
    """True if ``line`` continues the sentence that ``previous`` broke off."""
    if not previous or not line or _BULLET.match(line) or _PAGE_NUMBER.match(line):
        return False
    if _LEADERS.search(previous) or _LEADERS.search(line):  # a table of contents
        return False
    if line[0].islower():
        return len(previous) >= _HALF * full
    return len(previous) >= max(_LONG * full, _NARROW) and not _SENTENCE_END.search(previous)


def _join(parts: list[str], line: str, words: set[str]) -> None:
    """Append a line to the parts of a wrapped sentence, and join the halves of a hyphenated word."""
    broken = _BROKEN_WORD.match(parts[-1][-_WORD:][::-1]) if parts[-1].endswith("-") else None
    if not broken:
        parts += (" ", line)
        return
    rest = re.match(r"[\w-]*", line).group()  # type: ignore[union-attr] # it always matches, if only the empty string
    together = f"{broken[1][::-1]}{rest}".lower()
    if rest[:1].islower() and together in words:
        parts[-1] = parts[-1][:-1]
    parts.append(line)


_RECHECKED = 50  # empty pages at most that are read again to see whether they are broken
_MARK = b"%PDF-"
_HEAD = 1_024  # bytes at the beginning in which readers search for the mark
_TAIL = 2_048  # bytes at the end in which a complete file has its end mark
_DAMAGED = "is damaged: save it anew as PDF"
_TRUNCATED = "is truncated: get a complete copy of it"


def read_pdf(data: bytes) -> Loaded:
    """Return the pages with text, and a note on those that cannot be read.

    Raises ``ValueError``, whose message completes a sentence that begins with the file's name.
    """
    complete = b"%%EOF" in data[-_TAIL:]
    try:
        pages = _pages(data)
    except EncryptedError:
        raise
    except Exception as error:
        if _MARK not in data[:_HEAD]:
            raise ValueError("is no PDF: name it after what it is, or leave it out") from error
        raise ValueError(_TRUNCATED if not complete else _DAMAGED) from error
    texts = [clean(text.translate(LIGATURES)).strip() for text in pages.texts]
    # A file without its end mark may still be complete, if every page has text.
    if not complete and (pages.broken or not all(texts)):
        raise ValueError(_TRUNCATED)
    if pages.broken and not any(texts):
        raise ValueError(_DAMAGED)
    if not any(texts):
        raise NoTextError("has no text layer: run OCR on it, for example ocrmypdf, and index the result")
    note = f"{numbered('page', pages.broken)} cannot be read" if pages.broken else ""
    sections = []
    before: PageTable | None = None
    for number, text in enumerate(unwrap(body_text(texts)), 1):
        if text:
            section, before = page_section(text, number, pages.tables.get(number, []), before)
            sections.append(section)
    return Loaded(sections, note, pages.date, pages.title)


def _pages(data: bytes) -> Pages:
    """Read with pdfium; use pypdf for a file that pdfium cannot open, and to tell broken pages from empty ones.

    pdfium does not report all broken pages. Text that only pypdf finds is not used: pdfium skipped it as not visible.
    """
    from pypdfium2 import PdfiumError

    try:
        pages = pages_by_pdfium(data)
    except PdfiumError:
        return pages_by_pypdf(data)
    empty = [number for number, text in enumerate(pages.texts, 1) if not text.strip()][:_RECHECKED]
    if empty:
        with suppress(Exception):
            pages.broken = sorted({*pages.broken, *pages_by_pypdf(data, frozenset(empty)).broken})
    return pages
