"""A quote is shown in the text of its document, though the index has only passages that overlap."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from retrieval.library.library import Library
from retrieval.splitter import SplitSettings
from retrieval.store import Surroundings
from tests.integration.retrieval.conftest import Opener, synced
from tests.unit.retrieval.documents.docx_files import docx, p
from tests.unit.retrieval.documents.pdfs import pdf

SENTENCES = [f"Sentence number {number} says what only it can say." for number in range(40)]
SPLIT = SplitSettings(chunk_size=200, overlap=60)


def indexed(open_library: Opener, path: Path, data: bytes, split: SplitSettings = SPLIT) -> Library:
    path.write_bytes(data)
    return synced(open_library(split=split), path)


def around(library: Library, quote: str, **settings: Any) -> Surroundings:
    """Return the surroundings of a quote in the first passage that has it."""
    found = library.store.similarity_search(quote, k=50)
    passage = min((one for one in found if quote in one.page_content), key=lambda one: one.metadata["offset"])
    start = passage.page_content.index(quote)
    where = {key: passage.metadata[key] for key in ("page", "row")}
    source, text = passage.metadata["source"], passage.page_content
    return library.store.surroundings(source, text, start, start + len(quote), **where, **settings)


@pytest.mark.parametrize("split", [SPLIT, SplitSettings(chunk_size=200, overlap=0)])
def test_what_passages_share_is_there_once(open_library: Opener, tmp_path: Path, split: SplitSettings) -> None:
    library = indexed(open_library, tmp_path / "a.txt", " ".join(SENTENCES).encode(), split)
    for number in (0, 3, 17, 39):
        found = around(library, SENTENCES[number], most=10_000)
        assert (found.before, found.quote, found.after) == (
            "".join(f"{one} " for one in SENTENCES[:number]),
            SENTENCES[number],
            "".join(f" {one}" for one in SENTENCES[number + 1 :]),
        )


KINDS = {
    "a.md": "\n\n".join(["# Boats", *SENTENCES[:9], "## Rivers", *SENTENCES[9:]]).encode(),
    "a.html": f"<h1>Boats</h1>{''.join(f'<p>{one}</p>' for one in SENTENCES)}".encode(),
    "a.docx": docx("".join(map(p, SENTENCES))),
    "a.pdf": pdf([" ".join(SENTENCES[:8]), " ".join(SENTENCES[8:16]), " ".join(SENTENCES[16:])]),
    "a.csv": "\n".join(["number,text", *(f"{number},{one}" for number, one in enumerate(SENTENCES))]).encode(),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_document_has_its_order(open_library: Opener, tmp_path: Path, name: str) -> None:
    library = indexed(open_library, tmp_path / name, KINDS[name])
    found = around(library, SENTENCES[17], most=400)
    before, after = (" ".join(text.split()) for text in (found.before, found.after))
    assert [one for one in SENTENCES if one in before] == SENTENCES[17 - before.count("Sentence number") : 17]
    assert [one for one in SENTENCES if one in after] == SENTENCES[18 : 18 + after.count(" can say.")]
    assert min(before.count("Sentence number"), after.count(" can say.")) >= 4
    assert max(len(found.before), len(found.after)) <= 400
    assert found.path == tmp_path / name
    assert found.sha256 == hashlib.sha256(KINDS[name]).hexdigest()


def test_lines_stay_lines(open_library: Opener, tmp_path: Path) -> None:
    lines = [f"- item {number} of the list" for number in range(30)]
    library = indexed(open_library, tmp_path / "a.txt", "\n".join(lines).encode(), SplitSettings(200, 0))
    assert around(library, lines[15], most=5_000).before == "\n".join(lines[:15]) + "\n"


def test_where_a_document_repeats_a_passage_nothing_is_guessed(open_library: Opener, tmp_path: Path) -> None:
    row = "The same terms as in the year before."
    library = indexed(open_library, tmp_path / "a.csv", f"terms\n{row}\nOther terms.\n{row}\n".encode())
    found = around(library, row)
    assert (found.before, found.after) == ("terms: ", "\n\nterms: Other terms.\n\nterms: " + row)  # the rows differ
    text = "\n\n".join([row, " ".join(SENTENCES[:4]), row, " ".join(SENTENCES[4:8])])
    library = indexed(open_library, tmp_path / "b.txt", text.encode(), SplitSettings(200, 0))
    source, end = str(tmp_path / "b.txt"), len(row)
    found = library.store.surroundings(source, row, 0, end)
    assert (found.before, found.after, found.path) == ("", "", tmp_path / "b.txt")


def test_what_is_cut_off_ends_with_a_whole_word(open_library: Opener, tmp_path: Path) -> None:
    library = indexed(open_library, tmp_path / "a.txt", " ".join(SENTENCES).encode())
    found = around(library, SENTENCES[17], most=100)
    assert " ".join(SENTENCES).count(f" {found.before}{found.quote}{found.after} ") == 1
    assert 60 < len(found.before) <= 100
    assert 60 < len(found.after) <= 100
