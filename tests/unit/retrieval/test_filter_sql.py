"""A filter lets through what it says, on every way of searching."""

from collections.abc import Iterator
from datetime import date

import pytest

from retrieval.filters import Filter, matching
from retrieval.index.store import PassageStore
from tests.unit.retrieval.fakes import store_of

PASSAGES = [
    ("The tax is due in April.", {"source": "/law/tax/act.pdf", "page": 1, "date": "2019-04-05"}),
    ("The tax is due in May.", {"source": "/law/tax/act.pdf", "page": 2, "date": "2019-04-05"}),
    ("The tax is due in June.", {"source": "/law/news/2024.html", "date": "2024-02-29"}),
    ("The tax is due in July.", {"source": "/law/notes.txt"}),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PassageStore]:
    texts, metadatas = [text for text, _ in PASSAGES], [metadata for _, metadata in PASSAGES]
    folder = tmp_path_factory.mktemp("store")
    with store_of(texts, folder, metadatas) as store:
        yield store


@pytest.mark.parametrize("search", ["hybrid", "vectors", "bm25"])
@pytest.mark.parametrize(
    ("filter_", "months"),
    [
        (Filter(), "April May June July"),
        (Filter(sources=("act.pdf",)), "April May"),
        (Filter(sources=("*.pdf", "notes.*")), "April May July"),
        (Filter(sources=("/law/tax",)), "April May"),
        (Filter(sources=("law/*/20??.html",)), "June"),
        (Filter(pages=(2, 9)), "May"),
        (Filter(pages=(1, 1), sources=("*.html",)), ""),
        (Filter(since=date(2019, 4, 5)), "April May June"),
        (Filter(since=date(2019, 4, 6)), "June"),
        (Filter(until=date(2019, 4, 5)), "April May"),
        (Filter(since=date(2024, 2, 29), until=date(2024, 2, 29)), "June"),
    ],
)
def test_only_what_fits_is_found(store: PassageStore, filter_: Filter, months: str, search: str) -> None:
    found = store.similarity_search("when is the tax due", k=9, filter=filter_, search=search)  # type: ignore[arg-type]
    assert {document.page_content.split()[-1].rstrip(".") for document in found} == set(months.split())


def test_a_filter_may_be_given_as_its_fields(store: PassageStore) -> None:
    (found,) = store.similarity_search("tax", k=9, filter={"pages": (2, 2)})
    assert found.metadata["page"] == 2


async def test_a_retriever_takes_a_filter_for_each_call(store: PassageStore) -> None:
    retriever = store.as_retriever()
    assert len(await retriever.ainvoke("tax", filter=Filter(sources=("*.pdf",)))) == 2
    assert len(await retriever.ainvoke("tax")) == 4


@pytest.mark.parametrize(
    ("path", "pattern", "fit"),
    [
        ("/a/b/c.pdf", "c.pdf", True),
        ("/a/b/c.pdf", "b/", True),
        ("/a/b/c.pdf", "b/c.pdf", True),
        ("/a/b/c.pdf", "a/c.pdf", False),
        ("/a/b/c.pdf", "/b/c.pdf", False),
        ("/a/b/c.pdf", "/a/*/c.pdf", True),
        ("/a/b/c.pdf", "/a", True),
        ("/a/b/c.pdf", ".pdf", False),
        ("/a/b/c[1].pdf", "c[[]1].pdf", True),
        ("", "*.pdf", False),
    ],
)
def test_a_pattern_is_that_of_a_shell_on_the_end_of_the_path(path: str, pattern: str, fit: bool) -> None:
    assert matching([(1, path.encode())], [pattern]) == ([1] if fit else [])
