"""A page is read in a process that a hostile document can only end, and of the file that was indexed alone."""

import hashlib
import io
import tempfile
from pathlib import Path

import pytest
from PIL import Image

from retrieval.sandbox.pages import PageReader
from retrieval.sandbox.replies import ReadLimits
from tests.unit.retrieval.documents.pdfs import drawn, pdf, stream
from tests.unit.retrieval.sandbox.children import children, hash_of

QUOTE = "The evidence is here."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(["The first page.", f"Before it. {QUOTE} After it."]))
    return path


def test_a_quote_is_placed_and_its_page_shown_until_the_reader_is_closed(path: Path) -> None:
    before = children()
    with PageReader() as reader:
        place = reader.place_quote(path, 2, QUOTE, hash_of(path))
        png = reader.render_page(path, 2, hash_of(path), 300)
        assert len(children() - before) == 1
    assert reader.place_quote(path, 2, QUOTE, hash_of(path)) is None
    assert children() == before
    assert place
    assert png
    page = Image.open(io.BytesIO(png))
    assert (page.format, page.width) == ("PNG", 300)
    assert page.height / page.width == pytest.approx(place.height / place.width, abs=0.01)
    (box,) = place.rectangles
    ink = page.convert("L").point(lambda shade: 255 if shade < 128 else 0)
    assert ink.crop((int(box.left * page.width), int(box.top * page.height), page.width, page.height)).getbbox()


def test_an_upload_is_read_from_a_copy_that_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = Path("uploads:/ann/a.pdf")
    uploads = {path: pdf([f"Here it is. {QUOTE}"])}
    checksum = hashlib.sha256(uploads[path]).hexdigest()
    with PageReader(uploaded=uploads.get) as reader:
        assert reader.place_quote(path, 1, QUOTE, checksum)
        assert reader.render_page(path, 1, "0" * 64, 300) is None
        assert reader.render_page(Path("uploads:/bob/gone.pdf"), 1, checksum, 300) is None
        assert list(tmp_path.iterdir()) == []


def test_what_is_changed_or_gone_or_no_pdf_or_not_on_the_page_is_nothing(path: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text(QUOTE)
    indexed = hash_of(path)
    path.write_bytes(path.read_bytes() + b"\n")
    with PageReader() as reader:
        assert reader.place_quote(path, 2, QUOTE, indexed) is None
        assert reader.render_page(path, 2, indexed, 300) is None
        assert reader.place_quote(tmp_path / "gone.pdf", 2, QUOTE, hash_of(path)) is None
        assert reader.place_quote(tmp_path, 2, QUOTE, hash_of(path)) is None
        assert reader.place_quote(text, 1, QUOTE, hash_of(text)) is None
        assert reader.place_quote(path, 1, QUOTE, hash_of(path)) is None
        assert reader.render_page(path, 3, hash_of(path), 300) is None
        assert reader.place_quote(path, 2, QUOTE, hash_of(path))


def forms(depth: int) -> bytes:
    """Return a page with a form that draws another ten times, and so on: 10 ** depth words."""
    objects = [
        stream(
            "/Fm1 Do " * 10 if number < depth else "BT /F1 12 Tf 100 600 Td (Word) Tj ET",
            f"/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /Fm1 {number + 6} 0 R >>"
            " /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>",
        )
        for number in range(depth + 1)
    ]
    return drawn("/Fm1 Do", resources="/XObject << /Fm1 5 0 R >>", objects=objects)


def test_a_page_without_end_is_given_up_and_the_next_one_read(path: Path, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.pdf"
    bomb.write_bytes(forms(9))
    # A loaded machine may take a second to start a new process and read a good page.
    with PageReader(ReadLimits(seconds=5.0)) as reader:
        assert reader.render_page(bomb, 1, hash_of(bomb), 300) is None
        assert reader.place_quote(path, 2, QUOTE, hash_of(path))
