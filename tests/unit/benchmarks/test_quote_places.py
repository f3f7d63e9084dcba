from pathlib import Path

import pytest

from benchmarks.quote_places import compared, text_within
from retrieval.documents.pdf.quote_places import place_quote
from tests.unit.retrieval.documents.pdfs import drawn

QUOTE = "The evidence is what a reader needs."


@pytest.mark.parametrize(
    ("quote", "said", "outcome"),
    [
        (QUOTE, " The evidence iswhat areader needs", "same"),
        ("The first of-fer", "The ﬁrst offer", "same"),
        (QUOTE, "The evidence is what a reader needs. And", "wrong"),
        (QUOTE, "he evidence is what a reader needs.", "wrong"),
        (QUOTE, "", "wrong"),
        (QUOTE, "The \ufffdvidence is what a reader needs.", "same"),
        (QUOTE, "\ufffd\ufffd", "not readable"),
        ("② is two", "y is two", "same"),
    ],
)
def test_letters_are_compared(quote: str, said: str, outcome: str) -> None:
    assert compared(quote, said) == outcome


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("box", ["", "/CropBox [10 15 500 700]", "/MediaBox [-100 -50 700 900]"])
def test_both_engines_agree_on_the_place(tmp_path: Path, rotation: int, box: str) -> None:
    path = tmp_path / "a.pdf"
    text = f"(Before it. {QUOTE} After it.) Tj T* (Another line.) Tj"
    path.write_bytes(drawn(f"BT /F1 12 Tf 14 TL 100 600 Td {text} ET", page=f"/Rotate {rotation} {box}"))
    place = place_quote(path.read_bytes(), 1, QUOTE)
    assert place
    assert text_within(path, 1, place).strip() == QUOTE
