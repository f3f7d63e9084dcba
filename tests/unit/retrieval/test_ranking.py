from pathlib import Path

import pytest
from langchain_core.documents import Document

from retrieval.ranking import distinct, fuse, section_shares
from tests.unit.retrieval.fakes import store_of


@pytest.mark.parametrize(
    ("similarities", "words", "scores"),
    [
        ({1: 0.9, 2: 0.5, 3: 0.1}, {3: 8.0, 2: 4.0}, {1: 0.5, 2: 0.5, 3: 0.5}),
        ({1: 0.2, 2: 0.8}, {}, {1: 0.0, 2: 0.5}),  # without a term found meaning decides
        ({1: 0.3}, {1: 2.0}, {1: 1.0}),
    ],
)
def test_fusion_is_half_and_half_over_all_candidates(
    similarities: dict[int, float], words: dict[int, float], scores: dict[int, float]
) -> None:
    assert fuse(similarities, words) == scores


def test_of_equal_texts_the_best_is_kept_and_no_more_than_asked_for() -> None:
    found = [(2, 0.9), (1, 0.8), (3, 0.7)]
    texts = {1: "Same  text", 2: "same\ntext", 3: "other"}
    assert distinct(found, texts, 4) == [(2, 0.9), (3, 0.7)]
    assert distinct(found, texts, 1) == [(2, 0.9)]


LONG = "The supplier shall deliver the goods within {} days of the order, at the price agreed, to the place named."


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        (LONG.format("thirty"), LONG.format("thirty").replace("goods", "wares"), 1),
        (LONG.format("30"), LONG.format("60"), 2),
        (LONG.format("thirty"), LONG.format("thirty").replace("shall", "shall not"), 2),
        (LONG.format("thirty"), LONG.format("thirty").split(", at")[0], 2),
        ("...", "---", 2),
        ("", "", 1),
    ],
)
def test_near_copies_are_left_out_unless_a_number_or_a_negation_differs(one: str, other: str, kept: int) -> None:
    assert len(distinct([(1, 0.9), (2, 0.8)], {1: one, 2: other}, 4)) == kept


ASKED = "What are the remarks on error C2001?"
DOCUMENTS = {
    0: Document("A string must end on its line.", metadata={"heading": "Error C2001"}),
    1: Document("The remarks on an error are what an error means.", metadata={"heading": "Error C2059"}),
    2: Document("What the remarks on another error mean."),
}


def test_the_share_counts_rare_words_and_is_of_headings_alone() -> None:
    shares = section_shares(ASKED, DOCUMENTS)
    assert shares[0] > 2 * shares[1] > 0
    assert set(shares) == {0, 1}
    assert section_shares("Why?", DOCUMENTS) == {}
    assert section_shares("C2001", {2: DOCUMENTS[2]}) == {}


def test_passages_that_differ_in_their_headings_alone_are_no_copies(tmp_path: Path) -> None:
    above = [{"heading": f"Error LNK110{number}"} for number in range(3)]
    with store_of(["It is deprecated."] * 3, tmp_path, above) as store:
        assert len(store.similarity_search("deprecated", k=3)) == 3
