"""What any store must do to stand behind a library: add its URL to ``STORES`` and pass."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from core.errors import RequestError
from retrieval.filters import Filter
from retrieval.library.library import library_folder, open_store
from tests.unit.retrieval.fakes import BagOfWords

STORES: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: (folder / "st öre").as_uri().replace("file", "sqlite")
}
Open = Callable[[], Any]
TEXTS = ["Points are fees paid to the lender.", "Aspirin weighs 180.16.", "The Seine flows through Paris."]


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return STORES[request.param](tmp_path)


@pytest.fixture
def opened(url: str) -> Open:
    return lambda: closing(open_store(url, BagOfWords(), "bow"))  # type: ignore[type-var]


def texts(found: list[Document]) -> list[str]:
    return [document.page_content for document in found]


def test_what_is_added_is_found_by_another_process_too(opened: Open) -> None:
    with opened() as store:
        assert isinstance(store, VectorStore)
        assert store.similarity_search("anything") == []
        ids = store.add_texts(TEXTS, [{"source": "a.txt", "kind": number} for number in range(3)])
        assert len(set(ids)) == 3
    with opened() as store:
        (found,) = store.similarity_search("fees paid to the lender", k=1)
        assert (found.page_content, found.id) == (TEXTS[0], ids[0])
        assert (found.metadata["source"], found.metadata["kind"]) == ("a.txt", 0)


def test_an_id_replaces_what_has_it(opened: Open) -> None:
    with opened() as store:
        store.add_documents([Document("old words", id="x"), Document("other words", id="y")])
        assert store.add_documents([Document("new words", id="x")]) == ["x"]
        assert texts(store.get_by_ids(["x", "nowhere", "y"])) == ["new words", "other words"]
        assert sorted(texts(store.similarity_search("words", k=9))) == ["new words", "other words"]


def test_what_is_deleted_is_gone(opened: Open) -> None:
    with opened() as store:
        ids = store.add_texts(TEXTS)
        assert store.delete([ids[1], "nowhere"])
        assert TEXTS[1] not in texts(store.similarity_search("aspirin weighs", k=9))
        store.delete()
    with opened() as store:
        assert store.similarity_search("aspirin weighs", k=9) == []
        assert store.get_by_ids(ids) == []


def test_a_document_given_is_left_as_it_was(opened: Open) -> None:
    document = Document(TEXTS[0], metadata={"source": "a.txt", "page": 3})
    with opened() as store:
        store.add_documents([document])
        store.similarity_search("lender")
    assert document == Document(TEXTS[0], metadata={"source": "a.txt", "page": 3})


def test_a_filter_is_obeyed(opened: Open) -> None:
    with opened() as store:
        metadatas = [
            {"source": f"{name}.txt", "page": page, "date": day}
            for name, page, day in (
                ("a", 1, "2020-01-01"),
                ("b", 2, "2021-01-01"),
                ("c", 3, "2022-01-01"),
            )
        ]
        store.add_texts(TEXTS, metadatas)
        for filter_, kept in (
            (Filter(sources=("b.*",)), [TEXTS[1]]),
            (Filter(pages=(3, 9)), [TEXTS[2]]),
            (Filter(until=date(2020, 6, 1)), [TEXTS[0]]),
            (Filter(sources=("z",)), []),
        ):
            assert texts(store.similarity_search("lender aspirin Paris", k=9, filter=filter_)) == kept


def test_no_two_of_the_best_say_the_same(opened: Open) -> None:
    with opened() as store:
        store.add_texts([*[TEXTS[0]] * 60, TEXTS[1], TEXTS[2]])
        assert sorted(texts(store.similarity_search(TEXTS[0], k=3))) == sorted(TEXTS)


def test_hidden_characters_are_not_kept(opened: Open) -> None:
    with opened() as store:
        store.add_texts(["pay\u200b the\U000e0041 lender"])
        assert texts(store.similarity_search("lender", k=1)) == ["pay the lender"]


@pytest.mark.parametrize("k", [0, 1, 99])
def test_no_more_are_given_than_asked_for(opened: Open, k: int) -> None:
    with opened() as store:
        store.add_texts(TEXTS)
        assert len(store.similarity_search("Paris", k=k)) == min(k, 3)


def test_the_same_question_has_the_same_answer(opened: Open) -> None:
    with opened() as store:
        store.add_texts([f"one word{number % 7} two word{number % 5}" for number in range(70)])
        first = texts(store.similarity_search("word3 word4", k=9))
        assert all(texts(store.similarity_search("word3 word4", k=9)) == first for _ in range(5))


async def test_a_retriever_asks_in_many_threads(opened: Open) -> None:
    with opened() as store:
        store.add_texts(TEXTS)
        retriever = store.as_retriever()
        found = await asyncio.gather(*(retriever.ainvoke(text, k=1) for text in TEXTS * 8))
        assert [texts(one)[0] for one in found] == TEXTS * 8


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("qdrant://localhost/x", r"^There is no store for qdrant in SELFRAG_STORE: name a folder as sqlite:///folder"),
        ("/a/folder", r"^There is no store for no scheme"),
        ("sqlite://folder", r"^SELFRAG_STORE names no folder"),
        ("sqlite:///x?mode=ro", r"^SELFRAG_STORE names no folder"),
    ],
)
def test_a_url_of_no_store_says_so(url: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=message):
        library_folder(url, tmp_path)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///"])
def test_a_url_without_a_folder_means_the_usual_one(url: str, tmp_path: Path) -> None:
    assert library_folder(url, tmp_path) == tmp_path
    with pytest.raises(RequestError, match="names no folder"):
        library_folder(url, None)
