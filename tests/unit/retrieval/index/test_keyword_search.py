import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from retrieval.index import document_rows as rows
from retrieval.index import keyword_search as words
from retrieval.index.keyword_search import fts_terms, search_keywords
from retrieval.index.store import PassageStore
from tests.unit.retrieval.fakes import store_of


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("What are points on a mortgage?", '"points" OR "mortgage"'),
        ("What is it?", '"what" OR "is" OR "it"'),
        ("What did the WHO say in the US?", '"who" OR "say" OR "us"'),
        ("WHAT IS THE PRICE", '"price"'),
        ("tax tax Tax", '"tax"'),
        ("...", ""),
        ("What was decided in May?", '"decided" OR "may"'),
        ("押金多少?", '"押金" OR "金多" OR "多少"'),
        ("错误C2001是什么", '"错误" OR "c2001" OR "是什" OR "什么"'),
        ("日本の 水", '"日本" OR "本の" OR "水"*'),
        ("한국어 가격", '"한국" OR "국어" OR "가격"'),
    ],
)
def test_the_telling_terms_are_asked_for(question: str, query: str) -> None:
    assert " OR ".join(fts_terms(question)) == query


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PassageStore]:
    chance = random.Random(5)
    common = [f"common{number}" for number in range(12)]
    rare = [f"rare{number}" for number in range(300)]
    texts = [
        " ".join([*chance.choices(common, k=chance.randint(3, 30)), *chance.choices(rare, k=2)]) + f" id{number}."
        for number in range(1_500)
    ]
    with store_of(texts, tmp_path_factory.mktemp("shelf")) as store:
        yield store


def found(store: PassageStore, question: str) -> list[tuple[int, float]]:
    with store.database.reading() as connection:
        return search_keywords(connection, question, 10, 1_500)


def test_who_may_read_a_part_gets_the_order_of_a_library_of_that_part(shelf: PassageStore, tmp_path: Path) -> None:
    with shelf.database.reading() as connection:
        everything = list(connection.execute("SELECT id, text FROM passages ORDER BY id"))
    part = {id_: text for id_, text in everything if "common7" in text or "common3" in text}  # most of them
    assert 1_024 < len(part) < 1_400
    question = "common7 common1 common3 rare7 rare9"

    def ranked(store: PassageStore, only: list[int]) -> list[tuple[str, float]]:
        with store.database.reading() as connection:
            best = search_keywords(connection, question, 10, 9, np.array(only))
            passages = rows.get_passages(connection, [id_ for id_, _ in best])
        return [(passages[id_].page_content, round(score, 6)) for id_, score in best]

    with store_of(list(part.values()), tmp_path) as alone:
        assert ranked(shelf, list(part)) == ranked(alone, list(range(1, len(part) + 1)))


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


LANGUAGES = [
    "房东应当在三十天内退还押金。",
    "会议决定把截止日期推迟到五月。",
    "申請書は二週間以内に提出してください。",
    "임차인은 매달 첫째 날에 임대료를 지급합니다.",
]


@pytest.mark.parametrize("ranked", [10_000, 0])
def test_a_question_in_a_language_without_spaces_finds_its_passage_by_words(
    tmp_path: Path, ranked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "_RANKED", ranked)
    asked = ["押金什么时候退还?", "截止日期是哪一天?", "申請書の提出期限は?", "임대료는 언제 지급합니까?", "押"]
    with store_of(LANGUAGES, tmp_path) as store:
        found = [store.similarity_search(question, k=1, search="bm25")[0].page_content for question in asked]
    assert found == [*LANGUAGES, LANGUAGES[0]]


def test_a_title_of_10000_characters_is_kept_whole_for_the_caller_and_indexed_in_part(tmp_path: Path) -> None:
    title = "begin " + "very " * 2_000 + "end"
    with store_of(["A text."], tmp_path, [{"title": title, "heading": ["no text"]}]) as store:
        (best,) = store.similarity_search("begin", k=1, search="bm25")
        assert (best.metadata["title"], best.metadata["heading"]) == (title, ["no text"])
        with store.database.reading() as connection:
            assert connection.execute("SELECT max(length(title)) FROM passages").fetchone()[0] <= 120
