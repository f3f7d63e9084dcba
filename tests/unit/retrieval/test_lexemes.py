import pytest

from retrieval.passage_columns import PassageColumns
from retrieval.postgres.lexemes import frequency_in, tsvector_of
from retrieval.question_terms import WEIGHTS

TEXT, TITLE, HEADING, _ = WEIGHTS
WORDS = "'a':1,4 'aspirin':2,7A,9B,10B 'rin':3"


@pytest.mark.parametrize(
    ("token", "frequency"),
    [
        ("a", 2 * TEXT),
        ("aspirin", TEXT + HEADING + 2 * TITLE),
        ("rin", TEXT),
        ("aspir", 0),
        ("in", 0),
    ],
)
def test_a_token_counts_with_the_weights_of_its_places(token: str, frequency: float) -> None:
    assert frequency_in(WORDS, token) == frequency
    assert frequency_in("", token) == 0


def test_what_is_written_of_a_passage_is_counted() -> None:
    words, _ = tsvector_of(
        PassageColumns("Aspirin and aspirin.", None, None, None, None, None, "Aspirin", "Doses of aspirin")
    )
    assert frequency_in(words, "aspirin") == 2 * TEXT + TITLE + HEADING
