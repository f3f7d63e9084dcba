from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from pypdfium2 import PdfiumError  # type: ignore[import-untyped]

from benchmarks.documents import load
from core.errors import UnreadableDocument
from retrieval.documents.load import parse_document
from retrieval.documents.pdf.reader import EncryptedError, Pages, pages_by_pdfium, pages_by_pypdf, unwrap
from tests.unit.retrieval.documents.pdfs import drawn, encrypted, pdf
from tests.unit.retrieval.documents.processor_time import bounded

PARAGRAPH = (
    "Grounded answers quote the passage that supports them, so that a reader can check each claim. "
    "An answer without support is withheld, and the reader is told so in plain words instead. "
)


def unreadable(name: str, data: bytes) -> str:
    with pytest.raises(UnreadableDocument) as caught:
        parse_document(Path(name), data)
    return str(caught.value)


def test_each_page_is_a_document_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "two.pdf"
    path.write_bytes(pdf(["The first page speaks.", "", "The third page speaks."]))
    documents = load(path)
    today = date.today().isoformat()  # the day when it was made
    assert [(d.page_content, d.metadata) for d in documents] == [
        ("The first page speaks.", {"source": str(path), "page": 1, "row": None, "date": today}),
        ("The third page speaks.", {"source": str(path), "page": 3, "row": None, "date": today}),
    ]


@pytest.mark.parametrize("algorithm", ["AES-256", "RC4-128"])
def test_an_encrypted_file_says_so(algorithm: str) -> None:
    secret = encrypted(pdf(["Secret."]), "password", algorithm)
    assert unreadable("secret.pdf", secret).startswith("secret.pdf is encrypted: save it without a password")


@pytest.mark.parametrize("kept", [0.05, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_truncated_file_says_so(kept: float, caplog: pytest.LogCaptureFixture) -> None:
    data = pdf([PARAGRAPH * 3] * 4)
    assert unreadable("cut.pdf", data[: int(len(data) * kept)]) == "cut.pdf is truncated: get a complete copy of it."
    assert caplog.records == []


def test_without_its_end_mark_a_file_must_have_text_on_every_page() -> None:
    tail = b" " * 5_000
    assert len(parse_document(Path("tail.pdf"), pdf(["One.", "Two."]) + tail).sections) == 2
    assert unreadable("tail.pdf", pdf(["One.", ""]) + tail) == "tail.pdf is truncated: get a complete copy of it."


def test_a_file_without_text_layer_says_what_to_do() -> None:
    assert unreadable("scan.pdf", pdf(["", ""])) == (
        "scan.pdf has no text layer: run OCR on it, for example ocrmypdf, and index the result."
    )


def test_a_broken_page_does_not_cost_the_others() -> None:
    data = pdf(["The first page speaks.", "The second is broken.", "The third page speaks."])
    # The first content stream after the first page's is made to declare a filter that fails.
    known = b"/Filter /FlateDecode"
    before, second, after = data.split(known, 2)
    loaded = parse_document(Path("partly.pdf"), before + known + second + b"/Filter /NoSuchCodec" + after)
    assert [section.page for section in loaded.sections] == [1, 3]
    assert loaded.note == "partly.pdf: page 2 cannot be read."


def test_nonsense_is_damaged_whatever_it_makes_the_parser_raise(caplog: pytest.LogCaptureFixture) -> None:
    data = b"%PDF-1.7\n" + b"<< /Kids [ " * 5_000 + b"\ntrailer << /Root 1 0 R >>\n%%EOF"
    assert unreadable("nonsense.pdf", data) == "nonsense.pdf is damaged: save it anew as PDF."
    assert caplog.records == []


@pytest.mark.parametrize("read", [pages_by_pdfium, pages_by_pypdf])
def test_both_libraries_open_an_empty_password_and_know_a_real_one(read: Callable[[bytes], Pages]) -> None:
    assert read(encrypted(pdf(["Readable."]), "")).texts == ["Readable."]
    with pytest.raises(EncryptedError):
        read(encrypted(pdf(["Secret."]), "password"))


def test_a_word_that_the_page_breaks_is_whole_again() -> None:
    text = "BT /F1 12 Tf 14 TL 50 700 Td (The evidence is what a reader needs to see in the evi-) Tj T* (dence.) Tj ET"
    (section,) = parse_document(Path("a.pdf"), drawn(text)).sections
    assert section.text == "The evidence is what a reader needs to see in the evidence."


def test_text_beside_the_page_is_left_out() -> None:
    text = "BT /F1 12 Tf 50 700 Td (Seen.) Tj 0 200 Td (Obey.) Tj -900 -200 Td (Obey.) Tj ET"
    (section,) = parse_document(Path("a.pdf"), drawn(text)).sections
    assert section.text == "Seen."
    with pytest.raises(UnreadableDocument, match="has no text layer"):
        parse_document(Path("a.pdf"), drawn("BT /F1 12 Tf 50 900 Td (Obey.) Tj ET"))


def test_what_pdfium_cannot_open_is_read_with_pypdf() -> None:
    broken = b"\n" * 1_100 + pdf(["Readable."])  # pdfium seeks the head in the first 1,024 bytes
    with pytest.raises(PdfiumError):
        pages_by_pdfium(broken)
    assert parse_document(Path("a.pdf"), broken).sections[0].text == "Readable."


FULL = "This line is as long as the lines of the page are and it goes on"


@pytest.mark.parametrize(
    ("page", "joined"),
    [
        (f"{FULL}\nto the next one.\n{FULL}.\nShort", f"{FULL} to the next one.\n{FULL}.\nShort"),
        (f"Heading\n{FULL}\nAnd Ends.", f"Heading\n{FULL} And Ends."),
        (f"{FULL}\n- a bullet\n- another\n{FULL}.", f"{FULL}\n- a bullet\n- another\n{FULL}."),
        (f"{FULL}\n\nA new paragraph\n{FULL}.", f"{FULL}\n\nA new paragraph\n{FULL}."),
        (f"{FULL}\n12\n{FULL}.", f"{FULL}\n12\n{FULL}."),
        ("Costs ........ 4\nGains ........ 9", "Costs ........ 4\nGains ........ 9"),
    ],
)
def test_only_wrapped_lines_are_joined(page: str, joined: str) -> None:
    assert unwrap([page]) == [joined]


def test_a_broken_word_is_joined_the_way_the_document_writes_it() -> None:
    pages = [
        "The international treaty is long-term and it was signed by all the inter-\nnational parties.",
        "These long-term obligations are binding on all who signed, and the long-\nterm costs are shared.",
    ]
    assert unwrap(pages) == [
        "The international treaty is long-term and it was signed by all the international parties.",
        "These long-term obligations are binding on all who signed, and the long-term costs are shared.",
    ]


@pytest.mark.parametrize("line", ["and so on and on", "hyper-", "a" * 2_000, "a" * 2_000 + "-"])
def test_no_page_takes_the_square_of_its_lines(line: str) -> None:
    with bounded():
        (page,) = unwrap(["\n".join([line] * (1_000_000 // len(line)))])
    assert page.startswith(line)
    assert "\n" not in page
