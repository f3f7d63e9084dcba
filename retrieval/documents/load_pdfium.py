"""Take the text out of a PDF's pages with pdfium, the fast library that Chromium shows them with."""

import re

from retrieval.documents.load_date import stated_day
from retrieval.documents.load_pages import DamagedError, EncryptedError, Pages

_HYPHEN = re.compile(r"(?<=\w)\x02(?=\w)")  # pdfium's mark of a hyphen with the line end after it
_PASSWORD, _SECURITY = 4, 5  # FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY


def pages_by_pdfium(data: bytes) -> Pages:
    """Return the text that is inside of each page's visible box.

    Raises ``EncryptedError`` and ``DamagedError``.
    """
    from pypdfium2 import PdfDocument, PdfiumError  # type: ignore[import-untyped]

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        if error.err_code in (_PASSWORD, _SECURITY):
            raise EncryptedError(known=error.err_code == _PASSWORD) from error
        raise DamagedError(str(error)) from error
    pages = Pages()
    with document:
        for index in range(len(document)):
            text = ""
            try:
                page = document[index]
                try:
                    textpage = page.get_textpage()
                    text = textpage.get_text_bounded()
                    textpage.close()
                finally:
                    page.close()
            except PdfiumError:
                pages.broken.append(index + 1)
            pages.texts.append(_HYPHEN.sub("-\n", text.replace("\r\n", "\n")))
        pages.date = stated_day(*map(document.get_metadata_value, ("ModDate", "CreationDate")))
    return pages
