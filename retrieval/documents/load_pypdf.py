"""Take the text out of a PDF's pages with pypdf, which is slow and reads some files that pdfium does not."""

import io
import logging
import warnings
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress

from retrieval.documents.load_date import stated_day
from retrieval.documents.load_pages import EncryptedError, Pages


def pages_by_pypdf(data: bytes, wanted: Container[int] | None = None) -> Pages:
    """Return the text of the pages, or of those whose numbers are wanted.

    Raises ``EncryptedError``, and on a damaged file whatever that makes Python raise.
    """
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError

    with _quiet():
        reader = PdfReader(io.BytesIO(data))
        try:
            locked = reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED
        except (DependencyError, NotImplementedError) as error:
            raise EncryptedError(known=False) from error
        if locked:
            raise EncryptedError
        pages = Pages()
        for number in range(1, len(reader.pages) + 1):
            text = ""
            if wanted is None or number in wanted:
                try:
                    text = reader.pages[number - 1].extract_text()
                except Exception:  # noqa: BLE001 - pypdf raises whatever a broken page makes Python raise
                    pages.broken.append(number)
            pages.texts.append(text)
        with suppress(Exception):
            about: Mapping[str, object] = reader.metadata or {}
            pages.date = stated_day(about.get("/ModDate"), about.get("/CreationDate"))
    return pages


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
