import pytest
from langchain_core.documents import Document

from retrieval.adjoining import first, joined_text, last
from retrieval.splitter import SplitSettings, split

SENTENCES = [f"Sentence number {number} says what only it can say." for number in range(40)]
TEXTS = {
    "sentences": " ".join(SENTENCES),
    "lines": "\n".join(f"- item {number} of the list" for number in range(40)),
    "paragraphs": "\n\n".join(["# Boats", *SENTENCES[:9], "## Rivers", *SENTENCES[9:]]),
}


@pytest.mark.parametrize("overlap", [0, 60])
@pytest.mark.parametrize("kind", TEXTS)
def test_passages_join_to_the_text_that_they_were_split_from(kind: str, overlap: int) -> None:
    passages = split([Document(TEXTS[kind], metadata={"page": None, "row": None})], SplitSettings(200, overlap))
    assert len(passages) > 4
    assert joined_text(passages) == TEXTS[kind]


def test_what_is_cut_off_ends_with_a_whole_word() -> None:
    assert [first("one two three", most) for most in (13, 9, 5)] == ["one two three", "one two", "one"]
    assert [last("one two three", most) for most in (13, 7)] == ["one two three", "three"]
