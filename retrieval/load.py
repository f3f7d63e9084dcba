"""Turn a file into Documents: one for each page, row or file, with where it came from."""

import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from langchain_core.documents import Document

from errors import RequestError
from retrieval.clean import clean
from retrieval.decode import decode, is_binary
from retrieval.errors import UnreadableDocument, shown

LARGEST = 200_000_000  # bytes: a larger file would not fit in memory several times over


@dataclass(frozen=True)
class Section:
    """One page, row or whole file of cleaned text; ``page`` and ``row`` count from 1."""

    text: str
    page: int | None = None
    row: int | None = None


@dataclass(frozen=True)
class Loaded:
    """The sections of a file, and in ``note`` what of it could not be read."""

    sections: list[Section]
    note: str = ""


def _pdf(data: bytes) -> Loaded:
    from retrieval.load_pdf import read_pdf

    pages, note = read_pdf(data)
    return Loaded([Section(text, page=page) for page, text in pages], note)


def _csv(data: bytes) -> Loaded:
    from retrieval.load_csv import read_csv

    rows = read_csv(_text_of(data))
    return Loaded([Section(text, row=row) for row, text in rows])


def _html(data: bytes) -> Loaded:
    from retrieval.load_html import declared_encoding, read_html

    text = decode(data, declared_encoding(data))
    return Loaded([Section(read_html(text))])


def _plain(data: bytes) -> Loaded:
    if data.startswith(b"%PDF-"):
        return _pdf(data)
    return Loaded([Section(_text_of(data))])


def _text_of(data: bytes) -> str:
    text = decode(data)
    if is_binary(text):
        raise ValueError("is not text: convert it to PDF, HTML, Markdown, CSV or plain text")
    return clean(text)


_READERS: dict[str, Callable[[bytes], Loaded]] = {
    ".pdf": _pdf,
    **dict.fromkeys((".csv", ".tsv"), _csv),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _html),
    **dict.fromkeys((".md", ".markdown", ".mkd"), _plain),
    **dict.fromkeys((".txt", ".text", ".rst", ".org", ".adoc", ".asciidoc", ".log"), _plain),
}
SUFFIXES = frozenset(_READERS)


def load(path: str | Path) -> list[Document]:
    """Read a document of any kind in ``SUFFIXES``, or plain text under another name.

    Metadata are ``source``, ``page`` and ``row``. Raises ``RequestError`` when there is no such file
    and ``UnreadableDocument`` when it has no text to give.
    """
    path = Path(path).absolute()
    return parse(path, read(path))[0]


def read(path: Path) -> bytes:
    """Return the bytes of a regular file that is not too large to index."""
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise RequestError(f"{shown(path)} is a folder: name a file in it.")
        if not stat.S_ISREG(found.st_mode):
            raise RequestError(f"{shown(path)} is not a regular file: name a document.")
        check_size(path, found.st_size)
        return path.read_bytes()
    except FileNotFoundError as error:
        raise RequestError(f"There is no file {shown(path)}: check the path.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise RequestError(f"{shown(path)} cannot be opened ({reason}): check its permissions.") from error


def check_size(path: Path, size: int) -> None:
    """Refuse a file that is larger than ``LARGEST``."""
    if size > LARGEST:
        raise UnreadableDocument(
            f"{shown(path.name)} is larger than {LARGEST // 1_000_000} MB: split it into smaller files."
        )


def parse(path: Path, data: bytes) -> tuple[list[Document], str]:
    """Return the Documents in the bytes of a file, and a note on what of it could not be read."""
    name = shown(path.name)
    if not data.strip():
        raise UnreadableDocument(f"{name} is empty: put text into it, or leave it out.")
    try:
        loaded = _READERS.get(path.suffix.lower(), _plain)(data)
    except ValueError as error:
        raise UnreadableDocument(f"{name} {error}.") from error
    source = shown(path)
    documents = [
        Document(section.text, metadata={"source": source, "page": section.page, "row": section.row})
        for section in loaded.sections
        if section.text.strip()
    ]
    if not documents:
        raise UnreadableDocument(f"{name} holds no text: put text into it, or leave it out.")
    return documents, f"{name}: {loaded.note}." if loaded.note else ""
