"""A question becomes a query that cannot fail, and is answered alike whether all is ranked or only the best."""

import random
import sqlite3
from collections.abc import Iterator

import pytest

from retrieval.filters import Condition, Filter
from retrieval.index import keyword_search as words
from retrieval.index.keyword_search import fts_query, search_keywords
from retrieval.index.store import PassageStore
from tests.unit.retrieval.fakes import BagOfWords

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


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PassageStore]:
    chance = random.Random(5)
    common = [f"common{number}" for number in range(12)]
    rare = [f"rare{number}" for number in range(300)]
    texts = [
        " ".join([*chance.choices(common, k=chance.randint(3, 30)), *chance.choices(rare, k=2)]) + f" id{number}."
        for number in range(1_500)
    ]
    with PassageStore.from_texts(texts, BagOfWords(), folder=tmp_path_factory.mktemp("shelf")) as store:
        yield store


def found(store: PassageStore, question: str, only: Filter | None = None) -> list[tuple[int, float]]:
    with store.database.reading() as connection:
        condition = Condition.of(connection, only)
        return search_keywords(connection, question, 10, 1_500, condition)


@pytest.mark.parametrize("question", ["common1 rare7 rare9", "rare3 common2 common5 common7", "rare1 rare2 rare3"])
def test_the_best_of_many_are_those_of_a_full_ranking(
    shelf: PassageStore, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = found(shelf, question)
    monkeypatch.setattr(words, "_RANKED", 0)
    fast = found(shelf, question)
    assert [id_ for id_, _ in fast[:3]] == [id_ for id_, _ in exact[:3]]
    assert len({id_ for id_, _ in fast} & {id_ for id_, _ in exact}) >= 8
    assert all(score > 0 for _, score in fast)


def test_a_question_of_common_words_alone_is_answered_in_bounded_time(
    shelf: PassageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "_RANKED", 0)
    monkeypatch.setattr(words, "_LISTED", 50)
    monkeypatch.setattr(words, "_CANDIDATES", 20)
    assert len(found(shelf, "common1 common2 common3")) == 10
    assert found(shelf, "nowhere") == []


def test_a_filter_holds_on_the_fast_way_as_well(shelf: PassageStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_RANKED", 0)
    assert found(shelf, "common1 rare7", Filter(sources=("nowhere",))) == []
    assert found(shelf, "common1 rare7", Filter(sources=("*",))) == found(shelf, "common1 rare7")
