"""Make PDF files to read."""

import io
from collections.abc import Iterable

from fpdf import FPDF
from pypdf import PdfReader, PdfWriter


def pdf(pages: Iterable[str]) -> bytes:
    """Return a PDF with a page for each text, its lines wrapped by the layout."""
    document = FPDF()
    document.set_font("helvetica", size=12)
    for text in pages:
        document.add_page()
        if text:
            document.multi_cell(0, 6, text, align="L")
    return bytes(document.output())


def encrypted(data: bytes, password: str, algorithm: str = "AES-256") -> bytes:
    """Return the PDF with a user password; an empty one opens by itself."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(password, owner_password="owner", algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
