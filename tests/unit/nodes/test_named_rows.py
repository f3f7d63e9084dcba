"""Of a table only the rows that a question names are read, wherever they stand in the document."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from core.passages import shown_text
from core.types import Passage
from nodes.found_passages import as_passage
from nodes.named_rows import named_rows, narrowed
from nodes.retrieve import retrieve
from prompts.delimiters import readable
from retrieval.documents.load import documents_of, parse_document
from retrieval.documents.loaded import CELLS
from retrieval.splitter import SplitSettings, split
from retrieval.tables import Table
from tests.scripted import ScriptedRetriever, run_node, state
from tests.stations import Library

HEAD = "<tr><th>Country</th><th>Catch (t)</th><th>Boats</th></tr>"
CATCHES = [("Norway", 310, 41), ("Sweden", 120, 12), ("Faroe Islands", 95, 9), ("Denmark", 87, 30), ("Åland", 4, 2)]
ROWS = "".join(f"<tr><td>{name}</td><td>{catch}</td><td>{boats}</td></tr>" for name, catch, boats in CATCHES)
PAGE = (
    f"<h1>Herring</h1><p>What was landed in 2019.</p><table>{HEAD}{ROWS}</table><p>Boats below 8 m are not counted.</p>"
)


def library(page: str = PAGE, size: int = 110) -> Library:
    made = Library()
    loaded = parse_document(Path("stations.html"), page.encode())
    passages = split(documents_of(Path("stations.csv"), loaded), SplitSettings(size, 0))
    made.passages = [Document(one.page_content, id=one.page_content, metadata=one.metadata) for one in passages]
    return made


async def read(
    question: str, found: Sequence[int], made: Library | None = None, similarity: float | None = None
) -> list[Passage]:
    """Return what is read if the search finds these passages of the table."""
    made = made or library()
    documents = {one.page_content: one for one in made.passages}
    given = [Passage(**{**as_passage(made.passages[number]), "similarity": similarity}) for number in found]
    return await narrowed(given, documents, question, made)  # type: ignore[arg-type]


async def test_the_row_is_read_that_the_question_names_though_the_search_found_others() -> None:
    made = library()
    *_, last = [number for number, one in enumerate(made.passages) if CELLS in one.metadata]
    assert "Sweden" not in made.passages[last].page_content
    (one,) = await read("What was the catch of Sweden?", [last], similarity=0.7)
    assert one["similarity"] == 0.7, "that of the row which the search found"
    assert shown_text(one).strip().endswith("Country: Sweden | Catch (t): 120 | Boats: 12")
    assert not {"Norway", "Denmark"} & set(readable(one).split())
    assert one["text"] in {passage.page_content for passage in made.passages}


async def test_what_stands_above_the_rows_is_still_read() -> None:
    (one,) = await read(
        "How many boats has Denmark?", [1], library(PAGE.replace("<table>", "<table><caption>Landed"), 2_000)
    )
    assert shown_text(one).split("\n") == ["Landed", "Country: Denmark | Catch (t): 87 | Boats: 30", ""]


async def test_passages_of_no_table_and_of_one_without_a_named_row_stay() -> None:
    made = library()
    everything = list(range(len(made.passages)))
    assert await read("Who mends the nets?", everything, made) == [as_passage(one) for one in made.passages]


async def test_the_place_of_a_table_among_the_passages_is_that_of_its_best() -> None:
    made = library()
    rows = [number for number, one in enumerate(made.passages) if CELLS in one.metadata]
    made.passages.append(Document("Nets are mended ashore.", id="Nets are mended ashore.", metadata={}))
    found = await read("How much did the Faroe Islands land?", [rows[-1], len(made.passages) - 1, rows[0]], made)
    assert [bool(one.get("left_out")) for one in found][-1] is False
    assert "Faroe" in shown_text(found[0])


def table(made: Library) -> Table:
    found = Table.of(made.passages, 0)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What was the catch of Sweden and Norway?", ["Norway", "Sweden"]),
        ("How many boats do Sweden and Norway have?", []),  # a sum, which no row says
        ("What do the islands catch?", ["Faroe Islands"]),
        ("How many boats are there?", []),
        ("What was the catch of Sweden, Norway, Denmark and Åland?", []),  # more than a question names
    ],
)
def test_a_question_names_the_rows_that_share_its_rarest_words(question: str, names: list[str]) -> None:
    found = table(library())
    assert [found.label(row) for row in named_rows(found, question)] == names


def test_a_word_that_most_rows_have_names_none_of_them() -> None:
    rows = "".join(f"<tr><td>Port {name}</td><td>{size}</td></tr>" for size, name in enumerate(("Ayr", "Bute", "Cove")))
    page = f"<table><tr><th>Port</th><th>Berths</th></tr>{rows}</table>"
    assert named_rows(table(library(page, 2_000)), "How many berths has the port?") == []
    two = page.replace("<tr><td>Port Cove</td><td>2</td></tr>", "")
    assert named_rows(table(library(two, 2_000)), "What does the port cost?") == []
    years = "".join(f"<tr><td>{year}</td><td>{size}</td></tr>" for size, year in enumerate((2007, 2008, 2009)))
    page_of_years = f"<table><tr><th>Year</th><th>Berths</th></tr>{years}</table>"
    assert named_rows(table(library(page_of_years, 2_000)), "How many berths were there in 2008?") == [1]
    assert named_rows(table(library(page, 2_000)), "How many berths has the port of Bute?") == [1]


def test_of_rows_with_the_same_words_that_is_named_which_has_no_other() -> None:
    rows = "".join(f"<tr><td>{name}</td><td>7</td></tr>" for name in ("Current assets", "Assets", "Fixed assets"))
    page = f"<table><tr><th>Item</th><th>Sum</th></tr>{rows}<tr><td>Debt</td><td>3</td></tr></table>"
    found = table(library(page, 2_000))
    assert [found.label(row) for row in named_rows(found, "What are all the assets?")] == ["Assets"]
    assert [found.label(row) for row in named_rows(found, "What are the fixed assets?")] == ["Fixed assets"]
    rows = rows.replace("Fixed assets", "In Japan and China").replace("Current assets", "In India")
    found = table(library(f"<table><tr><th>Item</th><th>Sum</th></tr>{rows}</table>", 2_000))
    both = named_rows(found, "What are the assets in Japan?")
    assert [found.label(row) for row in both] == ["Assets", "In Japan and China"]


def test_what_names_the_file_names_no_row() -> None:
    rows = "".join(f"<tr><td>{name}</td><td>7</td></tr>" for name in ("Equity of Stations", "Cash at banks", "Debt"))
    found = table(library(f"<table><tr><th>Item</th><th>Sum</th></tr>{rows}</table>", 2_000))
    assert found.source == "stations.csv"
    assert [found.label(row) for row in named_rows(found, "How much cash has Stations?")] == ["Cash at banks"]


class Retriever(ScriptedRetriever):
    """Finds the same passages for each question, and their table."""

    async def table_of(self, source: str, number: int) -> Table | None:  # type: ignore[override]
        return await library().table_of(source, number)


@pytest.mark.parametrize(
    ("question", "before", "shown", "is_best"),
    [
        ("How many boats has Sweden?", [], ["Sweden", "End"], False),
        ("How many boats has Sweden?", ["Prose"], ["Prose", "Sweden", "End"], False),
        ("Which boats has Sweden?", ["Prose"], ["Prose", "Sweden", "End"], None),
        ("How many boats longer than 8 m has Sweden?", ["Prose"], ["Prose", "Sweden", "End"], False),
        ("Does Sweden have more than 8 boats?", [], ["Sweden", "End"], True),
        ("How many boats are there?", ["Prose"], ["Prose", "End"], False),
        ("How many more boats has Norway than Sweden?", ["Prose"], ["Prose", "End"], False),
    ],
)
async def test_a_table_is_asked_after_the_rows_that_the_question_names_unless_the_question_filters(
    question: str, before: list[str], shown: list[str], is_best: bool | None
) -> None:
    (row, *_) = (one for one in library().passages if CELLS in one.metadata and "Norway" in one.page_content)
    update = await run_node(retrieve, state(question), retriever=Retriever(always=[*before, row, "End"]))
    read = [shown_text(one) for one in update["passages"]]
    assert [name for text in read for name in ("Norway", "Sweden", "Prose", "End") if name in text] == shown
    assert (update["table"] or {}).get("is_best") is is_best
    assert update["decided"]["narrowed"] == sum("left_out" in one for one in update["passages"])


@pytest.mark.parametrize("is_named", [True, False])
async def test_where_several_passages_were_of_one_table_of_the_document_named_more_are_read(is_named: bool) -> None:
    rows = [one for one in library().passages if CELLS in one.metadata][:3]
    for one in rows:
        one.metadata |= {"is_named": is_named, "title": "Fish"}
    retriever = Retriever(always=[*rows, "One", "Two", "Three"])
    update = await run_node(retrieve, state("How many boats has Sweden?"), retriever=retriever, k=3)
    assert [shown_text(one) for one in update["passages"]][1:] == (["One", "Two"] if is_named else [])
    assert "Sweden" in shown_text(update["passages"][0])
    assert update["passages"][0]["title"] == "Fish", "as the search gave it"


@pytest.mark.parametrize("changed", [{"length": "long"}, {"standalone": "Who fishes? How many boats has Sweden?"}])
async def test_all_rows_are_read_for_a_long_answer_and_for_a_follow_up(changed: dict[str, Any]) -> None:
    (row, *_) = (one for one in library().passages if CELLS in one.metadata and "Norway" in one.page_content)
    before = state("How many boats has Sweden?", **changed)
    update = await run_node(retrieve, before, retriever=Retriever(always=["Prose", row]))
    assert not any("left_out" in one for one in update["passages"])


async def test_rows_of_a_csv_file_are_passages_already() -> None:
    made = Library()
    found = [as_passage(one) for one in made.passages[:2]]
    documents = {one.page_content: one for one in made.passages}
    assert await narrowed(found, documents, "What of Alder?", made) == found  # type: ignore[arg-type]
