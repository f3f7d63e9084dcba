import pytest
from langchain_core.documents import Document

from nodes.retrieve import as_passage, retrieve
from retrieval.filters import Filter
from tests.integration.graph.sky import Filtering
from tests.scripted import ScriptedRetriever, document, passage, roomy_budget, runtime, services, state, verdict


async def test_it_searches_for_the_last_query_and_keeps_k() -> None:
    retriever = ScriptedRetriever({"blue sky": ["a", "b", "c"]})
    begun = state(queries=["Why?", "blue sky"], relevant=["x"])
    update = await retrieve(begun, services(retriever=retriever, budget=roomy_budget()), runtime(k=2))
    assert [passage["text"] for passage in update["passages"]] == ["a", "b"]
    assert (update["searched"], update["relevant"], retriever.ks) == (2, [], [2])
    assert update["decided"] == {"query": "blue sky", "retrieved": 2}


async def test_a_filter_is_handed_on() -> None:
    retriever, within = Filtering(always=["a"]), Filter(sources=("*.pdf",))
    await retrieve(state(), services(retriever=retriever, budget=roomy_budget()), runtime(filter=within))
    assert retriever.within == [within]


@pytest.mark.parametrize("nothing", [None, Filter()])
async def test_a_retriever_that_knows_no_filter_is_not_given_one(nothing: Filter | None) -> None:
    retriever = ScriptedRetriever(always=["a"])
    update = await retrieve(state(), services(retriever=retriever, budget=roomy_budget()), runtime(filter=nothing))
    assert len(update["passages"]) == 1


async def test_nothing_found_is_no_error() -> None:
    retriever = ScriptedRetriever(always=[])
    update = await retrieve(state(), services(retriever=retriever, budget=roomy_budget()), runtime())
    assert update["passages"] == []


def test_a_passage_keeps_where_it_stands() -> None:
    passage = as_passage(document("Text.", source="a.pdf", page=3, similarity=0.5))
    assert passage == {
        "id": "Text.",
        "text": "Text.",
        "source": "a.pdf",
        "page": 3,
        "row": None,
        "similarity": 0.5,
    }


async def test_each_passage_of_any_search_is_kept_once() -> None:
    retriever = ScriptedRetriever({"blue sky": ["b", "c", "b"]})
    begun = state(queries=["Why?", "blue sky"], passages=[passage("a")], found=[passage("a"), passage("b", page=7)])
    update = await retrieve(begun, services(retriever=retriever, budget=roomy_budget()), runtime())
    assert [(one["id"], one["page"]) for one in update["found"]] == [("a", None), ("b", 7), ("c", None)]


async def test_a_question_begun_by_an_older_version_keeps_the_passages_of_its_last_search() -> None:
    begun = state(queries=["Why?", "blue sky"], passages=[passage("a")])
    del begun["found"]
    retriever = ScriptedRetriever({"blue sky": ["b"]})
    update = await retrieve(begun, services(retriever=retriever, budget=roomy_budget()), runtime())
    assert [one["id"] for one in update["found"]] == ["a", "b"]


def test_a_passage_keeps_its_title_and_heading() -> None:
    found = as_passage(document("Text.", title="Lease", heading="Notice"))
    assert (found["title"], found["heading"]) == ("Lease", "Notice")


def test_a_document_of_any_retriever_will_do() -> None:
    assert as_passage(Document(page_content="Text.")) == {
        "id": "Text.",
        "text": "Text.",
        "source": "",
        "page": None,
        "row": None,
        "similarity": None,
    }


async def test_what_an_earlier_search_found_relevant_is_kept_before_what_this_one_finds() -> None:
    found = [passage("a"), passage("b"), passage("c")]
    verdicts = {"a": verdict("irrelevant"), "b": verdict("relevant"), "c": verdict("relevant")}
    begun = state(queries=["Why?", "blue sky"], passages=found, found=found, verdicts=verdicts)
    retriever = ScriptedRetriever({"blue sky": ["c", "d"]})
    update = await retrieve(begun, services(retriever=retriever, budget=roomy_budget()), runtime(k=2))
    assert [one["id"] for one in update["passages"]] == ["b", "c", "d"]
    assert update["kept"] == ["b"]
    assert update["decided"]["retrieved"] == 2
