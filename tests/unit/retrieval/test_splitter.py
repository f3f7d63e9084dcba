"""Passages are parts of their text, short enough, whole where they can be, and lose nothing."""

import itertools
import random

import pytest
from langchain_core.documents import Document

from retrieval.splitter import SplitSettings, split
from tests.unit.retrieval.documents.processor_time import bounded

SENTENCES = "Each passage is checked on its own. The draft quotes what it needs. Nothing else is said here. "


def documents(*texts: str, row: int | None = None) -> list[Document]:
    return [Document(text, metadata={"source": "s", "page": None, "row": row}) for text in texts]


def random_text(seed: int) -> str:
    chance = random.Random(seed)
    parts = ["word", "Sentence end. ", "\n", "\n\n", " ", "x" * 700, "ha ha ha ha ", "日本語。", "# Heading\n\n", "é"]
    parts += ["\na: x | b: y\nc | d: " + "z" * 60 + "\n"]
    return "".join(chance.choice(parts) for _ in range(400))


@pytest.mark.parametrize("seed", range(20))
def test_every_passage_is_found_at_its_offset_and_all_text_is_in_one(seed: int) -> None:
    text = random_text(seed)
    covered = [False] * len(text)
    for passage in split(documents(text)):
        offset, length = passage.metadata["offset"], len(passage.page_content)
        assert text[offset : offset + length] == passage.page_content
        assert 0 < length <= 500
        covered[offset : offset + length] = [True] * length
    lost = [char for char, seen in zip(text, covered, strict=True) if not seen and not char.isspace()]
    assert len(lost) < 20


def test_passages_end_with_sentences() -> None:
    passages = split(documents(SENTENCES * 30))
    assert len(passages) > 5
    assert all(passage.page_content.endswith(".") for passage in passages)
    assert all(passage.page_content[0].isupper() for passage in passages)


def test_an_initial_or_abbreviation_ends_no_sentence() -> None:
    text = "The report names J. Smith and Dr. Jones, e.g. on page two, again and again. " * 12
    starts = {passage.page_content.split()[0] for passage in split(documents(text))}
    assert starts == {"The"}


def test_a_heading_stays_with_its_text() -> None:
    text = f"{SENTENCES * 4}\n\n# Costs of care\n\n{SENTENCES * 8}"
    (passage,) = [p for p in split(documents(text)) if "# Costs of care" in p.page_content]
    assert passage.page_content.startswith("# Costs of care\n\nEach passage")


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_a_table_shares_no_passage_with_the_text_around_it_but_its_heading(gap: str) -> None:
    rows = "\n".join(f"plot: N{number} | rent: {number} EUR" for number in range(4))
    before, table, after = split(documents(f"{SENTENCES}\n\nFree plots{gap}{rows}\n\n{SENTENCES}"))
    assert table.page_content == f"Free plots{gap}{rows}"
    assert {before.page_content, after.page_content} == {SENTENCES.strip()}


def test_the_metadata_of_the_document_is_kept() -> None:
    (passage,) = split([Document("A page.", metadata={"source": "s", "page": 3, "row": None})])
    assert passage.metadata == {"source": "s", "page": 3, "row": None, "offset": 0}


@pytest.mark.parametrize(
    ("pages", "kept"),
    [(["12", "A page that says something.", "—\n—"], "A page that says something."), (["Yes."], "Yes.")],
)
def test_a_passage_of_next_to_no_letters_is_dropped_while_others_remain(pages: list[str], kept: str) -> None:
    assert [p.page_content for p in split(documents(*pages))] == [kept]


def test_a_short_row_is_never_lost() -> None:
    rows = documents("a: 1", row=1) + documents("a: " + SENTENCES, row=2)
    assert next(p.page_content for p in split(rows)) == "a: 1"


def test_a_short_paragraph_between_long_ones_is_not_lost() -> None:
    long = ("The committee met again in spring and heard the auditors at length. " * 10).strip()
    passages = [p.page_content for p in split(documents(f"{long}\n\nIt cost $4,300.\n\n{long}"))]
    assert [text for text in passages if "It cost $4,300." in text and "at length." in text]


def test_settings_are_obeyed() -> None:
    passages = split(documents(SENTENCES * 10), SplitSettings(chunk_size=120, overlap=40))
    assert max(len(passage.page_content) for passage in passages) <= 120
    offsets = [(p.metadata["offset"], p.metadata["offset"] + len(p.page_content)) for p in passages]
    assert any(start < end for (_, end), (start, _) in itertools.pairwise(offsets))


def test_many_lines_that_look_like_rows_take_seconds_at_most() -> None:
    with bounded():
        assert len(split(documents("some words of prose\nname | value\n" * 100_000))) > 6_000


def test_a_word_of_megabytes_takes_seconds_at_most() -> None:
    with bounded():
        assert len(split(documents("a" * 2_000_000))) > 4_000
