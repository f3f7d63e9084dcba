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
    return pdf_of(*(one.encode("latin-1") for one in every))


def pdf_of(*objects: bytes) -> bytes:
    """Return a PDF of these objects, the first its catalog, with a table of where they are."""
    out, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)


def stream(content: str, entries: str = "") -> str:
    """Return a stream object with these entries in its dictionary."""
    return f"<< {entries} /Length {len(content)} >>\nstream\n{content}\nendstream"


Text = tuple[float, float, str]  # from the left and the top of the page, in points
Drawn = tuple[float, float, float, float]  # a line's ends


def laid_out(
    *pages: tuple[Iterable[Text], Iterable[Drawn]], turned: Iterable[Text] = (), size: float = 10, font: str = ""
) -> bytes:
    """Return a PDF of pages whose texts and lines stand at given places; text between * is bold, ``turned`` upright.

    ``font`` is a font's file, which has no bold.
    """
    document = FPDF(unit="pt", format="a4")
    if font:
        document.add_font("font", fname=font)
    for texts, lines in pages:
        document.add_page()
        for x, y, text in texts:
            document.set_font("font" if font else "helvetica", "B" if text[0] == "*" else "", size)
            document.text(x, y, text.strip("*"))
        for line in lines:
            document.line(*line)
        for x, y, text in turned:
            with document.rotation(90, x, y):
                document.text(x, y, text)
    return bytes(document.output())


def in_columns(
    places: Iterable[float], rows: Iterable[Iterable[str]], top: float = 100, step: float = 15
) -> list[Text]:
    """Return the texts of rows, each beginning at the places of the columns; "" leaves a cell empty."""
    return [
        (x, top + step * index, text)
        for index, row in enumerate(rows)
        for x, text in zip(places, row, strict=False)
        if text
    ]


def grid(x: Iterable[float], y: Iterable[float]) -> list[Drawn]:
    """Return the lines of a grid."""
    x, y = list(x), list(y)
    return [(x[0], at, x[-1], at) for at in y] + [(at, y[0], at, y[-1]) for at in x]
