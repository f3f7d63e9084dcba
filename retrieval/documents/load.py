"""Read a file as Documents, one for each page, row or file, with their source."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import EmptyDocument, NoTextError, UnreadableDocument
from core.files import FileTooLargeError, NotRegularFileError, open_regular_descriptor, read_open
from core.text import clean, path_text, shown_path
from retrieval.documents.decode import decode, is_binary, stated_day
from retrieval.documents.docx import read_docx
from retrieval.documents.headings import BY_SUFFIX, Heading
from retrieval.documents.html import declared_encoding, read_html
from retrieval.documents.loaded import Loaded
from retrieval.documents.markdown import front_matter, read_markdown
from retrieval.documents.pdf.reader import read_pdf
from retrieval.documents.row_files import read_csv, read_jsonl
from retrieval.documents.table_cells import with_cells
from retrieval.documents.wrapped import unwrapped

if TYPE_CHECKING:
    from langchain_core.documents import Document


_DATE = re.compile(
    r"""^(date|ms\.date|lastmod|updated|modified|last_updated)[ \t]*[:=][ \t]*["']?([^\s"']{1,40})""", re.M | re.I
)
_AMERICAN = re.compile(r"(\d\d)/(\d\d)/(\d{4})$")


def front_matter_date(text: str) -> str | None:
    """Return the date in the front matter as 'YYYY-MM-DD', preferably that of the last change."""
    stated = {match[1].lower(): match[2] for match in _DATE.finditer(front_matter(text))}
    if "ms.date" in stated:  # Microsoft's, written month/day/year
        stated["ms.date"] = _AMERICAN.sub(r"\3-\1-\2", stated["ms.date"])
    first = stated.pop("date", None)
    return stated_day(*stated.values(), first)


_PDF = b"%PDF-"
LARGEST = 200_000_000  # bytes: parsing needs several copies in memory


def _markdown(data: bytes) -> Loaded:
    plain = unwrapped(_text_of(data))
    text, title, headings = read_markdown(plain)
    return with_cells(Loaded.of(text, headings, front_matter_date(plain), title))


def _plain(data: bytes, find: Callable[[str], Iterable[Heading]] = lambda text: ()) -> Loaded:
    """Read plain text, in which ``find`` finds the headings."""
    text = unwrapped(_text_of(data))
    return Loaded.of(text, list(find(text)))


def _text_of(data: bytes) -> str:
    return clean(_decoded(data))


def _decoded(data: bytes) -> str:
    text = decode(data)
    if is_binary(text):
        raise ValueError("is not text: convert it to PDF, DOCX, HTML, Markdown, CSV or plain text")
    return text


def _pdf(data: bytes) -> Loaded:
    return with_cells(read_pdf(data))


_READERS: dict[str, Callable[[bytes], Loaded]] = {
    ".pdf": _pdf,
    ".docx": lambda data: with_cells(read_docx(data)),
    **dict.fromkeys(
        (".jsonl", ".ndjson"), lambda data: read_jsonl(_decoded(data))
    ),  # not cleaned before, which would end a line at a separator within a string
    **dict.fromkeys((".csv", ".tsv"), lambda data: Loaded(read_csv(_text_of(data)))),
    **dict.fromkeys(
        (".html", ".htm", ".xhtml"), lambda data: with_cells(read_html(decode(data, declared_encoding(data))))
    ),
    **dict.fromkeys((".md", ".markdown", ".mkd"), _markdown),
    ".log": _plain,
    **{suffix: partial(_plain, find=find) for suffix, find in BY_SUFFIX.items()},
}
SUFFIXES = frozenset(_READERS)


def documents_of(path: Path, loaded: Loaded) -> "list[Document]":
    """Return the sections as LangChain Documents with the metadata ``source``, ``page``, ``row`` and ``date``.

    The document's ``title`` and the section's ``headings``, a list of ``Heading``, are set only if there are any.
    """
    from langchain_core.documents import Document  # imported here, since the parsing processes do not need it

    source = path_text(path)
    return [
        Document(
            section.text,
            metadata={
                **(section.extra or {}),
                "source": source,
                "page": section.page,
                "row": section.row,
                "date": section.date or loaded.date,
                **({"title": loaded.title} if loaded.title else {}),
                **({"headings": section.headings} if section.headings else {}),
            },
        )
        for section in loaded.sections
    ]


def read_regular_file(path: Path) -> bytes:
    """Return the bytes of a regular file, without blocking on a FIFO or device.

    Raises ``OSError`` for a file that cannot be opened, and ``UnreadableDocument`` for one too large or not regular.
    """
    return read_opened(open_document(path), path)


def open_document(path: Path) -> int:
    """Open a regular file for reading and return its descriptor.

    A symbolic link is refused, since it may have replaced the file after the file was found. Raises ``OSError`` for a
    file that cannot be opened, and ``UnreadableDocument`` for one that is not regular.
    """
    try:
        return open_regular_descriptor(path, follow_links=False)
    except (NotRegularFileError, IsADirectoryError) as error:
        raise UnreadableDocument(f"{shown_path(path.name)} is not a regular file: name a document.") from error


def read_opened(descriptor: int, path: Path) -> bytes:
    """Return the bytes of an open file, and close it.

    Raises ``OSError``, and ``UnreadableDocument`` for a file larger than ``LARGEST``.
    """
    try:
        return read_open(descriptor, path, LARGEST)
    except FileTooLargeError as error:
        raise UnreadableDocument(
            f"{shown_path(path.name)} is larger than {LARGEST // 1_000_000} MB: split it into smaller files."
        ) from error


def parse_document(path: Path, data: bytes) -> Loaded:
    """Parse the bytes of a file; ``path`` gives its kind, and its name for messages.

    Raises ``EmptyDocument`` for a file without text, and ``UnreadableDocument`` for one that cannot be read.
    """
    name = shown_path(path.name)
    if not data.strip():
        raise EmptyDocument(f"{name} is empty: put text into it, or leave it out.")
    try:
        loaded = _pdf(data) if data.startswith(_PDF) else _READERS.get(path.suffix.lower(), _plain)(data)
    except NoTextError as error:
        raise EmptyDocument(f"{name} {error}.") from error
    except ValueError as error:
        raise UnreadableDocument(f"{name} {error}.") from error
    sections = [section for section in loaded.sections if section.text.strip()]
    if not sections:
        raise EmptyDocument(f"{name} holds no text: put text into it, or leave it out.")
    return replace(loaded, sections=sections, note=f"{name}: {loaded.note}." if loaded.note else "")
