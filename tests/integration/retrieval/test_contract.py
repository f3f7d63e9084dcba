"""What any store must do to stand behind a library: add the fixture of its URL to ``conftest.STORES`` and pass."""

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from core.errors import IndexBusy, RequestError
from retrieval.adapter import RetrieverAdapter
from retrieval.documents.loaded import CELLS
from retrieval.filters import Filter
from retrieval.library.library import Library, library_folder, open_store
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import FileRecord, Model, Search, SplitFile
from retrieval.unit_vectors import OtherDimensionError
from tests.integration.retrieval.conftest import Opener, run_at_once
from tests.unit.retrieval.fakes import BagOfWords

Open = Callable[..., Store]
TEXTS = ["Points are fees paid to the lender.", "Aspirin weighs 180.16.", "The Seine flows through Paris."]
SETTINGS = SplitSettings()
SEARCHES: list[Search] = ["hybrid", "vectors", "bm25"]


@pytest.fixture
def opened(open_at: Opener, url: str) -> Open:
    """Open a library's store, as often as a test likes, as processes do."""
    return lambda model=None, name="bow", library="library": (
        open_at(url, model=model, embedding=name, name=library).store
    )


def file(path: str, passages: Sequence[str | Document], **known: object) -> SplitFile:
    documents = [
        Document(one, metadata={"offset": 0, "row": row}) if isinstance(one, str) else one
        for row, one in enumerate(passages, 1)
    ]
    record = FileRecord(path.encode(), sha256=f"hash of {path}", date="2020-01-01")
    return SplitFile(replace(record, **known), documents)  # type: ignore[arg-type]


def put(store: Store, *files: SplitFile) -> Store:
    with store.only_writer():
        store.put(files)
        store.settle()
    return store


def texts(found: list[Document]) -> list[str]:
    return [document.page_content for document in found]


# Searching.


def test_what_is_put_is_found_by_another_process_too(opened: Open) -> None:
    assert opened().similarity_search("anything") == []
    document = Document(TEXTS[0], metadata={"page": 3, "offset": 7, "kind": ["a", 1], "title": "Fees"})
    put(opened(), file("/d/a.txt", [document]), file("/d/b.txt", TEXTS[1:]))
    (found,) = opened().similarity_search("fees paid to the lender", k=1)
    assert found.page_content == TEXTS[0]
    expected = {"source": "/d/a.txt", "page": 3, "row": None, "offset": 7, "kind": ["a", 1], "title": "Fees"}
    assert expected.items() <= found.metadata.items()
    assert found.metadata["date"] == "2020-01-01"
    assert found.metadata["similarity"] == pytest.approx(0.7, abs=0.3)
    assert found.metadata["score"] > 1  # with a share of its title
    assert found.metadata["id"] == found.id
    assert document.metadata == {"page": 3, "offset": 7, "kind": ["a", 1], "title": "Fees"}


@pytest.mark.parametrize("listed", [1_000, 2])
def test_what_a_reader_may_not_see_counts_for_nothing_in_what_they_find(
    opened: Open, listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.postgres.candidates._RANKED", listed)
    monkeypatch.setattr("retrieval.postgres.candidates.EXACT", listed)
    shown = ["The fee is low.", "The fee of the lender is high, as each lender says.", "Paris lies by the river."]
    store, asked = put(opened(), file("/d/open.txt", shown)), "the fee of a lender by the river"

    def found(search: Search) -> list[tuple[str, float]]:
        visible = store.similarity_search_with_score(
            asked, 9, search=search, visible=lambda path: path == b"/d/open.txt"
        )
        return [(one.page_content, score) for one, score in visible]

    before = {search: found(search) for search in SEARCHES}
    secret = [f"The lender {number} knows the lender's river. " * (1 + number % 3) for number in range(40)]
    put(store, file("/d/secret.txt", secret))
    assert {search: found(search) for search in SEARCHES} == before
    assert {len(one) for one in before.values()} <= {len(shown), listed}
    assert len(store.similarity_search(asked, 60)) > len(shown)


def test_words_are_found_in_other_forms(opened: Open) -> None:
    forms = {
        "runner": "Running shoes help runners.",
        "RESUME": "A résumé is one page.",
        "押金多少": "租房押金为五百元。",
        "水": "水道の料金です。",
        "naïve Bayes": "The naive bayes rule.",
        "deposits": "a_deposit_paid",
    }
    store = put(opened(), file("a", [*TEXTS, *forms.values()]))
    assert {question: texts(store.similarity_search(question, k=1, search="bm25"))[0] for question in forms} == forms


def test_rare_words_and_headings_count_more(opened: Open) -> None:
    store = opened()
    below = Document("It is 500 a month.", metadata={"row": 9, "heading": "Rent of flats"})
    put(
        store,
        file("a", [f"A month of {number} days." for number in range(8)]),
        file("b", [below, "The rent of a month is due."]),
    )
    assert texts(store.similarity_search("rent", k=2, search="bm25"))[0] == below.page_content
    assert texts(store.similarity_search("month 500", k=1, search="bm25")) == [below.page_content]


def test_any_question_gets_as_many_passages_as_were_asked_for(opened: Open) -> None:
    store = put(opened(), file("a", TEXTS))
    odd = ["", "?!", '"unbalanced', "NEAR(a b, 3)", "text : a*", "{a b}: -c", "'; DROP TABLE passages; --", "%s {0} \\"]
    odd += ["a\x00b", "\ud800", "_ __ _", "e\u0301 ﬁ ß 日本語 の 😀", "x" * 100_000, " ".join(map(str, range(5_000)))]
    for question in odd:
        assert len(store.similarity_search(question, k=3)) == 3, question
    assert [len(store.similarity_search("Paris", k=k)) for k in (0, 1, 99)] == [0, 1, 3]


def test_a_filter_is_obeyed_in_each_way_of_searching(opened: Open) -> None:
    store = put(
        opened(),
        *(
            file(f"/d/{name}.txt", [Document(text, metadata={"page": page})], date=day)
            for name, page, day, text in zip(
                "abc", (1, 2, 3), ("2020-01-01", "2021-01-01", "2022-01-01"), TEXTS, strict=True
            )
        ),
    )
    for filter_, kept in (
        (Filter(), TEXTS),
        (Filter(sources=("b.*",)), [TEXTS[1]]),
        (Filter(sources=("/d/a.txt", "c.???")), [TEXTS[0], TEXTS[2]]),
        (Filter(pages=(3, 9)), [TEXTS[2]]),
        (Filter(until=date(2020, 1, 1)), [TEXTS[0]]),
        (Filter(since=date(2021, 1, 1), pages=(1, 2)), [TEXTS[1]]),
        (Filter(since=date(2021, 1, 2)), [TEXTS[2]]),
        (Filter(sources=("z",)), []),
        ({"pages": (2, 2)}, [TEXTS[1]]),
    ):
        for search in SEARCHES:
            found = store.similarity_search("lender aspirin Paris", k=9, filter=filter_, search=search)  # type: ignore[arg-type]
            assert sorted(texts(found)) == sorted(kept), (filter_, search)
        assert store.has_fitting(Filter.model_validate(filter_)) == bool(kept)
    assert store.similarity_search("nowhere", filter=Filter(sources=("a.*",)), search="bm25") == []
    with pytest.raises(ValueError, match="search is 'magic'"):
        store.similarity_search("x", search="magic")  # type: ignore[arg-type]


def test_a_passages_own_date_beats_its_documents(opened: Open) -> None:
    store = put(opened(), file("a", [Document(TEXTS[0], metadata={"date": "2024-05-05"}), TEXTS[1]]))
    assert texts(store.similarity_search("lender", k=9, filter=Filter(since=date(2024, 1, 1)))) == [TEXTS[0]]


def test_what_is_not_visible_is_not_there(opened: Open) -> None:
    store = put(opened(), file("/own/a", TEXTS[:1]), file("/other/b", TEXTS[1:]))

    def visible(path: bytes) -> bool:
        return path.startswith(b"/own/")

    found = store.similarity_search("Paris aspirin lender", k=9, visible=visible)
    assert texts(found) == TEXTS[:1]
    assert store.passage(str(found[0].id), visible) is not None
    (hidden,) = store.similarity_search("aspirin", k=1)
    assert store.passage(str(hidden.id)) is not None
    assert store.passage(str(hidden.id), visible) is None
    assert not store.has_fitting(Filter(sources=("b",)), visible)
    assert [store.passage(id_) for id_ in ("999", "x", "'", "", "9" * 40)] == [None] * 5


def test_of_the_document_that_a_question_names_half_is_found_under_its_name(opened: Open) -> None:
    notes = [f"The net income was {number} million." for number in (12, 34, 56, 78)]
    own = [Document(one, metadata={"title": "Form 10-K"}) for one in ("What was earned: 9.", "Nothing else.")]
    store = put(opened(), file("/d/Acme_2020.txt", own), file("/d/Bolt_2020.txt", notes), file("/d/Cove/a.txt", TEXTS))

    def found(question: str, **options: Any) -> list[str]:
        return [str(one.metadata.get("title")) for one in store.similarity_search(question, k=4, **options)]

    acme, bolt = "Acme 2020 · Form 10-K", "Bolt 2020"  # which a note of Bolt alone would not say
    assert found("What net income had Acme?") == [acme, bolt, acme, bolt]
    assert set(found("What was the net income in million?")) == {"None"}
    assert "Acme 2020 · Form 10-K" not in found("What was the net income in million?")
    for options in ({"filter": Filter(sources=("*_2020*",))}, {"search": "bm25"}):
        best, *_ = store.similarity_search("What was earned by Acme?", k=4, **options)
        assert (best.metadata["title"], "is_named" in best.metadata) == (acme, False)
        assert found("What was earned?", **options)[0] == "Form 10-K"
    assert set(found("What net income had Acme?", visible=b"/d/Bolt_2020.txt".__eq__)) == {bolt}
    assert found("Who in Cove sells aspirin?").count("Cove") == len(TEXTS)
    put(store, file("/d/Dove.txt", [Document("Sold.", metadata={"title": "Dove's sales"})]))
    assert found("What was sold by Dove?")[0] == "Dove's sales"
    assert found("What net income had Acme in Vaduz?")[:2] == [acme, bolt]
    elm = [*notes, "The seat is in Vaduz."]
    put(store, file("/d/Elm.txt", elm), file("/d/Fir.txt", [f"Vaduz, Vaduz {number}." for number in range(60)]))
    for name, title in (("Vaduz", None), ("Chur", "Elm")):  # a passage that is not found has the name, or none has
        asked = f"What net income, in million, was the net income of 12 million of those in {name}?"
        (best,) = store.similarity_search(asked, k=1, filter=Filter(sources=("/d/Elm.txt",)))
        assert (best.page_content, best.metadata.get("title")) == (notes[0], title)
    put(store, file("/d/Gorse.txt", [Document("The rent of it is due.", metadata={"title": "Gorse"})]))
    assert found("When is the rent of it due in Chur?")[0] == "Gorse"
    late = Filter(since=date(2021, 1, 1))
    assert found("What net income had Acme?", filter=late) == []


def test_no_two_of_the_best_say_the_same(opened: Open) -> None:
    store = put(opened(), file("a", [*[TEXTS[0]] * 60, TEXTS[1], TEXTS[2]]))
    assert sorted(texts(store.similarity_search(TEXTS[0], k=3))) == sorted(TEXTS)


async def test_a_retriever_asks_in_many_threads(opened: Open) -> None:
    store = put(opened(), file("a", TEXTS))
    retriever = store.as_retriever()
    found = await asyncio.gather(*(retriever.ainvoke(text, k=1) for text in TEXTS * 8))
    assert [texts(one)[0] for one in found] == TEXTS * 8
    only = store.as_retriever(search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.9})
    assert texts(only.invoke(TEXTS[0])) == TEXTS[:1]


# The library's files.


def test_roots_are_kept_replaced_and_removed(opened: Open) -> None:
    long = b"/" + b"x/" * 2_000
    odd = b"/d/'; DROP SCHEMA\n" + b"\xff"
    with (store := opened()).only_writer():
        store.add_roots({odd: "folder", long: "file", b"/c": "file"}, {odd})
        store.add_roots({b"/c": "folder"}, {b"/c"})
        store.add_roots({odd: "folder"}, ())
        store.remove_root(long, [])
    roots = opened().roots()
    assert (roots.kinds, roots.followed) == ({odd: "folder", b"/c": "folder"}, {b"/c"})


def test_records_are_kept_as_given(opened: Open) -> None:
    failed = file("/d/b", [], status="failed", sha256=None, reason="It 'cannot' be read.", mtime_ns=2**62, size=2**40)
    odd = SplitFile(replace(failed.record, path=b"/d/\xff" + b"y" * 3_000, status="empty", sha256=""), [])
    put(opened(), file("/d/a", TEXTS, mtime_ns=5), failed, odd)
    with (store := opened()).only_writer():
        store.touch([(b"/d/a", 9), (b"/nowhere", 9)])
    records = opened().records()
    assert set(records) == {b"/d/a", b"/d/b", odd.record.path}
    assert replace(records[b"/d/b"], id=0) == failed.record
    assert replace(records[odd.record.path], id=0) == odd.record
    assert (records[b"/d/a"].mtime_ns, records[b"/d/a"].passages) == (9, 3)
    assert opened().checksums() == ["hash of /d/a"]


def test_a_new_version_of_a_file_replaces_the_old_and_a_removed_one_is_gone(opened: Open) -> None:
    store = put(opened(), file("a", ["old words"]), file("b", ["other words"]))
    old = store.records()[b"a"]
    put(store, file("a", ["new words"], id=old.id))
    assert sorted(texts(store.similarity_search("old words", k=9))) == ["new words", "other words"]
    assert store.similarity_search("old", k=9, search="bm25") == []
    with store.only_writer():
        store.remove([store.records()[b"a"].id])
        store.settle()
    assert texts(opened().similarity_search("words", k=9)) == ["other words"]
    with store.only_writer():
        store.remove_root(b"/", [store.records()[b"b"].id])
    assert opened().similarity_search("words", k=9) == []
    assert opened().records() == {}


def test_all_files_are_put_or_none(opened: Open) -> None:
    store = put(opened(), file("a", TEXTS[:1]))
    twice = [file("b", TEXTS[1:2]), file("c", TEXTS[2:]), file("c", TEXTS[2:])]
    with pytest.raises(RequestError), store.only_writer():
        store.put(twice)
    assert set(opened().records()) == {b"a"}
    assert texts(opened().similarity_search("aspirin Paris lender", k=9)) == TEXTS[:1]


def test_a_known_text_is_not_embedded_again(opened: Open) -> None:
    put(opened(), file("a", TEXTS))
    model = BagOfWords()
    put(opened(model), file("b", [TEXTS[1], "Another."]), file("c", [TEXTS[1]]))
    assert model.texts == ["Another."]


def test_an_interrupted_file_is_not_embedded_from_its_beginning(opened: Open) -> None:
    def stop_after_ten(model: BagOfWords) -> None:
        if len(model.calls) == 10:
            raise KeyboardInterrupt

    large = file("a", [f"passage {number} of many" for number in range(64 * 11)])
    with pytest.raises(KeyboardInterrupt):
        put(opened(BagOfWords(before=stop_after_ten)), large)
    assert opened().records() == {}
    model = BagOfWords()
    put(opened(model), large)
    assert model.calls == [64] * 3
    again = BagOfWords()
    put(opened(again), file("b", ["passage 3 of many"]))
    assert again.calls == []  # its passages have the vectors now


# Reading documents back.


def test_a_document_is_read_back_up_to_a_length_and_a_quote_has_its_surroundings(opened: Open) -> None:
    sentences = " ".join(f"Sentence {number} is here." for number in range(30))
    overlapping = [
        Document(sentences[start : start + 120], metadata={"page": 1, "offset": start})
        for start in range(0, len(sentences), 100)
    ]
    second = Document("The second page.", metadata={"page": 2, "offset": 0})
    store = put(opened(), file("/d/a.txt", [*overlapping, second]), file("/d/b.txt", TEXTS))
    assert store.text_of(b"/d/a.txt", None, 9_000) == (f"{sentences}\n\nThe second page.", True)
    assert store.text_of(b"/d/a.txt", 2, 9_000) == ("The second page.", True)
    begin, whole = store.text_of(b"/d/a.txt", 1, 50)
    assert sentences.startswith(begin)
    assert 0 < len(begin) <= 50
    assert not whole
    assert store.text_of(b"/d/c.txt", None, 50) == ("", True)
    passage = overlapping[3].page_content
    found = store.surroundings("/d/a.txt", passage, 20, 60, page=1)
    assert found.quote == passage[20:60]
    assert (found.before + found.quote + found.after) in f"{sentences}\n\nThe second page."
    assert len(found.before) > 250
    assert len(found.after) > 250
    assert (found.path, found.sha256) == (Path("/d/a.txt"), "hash of /d/a.txt")
    elsewhere = store.surroundings("/d/a.txt", passage, 20, 60, page=2)
    assert (elsewhere.before, elsewhere.after, elsewhere.path) == (passage[:20], passage[60:], None)


def test_where_a_document_repeats_a_passage_nothing_is_guessed_but_the_rows_differ(opened: Open) -> None:
    texts = [TEXTS[0], TEXTS[1], TEXTS[0]]
    repeated = [Document(text, metadata={"offset": 50 * number}) for number, text in enumerate(texts)]
    store = put(opened(), file("/d/a.txt", repeated), file("/d/b.csv", texts))
    found = store.surroundings("/d/a.txt", TEXTS[0], 0, 6)
    assert (found.before, found.after, found.path) == ("", TEXTS[0][6:], Path("/d/a.txt"))
    assert store.surroundings("/d/b.csv", TEXTS[0], 0, 6, row=3).before == f"{TEXTS[0]}\n\n{TEXTS[1]}\n\n"


def test_all_passages_of_a_document_come_back_in_order(opened: Open) -> None:
    cells = Document(TEXTS[0], metadata={"row": 1, CELLS: [[0, 1, 0, 3, 10]]})
    other = file("/d/b.txt", TEXTS)
    odd = SplitFile(replace(other.record, path=b"/d/caf\xe9.txt"), other.passages)  # a name that is no text
    put(opened(), file("/d/a.csv", [cells, *TEXTS[1:]]), other, odd)
    assert texts(opened().passages_of("/d/caf\ufffd.txt")) == TEXTS
    found = opened().passages_of("/d/a.csv")
    assert texts(found) == TEXTS
    assert found[0].metadata[CELLS] == [[0, 1, 0, 3, 10]]
    assert opened().passages_of("/d/c.csv") == []


async def test_a_document_is_read_whole_by_its_name_or_the_pages_of_it_that_a_filter_leaves(opened: Open) -> None:
    pages = [Document(text, metadata={"page": number}) for number, text in enumerate(TEXTS, 1)]
    adapter = RetrieverAdapter(put(opened(), file("/d/a.pdf", pages), file("/e/b.txt", TEXTS)).as_retriever())
    assert texts(await adapter.document_named("a.pdf", 1)) == TEXTS
    assert texts(await adapter.document_named("a.pdf", 4, Filter(pages=(2, 2)))) == TEXTS[1:2]
    assert not await adapter.document_named("a.pdf", 4, Filter(sources=("e",)))
    assert not await adapter.document_named("c.pdf", 4)
    assert texts(await adapter.within("/e/b.txt", TEXTS[1], 1) or ()) == TEXTS[1:2]
    assert await adapter.within("/d/b.txt", TEXTS[1], 1) == []


async def test_tables_with_the_same_columns_are_joined_but_not_those_that_may_not_be_found(opened: Open) -> None:
    def rows(name: str, *values: str) -> list[Document]:
        end = len(name)
        cells = [[(0, row, 0, end, end + 3), (0, row, end + 4, end + 8, end + 11)] for row in range(len(values))]
        return [
            Document(f"{name}: {value}\nsize: {row}", metadata={"row": row, CELLS: cells[row]})
            for row, value in enumerate(values)
        ]

    store = put(
        opened(),
        file("/d/a.csv", rows("50%_", "a", "b")),
        file("/d/b.csv", rows("50%_", "c", "d")),
        file("/e/c.csv", rows("50%_", "e", "f")),
        file("/e/d.csv", rows("50 x_", "g", "h")),
    )
    assert list(store.sources_with(["50%_", "SIZE"])) == ["/d/a.csv", "/d/b.csv", "/e/c.csv"]

    async def sources(question: str = "How many?", only: Filter | None = None, **options: Any) -> list[str]:
        adapter = RetrieverAdapter(store.as_retriever(search_kwargs=options))
        table = await adapter.table_of("/d/a.csv", 0)
        assert table
        return list((await adapter.joined_table(table, question, only)).sources)

    assert await sources() == ["/d/a.csv", "/d/b.csv", "/e/c.csv"]
    assert await sources(visible=lambda path: path != b"/d/b.csv") == ["/d/a.csv", "/e/c.csv"]
    assert await sources(only=Filter(sources=("d",))) == ["/d/a.csv", "/d/b.csv"]
    assert await sources(only=Filter(since=date(2020, 1, 1))) == ["/d/a.csv"]
    assert await sources("How many has c?") == ["/e/c.csv"]


async def test_a_table_is_kept_until_its_document_changes(opened: Open) -> None:
    def row(number: int, size: int) -> Document:
        return Document(f"name: a{number}\nsize: {size}", metadata={"row": number, CELLS: cells(number)})

    def cells(number: int) -> list[list[int]]:
        return [[0, number, 0, 4, 8], [0, number, 9, 13, 16]]

    store = put(opened(), file("/d/a.csv", [row(1, 5), row(2, 6)]))
    adapter = RetrieverAdapter(store.as_retriever())
    table = await adapter.table_of("/d/a.csv", 0)
    assert table
    assert [values for *_, values in table.values] == [5, 6]
    assert await adapter.table_of("/d/a.csv", 0) is table
    put(store, file("/d/a.csv", [row(1, 7), row(2, 6)], id=store.records()[b"/d/a.csv"].id))
    changed = await adapter.table_of("/d/a.csv", 0)
    assert changed
    assert [values for *_, values in changed.values] == [7, 6]


# Other settings.


def test_another_model_or_splitter_is_told_and_cleared(opened: Open) -> None:
    with (store := opened()).only_writer():
        assert store.clear_outdated(SETTINGS) == []
    put(store, file("a", TEXTS))
    assert store.outdated(SETTINGS) == []
    other = opened(BagOfWords(32, "x"), "other")
    with pytest.raises(RequestError, match="made with the embedding model bow, not with other"):
        other.similarity_search("lender")
    settings = SplitSettings(100, 10)
    assert [reason[:30] for reason in other.outdated(settings)] == [
        "The embedding model changed fr",
        "The passages changed from 500 ",
    ]
    with other.only_writer():
        assert len(other.clear_outdated(settings)) == 2
    assert other.outdated(settings) == []
    (record,) = opened().records().values()
    assert (record.sha256, record.mtime_ns, record.passages) == (None, -1, 0)
    put(other, file("a", TEXTS, id=record.id))
    assert texts(other.similarity_search("aspirin weighs", k=1)) == [TEXTS[1]]


def test_a_model_that_gives_vectors_of_another_length_is_told(opened: Open) -> None:
    put(opened(), file("a", TEXTS))
    other = opened(BagOfWords(32))
    with pytest.raises(OtherDimensionError, match="64 numbers and the embedding model bow gives 32"):
        other.similarity_search("lender")
    assert len(other.outdated(SETTINGS)) == 1
    with other.only_writer():
        other.clear_outdated(SETTINGS)
    put(other, file("a", TEXTS, id=other.records()[b"a"].id))
    assert len(other.similarity_search("lender", k=9)) == 3


# Several at once.


def test_libraries_of_other_names_are_apart(opened: Open) -> None:
    put(opened(), file("a", TEXTS[:1]))
    put(opened(library="shared"), file("b", TEXTS[1:]))
    assert set(opened().records()) == {b"a"}
    assert set(opened(library="shared").records()) == {b"b"}


def test_only_one_writes_and_it_is_named(opened: Open) -> None:
    one, other, beside = opened(), opened(), opened(library="shared")
    with one.only_writer():
        assert f"rocess {os.getpid()}" in other.writer()
        with pytest.raises(IndexBusy, match=f"Process {os.getpid()} .*is writing"), other.only_writer(0):
            pass
        with beside.only_writer(0):
            pass
    with other.only_writer(0):
        pass


def test_threads_write_one_after_the_other(opened: Open) -> None:
    store = opened()

    def write(number: int) -> None:
        with store.only_writer(60):
            store.put([file(f"{number}", [f"word{number}"])])

    run_at_once(*(partial(write, number) for number in range(4)))
    assert len(store.records()) == 4


def test_a_write_is_seen_whole_or_not_at_all(opened: Open) -> None:
    put(opened(), file("a", TEXTS[:1]))
    reader, answers = opened(), []
    model = BagOfWords(before=lambda _: answers.append(texts(reader.similarity_search("aspirin lender", k=9))))
    put(opened(model), file("b", TEXTS[1:]))
    assert answers == [TEXTS[:1]]
    assert len(reader.similarity_search("aspirin lender", k=9)) == 3


# What a library does with it.


def test_a_library_follows_its_folder(opened: Open, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("Points on a mortgage are fees paid to the lender.")
    (docs / "b.md").write_text("# Aspirin\n\nIts molecular weight is\x00 180.16.")
    (docs / "c.jsonl").write_text('{"text": "The Seine.", "x": "\\u0000", "page": 3}\n')
    (docs / "d.csv").write_text("city,river\nParis,Seine\nLondon,Thames\n")
    library = Library(opened(), SETTINGS)
    library.add([docs])
    assert len(library.sync().added) == 4
    assert library.sync().unchanged == 4
    (docs / "a.txt").write_text("Points are no longer paid.")
    (docs / "d.csv").unlink()
    report = Library(opened(), SETTINGS).sync()
    assert (len(report.updated), len(report.removed), report.unchanged) == (1, 1, 2)
    assert library.verify().repairs == []
    assert texts(library.store.similarity_search("points", k=1)) == ["Points are no longer paid."]
    changed = Library(opened(), SplitSettings(200, 20))
    assert "passages changed from 500" in changed.sync().notes[0]
    assert changed.verify().passages == 3
    changed.remove(docs)
    assert changed.sources() == []


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///"])
def test_a_url_without_a_folder_means_the_usual_one(url: str, tmp_path: Path) -> None:
    assert library_folder(url, tmp_path) == tmp_path
    with pytest.raises(RequestError, match="names no folder"):
        library_folder(url, None)


def test_postgres_without_its_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("retrieval.postgres.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(RequestError, match=r"needs psycopg: run pip install -r requirements-postgres\.txt\.$"):
        open_store("postgresql://me@host/x", "library", Model(BagOfWords(), "bow"))
