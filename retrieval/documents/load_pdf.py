"""Read the text of a PDF, page by page, its wrapped lines joined."""

from collections.abc import Sequence
from contextlib import suppress

from retrieval.clean import clean
from retrieval.documents.load_note import numbered
from retrieval.documents.load_pages import DamagedError, EncryptedError, Pages
from retrieval.documents.load_pdfium import pages_by_pdfium
from retrieval.documents.load_pypdf import pages_by_pypdf
from retrieval.documents.unwrap import unwrap
from retrieval.errors import NoTextError

_LOOKED_AT = 50  # empty pages at most that are read once more to see whether they are broken
_MARK = b"%PDF-"
_HEAD = 1_024  # bytes at the beginning in which readers look for the mark
_TAIL = 2_048  # bytes at the end in which a whole file has its end mark
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"},
)
_TRUNCATED = "is truncated: get a complete copy of it"


def read_pdf(data: bytes) -> tuple[list[tuple[int, str]], str, str | None]:
    """Return (page number, text) for each page with text, a note on unreadable pages, and the date.

    Raises ``ValueError`` with the rest of a sentence that begins with the file's name.
    """
    whole = b"%%EOF" in data[-_TAIL:]
    try:
        pages = _pages(data)
    except EncryptedError:
        raise
    except Exception as error:
        if _MARK not in data[:_HEAD]:
            raise ValueError("is no PDF: name it after what it is, or leave it out") from error
        raise ValueError(_TRUNCATED if not whole else "is damaged: save it anew as PDF") from error
    texts = [clean(text.translate(_LIGATURES)).strip() for text in pages.texts]
    # Without its end mark a file may still be complete, if no page turns out to miss something.
    if not whole and (pages.broken or not all(texts)):
        raise ValueError(_TRUNCATED)
    if pages.broken and not any(texts):
        raise ValueError("is damaged: save it anew as PDF")
    if not any(texts):
        raise NoTextError("has no text layer: run OCR on it, for example ocrmypdf, and index the result")
    note = f"{numbered('page', pages.broken)} cannot be read" if pages.broken else ""
    return [(number, text) for number, text in enumerate(unwrap(texts), 1) if text], note, pages.date


def _pages(data: bytes) -> Pages:
    """Read with pdfium, and with pypdf what that cannot open or show."""
    try:
        pages = pages_by_pdfium(data)
    except DamagedError:
        return pages_by_pypdf(data)
    empty = [number for number, text in enumerate(pages.texts, 1) if not text.strip()][:_LOOKED_AT]
    if empty:
        _look_again(data, pages, empty)
    return pages


def _look_again(data: bytes, pages: Pages, numbers: Sequence[int]) -> None:
    """Find out with pypdf which pages are not empty but broken, which pdfium does not tell.

    What text pypdf finds there is not taken: pdfium has passed over it since it is not visible.
    """
    with suppress(Exception):
        again = pages_by_pypdf(data, frozenset(numbers))
        pages.broken = sorted({*pages.broken, *again.broken})
