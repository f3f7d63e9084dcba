"""What is marked on a page is the quote, all of it and nothing else; where that is not sure, nothing is."""

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from fpdf import FPDF
from PIL import Image, ImageChops

from grounding.sentences import sentences
from retrieval.documents.load import parse_document
from retrieval.documents.loaded import MOST_PIXELS, PageQuote, Rectangle
from retrieval.documents.pdf.quote_places import draw_page, place_quote
from tests.unit.retrieval.documents.pdfs import drawn, pdf, stream

SAMPLE = Path(__file__).resolve().parents[5] / "data" / "library" / "artificial-intelligence-and-society.pdf"
PIXELS = 2.0  # for a point
BLUR = 3  # pixels by which a glyph reaches beyond its outline


def picture(data: bytes) -> Image.Image:
    place = place_quote(data, 1, "Other")  # every page has this word, so that its size is known
    assert place
    page = draw_page(data, 1, round(place.width * PIXELS))
    assert page
    return Image.frombytes("RGB", (page.width, page.height), page.pixels)


def marked(content: str, quote: str, **page: str) -> tuple[Rectangle, ...]:
    """Return the rectangles, and see that they hold what is drawn of ``[[…]]`` in a content stream, and no more."""
    rest = f"BT /F1 12 Tf 20 20 Td (Other) Tj ET {content}"
    with_quote, without = (drawn(re.sub(r"\[\[(.*?)\]\]", shown, rest), **page) for shown in (r"(\1)", "()"))
    place = place_quote(with_quote, 1, quote)
    assert place
    ink = ImageChops.difference(picture(with_quote), picture(without)).convert("L")
    across, down = ink.size
    for left, top, right, bottom in place.rectangles:
        box = [round(edge) for edge in (left * across, top * down, right * across, bottom * down)]
        inside = ink.crop(tuple(box)).getbbox()
        assert inside
        assert max(inside[0], inside[1], box[2] - box[0] - inside[2], box[3] - box[1] - inside[3]) <= BLUR
    for left, top, right, bottom in place.rectangles:
        box = [round(edge) for edge in (left * across, top * down, right * across, bottom * down)]
        ink.paste(0, (box[0] - BLUR, box[1] - BLUR, box[2] + BLUR, box[3] + BLUR))
    assert ink.getbbox() is None
    return place.rectangles


QUOTE = "The evidence is what a reader needs."
LINES = "(Before it.) Tj T* [[The evidence is what]] Tj T* [[a reader needs.]] Tj T* (After.) Tj ET"


def test_each_line_of_a_quote_has_a_rectangle() -> None:
    first, second = marked(f"BT /F1 12 Tf 14 TL 100 600 Td {LINES}", QUOTE)
    assert first.bottom < second.top
    assert (first.left, first.bottom) == (pytest.approx(100 / 600, abs=0.002), pytest.approx(1 - 586 / 800, abs=0.002))


@pytest.mark.parametrize("quote", ["In the evidence.", "In the evi-dence."])
def test_a_word_broken_at_the_end_of_a_line_is_found(quote: str) -> None:
    text = "BT /F1 12 Tf 14 TL 100 600 Td (We look.) Tj T* [[In the evi-]] Tj T* [[dence.]] Tj ET"
    assert len(marked(text, quote)) == 2


@pytest.mark.parametrize(
    ("rotation", "turned"), [(0, "1 0 0 1"), (90, "0 1 -1 0"), (180, "-1 0 0 -1"), (270, "0 -1 1 0")]
)
@pytest.mark.parametrize("box", ["", "/CropBox [10 15 500 700]", "/MediaBox [-100 -50 700 900]"])
def test_rotation_and_crop_box_count(rotation: int, turned: str, box: str) -> None:
    lines = f"BT /F1 12 Tf 14 TL {turned} 300 400 Tm {LINES}"
    first, second = marked(lines, QUOTE, page=f"/Rotate {rotation} {box}")
    assert first.bottom < second.top


def test_the_other_column_is_not_marked() -> None:
    left = ["(The left column says) ", "[[that the evidence is]]", "[[in the appendix.]]", "(It goes on.)"]
    columns = [f"BT /F1 10 Tf 50 {600 - 12 * n} Td {text} Tj ET" for n, text in enumerate(left)]
    columns += [f"BT /F1 10 Tf 320 {600 - 12 * n} Td (The right column has line {n}) Tj ET" for n in range(4)]
    assert len(marked(" ".join(columns), "that the evidence is in the appendix.")) == 2


def test_lines_that_run_up_the_page_have_a_rectangle_each() -> None:
    text = "[[Upwards it goes,]] Tj T* [[and once more.]] Tj ET"
    boxes = marked(f"BT /F1 12 Tf 14 TL 0 1 -1 0 300 400 Tm {text}", "Upwards it goes, and once more.")
    assert len(boxes) == 2
    assert all((box.bottom - box.top) * 800 > 3 * (box.right - box.left) * 600 for box in boxes)


def test_raised_lowered_and_underlined_characters_stay_in_their_line() -> None:
    parts = "[[ace]] Tj [[_]] Tj [[nova]] Tj 4 Ts [[2]] Tj 0 Ts [[ and more]] Tj -3 Ts [[i]] Tj 0 Ts [[ c.]] Tj ET"
    assert len(marked(f"BT /F1 12 Tf 100 600 Td {parts}", "ace_nova2 and morei c.")) == 1


def font(size: int = 14) -> FPDF:
    """Return a document in a font with ligatures and characters beyond the first 65,536."""
    document = FPDF()
    document.add_font("DejaVu", fname=Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
    document.set_font("DejaVu", size=size)
    document.add_page()
    return document


@pytest.mark.parametrize("text", ["The ﬁrst ﬂower eﬃcient", "The set 𝔸 is open", "soft\u00adhyphen and\u00a0space"])
def test_a_quote_is_the_cleaned_text(text: str) -> None:
    document = font()
    document.cell(text=f"Before it. {text}. After it.")
    data = bytes(document.output())
    passage = parse_document(Path("a.pdf"), data).sections[0].text
    quote = passage.removeprefix("Before it. ").removesuffix(" After it.")
    assert passage == f"Before it. {quote} After it."
    assert place_quote(data, 1, quote)


def test_the_rest_of_the_passage_tells_which_one_is_meant() -> None:
    data = pdf(["One: it is so. Two: it is so. Three."])
    assert place_quote(data, 1, "it is so.") is None
    first = place_quote(data, 1, "it is so.", "One: ", " Two: it is so.")
    second = place_quote(data, 1, "it is so.", "One: it is so. Two: ", " Three.")
    assert first
    assert second
    assert first.rectangles[0].right < second.rectangles[0].left
    assert place_quote(data, 1, "it is so.", "Four: ", "") is None
    assert place_quote(pdf(["It is so. It is so."]), 1, "It is so.") is None


@pytest.mark.parametrize("quote", ["The evidences.", "evidence, it", "", " - ", "\x1b[31m"])
def test_what_is_not_there_is_not_marked(quote: str) -> None:
    assert place_quote(pdf(["The evidence. It is here."]), 1, quote) is None


@pytest.mark.parametrize("page", [-1, 0, 2])
def test_there_is_nothing_on_a_page_that_is_not_there(page: int) -> None:
    data = pdf(["The evidence."])
    assert place_quote(data, page, "The evidence.") is None
    assert draw_page(data, page, 100) is None


IMAGE = stream(
    "5" * 64 + ">",
    "/Type /XObject /Subtype /Image /Width 16 /Height 16 /ColorSpace /DeviceGray /BitsPerComponent 1"
    " /Filter /ASCIIHexDecode",
)
SCAN: dict[str, Any] = {"resources": "/XObject << /Im1 5 0 R >>", "objects": [IMAGE]}
SHOWN = "q 160 0 0 160 100 500 cm /Im1 Do Q"
TEXT = "BT /F1 12 Tf 100 600 Td (The evidence.) Tj ET"
UNSEEN = {
    "of the colour of the paper": f"1 g {TEXT}",
    "without ink": f"3 Tr {TEXT}",
    "behind something": f"{TEXT} 0.5 g 0 500 600 200 re f",
    "clipped": f"q 0 0 50 50 re W n {TEXT} Q",
    "in one word": "BT /F1 12 Tf 100 600 Td (The ) Tj 1 g (evidence.) Tj ET",
}


@pytest.mark.parametrize("content", UNSEEN.values(), ids=UNSEEN)
def test_text_that_cannot_be_seen_is_not_marked(content: str) -> None:
    data = drawn(content)
    assert parse_document(Path("a.pdf"), data).sections[0].text == "The evidence."
    assert place_quote(data, 1, "The evidence.") is None


def test_both_halves_of_a_broken_word_must_be_seen() -> None:
    halves = "BT /F1 12 Tf 14 TL 100 600 Td (The very first evi-) Tj T* {} (dence.) Tj ET"
    assert place_quote(drawn(halves.format("")), 1, "The very first evidence.")
    assert place_quote(drawn(halves.format("1 g")), 1, "The very first evidence.") is None


def test_dots_that_are_not_where_pdfium_says_are_seen() -> None:
    dots = "/Span << /ActualText (. . . . . .) >> BDC [(...) -3000 (...)] TJ EMC"
    content = f"BT /F1 6 Tf 100 600 Td (Burglary ) Tj {dots} ( 234,551) Tj ET"
    quote = "Burglary . . . . . . 234,551"
    assert place_quote(drawn(content), 1, quote)
    assert place_quote(drawn(content.replace("/Span", "1 g /Span").replace("EMC", "EMC 0 g")), 1, quote) is None


def test_stacked_characters_are_lines_of_their_own() -> None:
    assert len(marked("BT /F1 12 Tf 14 TL 100 600 Td [[a]] Tj T* [[b]] Tj T* [[c]] Tj ET", "a b c")) == 3


def test_the_text_that_ocr_lays_over_a_scan_is_marked() -> None:
    assert place_quote(drawn(f"{SHOWN} 3 Tr {TEXT}", **SCAN), 1, "The evidence.")


def test_a_page_that_is_a_picture_has_no_quote_and_is_shown() -> None:
    data = drawn(SHOWN, **SCAN)
    assert place_quote(data, 1, "The evidence.") is None
    page = draw_page(data, 1, 300)
    assert page
    assert (page.width, page.height, len(page.pixels)) == (300, 400, 3 * 300 * 400)
    assert set(page.pixels) >= {0, 255}


def test_a_quote_that_reaches_beyond_the_page_is_not_marked() -> None:
    assert place_quote(drawn(TEXT), 1, "The evidence.")
    for box in ("[0 0 140 800]", "[0 605 600 800]", "[105 0 600 800]"):
        assert place_quote(drawn(TEXT, page=f"/CropBox {box}"), 1, "The evidence.") is None


def test_lines_that_have_other_text_in_them_are_not_marked() -> None:
    assert place_quote(drawn(f"{TEXT} BT /F1 12 Tf 102 601 Td (Other words.) Tj ET"), 1, "The evidence.") is None


@pytest.mark.parametrize("width", [0, 1, 500, 10**9])
@pytest.mark.parametrize("size", [(600, 800), (14_400, 10), (10, 14_400), (14_400, 14_400)])
def test_a_picture_is_bounded(width: int, size: tuple[int, int]) -> None:
    page = draw_page(drawn("", *size), 1, width)
    assert page
    assert 0 < page.width * page.height <= MOST_PIXELS * 1.01
    assert len(page.pixels) == 3 * page.width * page.height


def test_pages_are_drawn_in_their_colours() -> None:
    page = draw_page(drawn("1 0 0 rg 0 400 600 400 re f", page="/CropBox [0 0 599 800]"), 1, 301)
    assert page
    assert page.pixels[:3] == b"\xff\x00\x00"
    assert page.pixels[-3:] == b"\xff\xff\xff"


def test_the_quotes_of_a_whole_document_are_found() -> None:
    data = SAMPLE.read_bytes()
    quotes = [
        (section.page or 0, section.text[:start], section.text[start:end], section.text[end:])
        for section in parse_document(SAMPLE, data).sections
        for start, end in sentences(section.text)
    ][::4]
    places = [place_quote(data, page, quote, before, after) for page, before, quote, after in quotes]
    assert len(places) > 20
    assert all(isinstance(place, PageQuote) for place in places)
