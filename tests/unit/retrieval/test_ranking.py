"""A question becomes a query that cannot fail; words and meaning are fused; copies are left out."""

import sqlite3

import pytest

from retrieval.ranking import distinct, fts_query, fuse

HOSTILE = [
    "",
    " ",
    "?!",
    '"',
    "'",
    '"unbalanced',
    "a AND",
    "OR",
    "NOT x",
    "NEAR(a b, 3)",
    "text : a",
    "col: x",
    "a*",
    "^a",
    "a + b",
    "(((",
    "-a",
    "{a b}: c",
    "a\x00b",
    "\ud800 lone",
    "'; DROP TABLE words; --",
    "a\nb\tc",
    "日本語 の 質問",
    "مرحبا بالعالم",
    "e\u0301 combining",
    "😀😀",
    "_ __ _",
    "%s {0} \\",
    "ﬁ ligature",
    "İstanbul ß",
    "x" * 100_000,
    "word " * 20_000,
    " ".join(f"term{number}" for number in range(5_000)),
]


@pytest.mark.parametrize("question", HOSTILE, ids=range(len(HOSTILE)))
def test_no_question_is_a_syntax_error(question: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61')")
    if query := fts_query(question):
        connection.execute("SELECT rowid FROM words WHERE words MATCH ?", (query,)).fetchall()
    connection.close()


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("What are points on a mortgage?", '"points" OR "mortgage"'),
        ("What is it?", '"what" OR "is" OR "it"'),
        ("What did the WHO say in the US?", '"who" OR "say" OR "us"'),
        ("WHAT IS THE PRICE", '"price"'),
        ("tax tax Tax", '"tax"'),
        ("...", ""),
    ],
)
def test_the_telling_terms_are_asked_for(question: str, query: str) -> None:
    assert fts_query(question) == query


def test_fusion_is_half_and_half_over_all_candidates() -> None:
    assert fuse({1: 0.9, 2: 0.5, 3: 0.1}, {3: 8.0, 2: 4.0}) == {1: 0.5, 2: 0.5, 3: 0.5}


def test_without_a_term_found_meaning_decides() -> None:
    scores = fuse({1: 0.2, 2: 0.8}, {})
    assert scores[2] > scores[1]


def test_one_candidate_has_the_full_score() -> None:
    assert fuse({1: 0.3}, {1: 2.0}) == {1: 1.0}


def test_of_equal_texts_the_best_is_kept() -> None:
    texts = {1: "Same  text", 2: "same\ntext", 3: "other"}
    assert distinct([(2, 0.9), (1, 0.8), (3, 0.7)], texts) == [(2, 0.9), (3, 0.7)]
