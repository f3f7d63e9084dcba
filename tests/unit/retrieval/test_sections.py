"""A passage whose headings name what is asked goes before those that only sound like the question."""

from pathlib import Path

import pytest
from langchain_core.documents import Document

from retrieval.ranking import section_shares
from tests.unit.retrieval.fakes import store_of

TEXTS = [
    ("A string must end on its line.", "Error C2001"),
    ("The remarks on an error are what an error means.", "Error C2059"),
    ("What the remarks on another error mean.", None),
]


def documents() -> dict[int, Document]:
    return {
        number: Document(text, metadata={"heading": heading} if heading else {})
        for number, (text, heading) in enumerate(TEXTS)
    }


def test_the_share_counts_rare_words_and_is_of_headings_alone() -> None:
    shares = section_shares("What are the remarks on error C2001?", documents())
    assert shares[0] > 2 * shares[1] > 0
    assert set(shares) == {0, 1}
    assert section_shares("Why?", documents()) == {}
    assert section_shares("C2001", {2: documents()[2]}) == {}


@pytest.mark.parametrize("headed", [True, False])
def test_the_section_that_is_asked_for_goes_first(tmp_path: Path, headed: bool) -> None:
    known = documents().values()
    metadata = [one.metadata if headed else {} for one in known]
    with store_of([one.page_content for one in known], tmp_path, metadata) as store:
        found = store.similarity_search_with_score("What are the remarks on error C2001?", k=3)
    assert (found[0][0].page_content == TEXTS[0][0]) == headed


def test_passages_that_differ_in_their_headings_alone_are_no_copies(tmp_path: Path) -> None:
    above = [{"heading": f"Error LNK110{number}"} for number in range(3)]
    with store_of(["It is deprecated."] * 3, tmp_path, above) as store:
        assert len(store.similarity_search("deprecated", k=3)) == 3
