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


def dated(text: str, created: str | None, modified: str | None) -> bytes:
    """Return a PDF that states these dates, as they are."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf([text]))))
    stated = {"/CreationDate": created, "/ModDate": modified}
    writer.metadata = {key: value for key, value in stated.items() if value}
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def drawn(
    content: str,
    width: int = 600,
    height: int = 800,
    *,
    page: str = "",
    resources: str = "",
    objects: Iterable[str] = (),
) -> bytes:
    """Return a PDF of one page whose content stream is given, perhaps with further entries and objects, from 5."""
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    every = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents 4 0 R {page}"
        f" /Resources << /Font << /F1 {font} >> {resources} >> >>",
        stream(content),
        *objects,
    ]
    out = "%PDF-1.4\n"
    places = []
    for number, value in enumerate(every, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{value}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(every) + 1
    out += f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} /Root 1 0 R >>\n"
    return (out + f"startxref\n{out.index('xref')}\n%%EOF\n").encode("latin-1")


def stream(content: str, entries: str = "") -> str:
    """Return a stream object with these entries in its dictionary."""
    return f"<< {entries} /Length {len(content)} >>\nstream\n{content}\nendstream"
