"""Read the text of a PDF, page by page, with pypdf."""

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from retrieval.clean import clean
from retrieval.errors import NoTextError
from retrieval.unwrap import unwrap

if TYPE_CHECKING:
    from pypdf import PdfReader

_TAIL = 2_048  # bytes at the end in which a whole file has its end mark
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"},
)
_TRUNCATED = "is truncated: get a complete copy of it"


def read_pdf(data: bytes) -> tuple[list[tuple[int, str]], str]:
    """Return (page number, text) for each page with text, and a note on pages that are unreadable.

    Raises ``ValueError`` with the rest of a sentence that begins with the file's name.
    """
    whole = b"%%EOF" in data[-_TAIL:]
    with _quiet():
        try:
            reader = _open(data)
            pages, unreadable = _extract(reader)
        except _EncryptedError:
            raise
        except Exception as error:
            raise ValueError(_TRUNCATED if not whole else "is damaged: save it anew as PDF") from error
    # Without its end mark a file may still be complete, if no page turns out to miss something.
    if not whole and (unreadable or not all(pages)):
        raise ValueError(_TRUNCATED)
    if unreadable and not any(pages):
        raise ValueError("is damaged: save it anew as PDF")
    if not any(pages):
        raise NoTextError("has no text layer: run OCR on it, for example ocrmypdf, and index the result")
    note = f"page {', '.join(map(str, unreadable))} cannot be read" if unreadable else ""
    return [(number, text) for number, text in enumerate(unwrap(pages), 1) if text], note


class _EncryptedError(ValueError):
    """The document needs a password that is not the empty one."""


def _open(data: bytes) -> "PdfReader":
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(io.BytesIO(data))
    try:
        locked = reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED
    except (DependencyError, NotImplementedError) as error:
        raise _EncryptedError("is encrypted in a way that cannot be undone here: save it without") from error
    if locked:
        raise _EncryptedError("is encrypted: save it without a password, for example with qpdf --decrypt")
    return reader


def _extract(reader: "PdfReader") -> tuple[list[str], list[int]]:
    """Return the text of every page, empty where there is none, and the numbers of broken pages."""
    pages, unreadable = [], []
    for number in range(1, len(reader.pages) + 1):
        try:
            text = reader.pages[number - 1].extract_text()
        except Exception:  # noqa: BLE001 - pypdf raises whatever a broken page makes Python raise
            text = ""
            unreadable.append(number)
        pages.append(clean(text.translate(_LIGATURES)).strip())
    return pages, unreadable


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep pypdf's remarks on repairable files off the terminal."""
    logger = logging.getLogger("pypdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
