import random
from pathlib import Path

import pytest

from benchmarks.documents import load
from core.errors import UnreadableDocument
from core.text import clean
from retrieval.documents import load as module
from retrieval.documents.load import parse_document
from tests.unit.retrieval.documents.pdfs import pdf


@pytest.mark.parametrize("name", ["a.txt", "a.TEXT", "a.rst", "README"])
def test_plain_text_is_one_document(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes("# Title\r\n\r\nText\u200b.\r\n".encode())
    (document,) = load(path)
    assert document.page_content == "# Title\n\nText.\n"
    assert document.metadata == {"source": str(path), "page": None, "row": None, "date": None}


def test_a_pdf_is_known_without_its_suffix() -> None:
    assert parse_document(Path("download"), pdf(["A page."])).sections[0].page == 1


@pytest.mark.parametrize("name", ["a.txt", "a.pdf", "a.docx", "a.csv", "a.jsonl", "a.html", "a.md"])
@pytest.mark.parametrize("content", [b"", b" \r\n\t "])
def test_an_empty_file_says_so(name: str, content: bytes) -> None:
    with pytest.raises(UnreadableDocument, match=rf"^{name} is empty: "):
        parse_document(Path(name), content)


def test_a_binary_file_says_so() -> None:
    with pytest.raises(UnreadableDocument, match=r"^image.txt is not text: "):
        parse_document(Path("image.txt"), b"\x89PNG\r\n\x1a\n" + random.Random(7).randbytes(2_000))


def test_a_file_beyond_the_limit_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "big.txt").open("wb") as file:
        file.truncate(module.LARGEST + 1)
    with pytest.raises(UnreadableDocument, match=r"^big.txt is larger than 200 MB: "):
        load(tmp_path / "big.txt")


def test_a_name_with_newlines_makes_one_sentence() -> None:
    with pytest.raises(UnreadableDocument, match=r"^a b.txt is empty: "):
        parse_document(Path("a\nb\u202e.txt"), b"")


NAUGHTY = [
    "undefined", "-$1.00", "1/0", "NaN", "'; DROP TABLE users; --", "<script>alert(0)</script>", "\x00\x07\x1b[31mred",
    "\u200b\u202etest\u202c", "\ufeffbom", "Ṱ̺̺̕o͞ ̷i̲̬", "👩‍👩‍👧", "ﷺ", "田中さん", "\ud800", "http://a/%%30%30",
    "{0}", "%s%n", "../../etc/passwd", "---", '"', "[" * 500, "%PDF-", "PK\x03\x04",
]  # fmt: skip


@pytest.mark.parametrize("suffix", sorted(module.SUFFIXES))
def test_naughty_strings_are_read_clean_or_refused_in_a_sentence(suffix: str) -> None:
    for text in [*NAUGHTY, "\n".join(NAUGHTY)]:
        said = outcome(Path(f"a{suffix}"), text.encode("utf-8", "surrogatepass"))
        assert all(clean(part) == part for part in said)


def outcome(path: Path, data: bytes) -> list[str]:
    try:
        return [section.text for section in parse_document(path, data).sections]
    except UnreadableDocument as error:
        return [str(error)]
