from typing import Any

import pytest
from langchain_core.documents import Document

from nodes.retrieve import Search, as_passage, fused, retrieve, searches_of
from retrieval.filters import Filter
from tests.integration.graph.sky import Filtering
from tests.scripted import ScriptedRetriever, document, passage, run_node, state, turn, verdict


async def test_it_searches_for_the_last_query_and_keeps_k() -> None:
    retriever = ScriptedRetriever({"blue sky": ["a", "b", "c"]})
    begun = state(queries=["Why?", "blue sky"], relevant=["x"])
    update = await run_node(retrieve, begun, retriever=retriever, k=2)
    assert [passage["text"] for passage in update["passages"]] == ["a", "b"]
    assert (update["searched"], update["relevant"], retriever.ks) == (2, [], [2])
    assert update["decided"] == {"query": "blue sky", "retrieved": 2}


async def test_a_filter_is_handed_on() -> None:
    retriever, within = Filtering(always=["a"]), Filter(sources=("*.pdf",))
    await run_node(retrieve, state(), retriever=retriever, filter=within)
    assert retriever.within == [within]


@pytest.mark.parametrize("nothing", [None, Filter()])
async def test_a_retriever_that_knows_no_filter_is_not_given_one(nothing: Filter | None) -> None:
    update = await run_node(retrieve, state(), retriever=ScriptedRetriever(always=["a"]), filter=nothing)
    assert len(update["passages"]) == 1


async def test_nothing_found_is_no_error() -> None:
    assert (await run_node(retrieve, state(), retriever=ScriptedRetriever(always=[])))["passages"] == []


def test_a_passage_keeps_where_it_stands() -> None:
    passage = as_passage(document("Text.", source="a.pdf", page=3, similarity=0.5))
    assert passage == {"id": "Text.", "text": "Text.", "source": "a.pdf", "page": 3, "row": None, "similarity": 0.5}


async def test_each_passage_of_any_search_is_kept_once() -> None:
    retriever = ScriptedRetriever({"blue sky": ["b", "c", "b"]})
    begun = state(queries=["Why?", "blue sky"], passages=[passage("a")], found=[passage("a"), passage("b", page=7)])
    update = await run_node(retrieve, begun, retriever=retriever)
    assert [(one["id"], one["page"]) for one in update["found"]] == [("a", None), ("b", 7), ("c", None)]


async def test_a_question_begun_by_an_older_version_keeps_the_passages_of_its_last_search() -> None:
    begun = state(queries=["Why?", "blue sky"], passages=[passage("a")])
    del begun["found"]
    update = await run_node(retrieve, begun, retriever=ScriptedRetriever({"blue sky": ["b"]}))
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
    update = await run_node(retrieve, begun, retriever=ScriptedRetriever({"blue sky": ["c", "d"]}), k=2)
    assert [one["id"] for one in update["passages"]] == ["b", "c", "d"]
    assert update["kept"] == ["b"]
    assert update["decided"]["retrieved"] == 2


SKY, NIGHT = "Why is the sky blue?", "And at night?"
JOINED = f"{SKY} {NIGHT}"
EARLIER = [turn(SKY)]


def ids(passages: list[Any]) -> list[str]:
    return [one["id"] for one in passages]


def test_a_passage_that_both_searches_find_comes_before_what_one_finds() -> None:
    said, with_context = [passage(one) for one in "abcd"], [passage(one) for one in "xcyd"]
    assert ids(fused([said, with_context], [1, 0.3])) == ["c", "d", "a", "b", "x", "y"]


def test_what_the_heavier_search_finds_comes_before_what_the_lighter_one_finds() -> None:
    said, with_context = [passage(one) for one in "abc"], [passage(one) for one in "xyz"]
    assert ids(fused([said, with_context], [1, 0.3])) == ["a", "b", "c", "x", "y", "z"]
    assert ids(fused([said, with_context], [0.3, 1])) == ["x", "y", "z", "a", "b", "c"]


def test_a_passage_found_twice_counts_once_and_keeps_its_first_similarity() -> None:
    said = [passage("a", similarity=0.4), passage("b", similarity=0.3), passage("a", similarity=0.1)]
    merged = fused([said, [passage("b", similarity=0.9)]], [1, 0.3])
    assert [(one["id"], one["similarity"]) for one in merged] == [("b", 0.3), ("a", 0.4)]


async def test_a_follow_up_is_searched_for_as_it_was_said_and_with_what_it_leans_on() -> None:
    retriever = ScriptedRetriever({NIGHT: ["moon", "stars", "dark sky"], JOINED: ["blue sky", "dark sky", "air"]})
    begun = state(NIGHT, standalone=JOINED, conversation=EARLIER)
    update = await run_node(retrieve, begun, retriever=retriever, k=2)
    assert (retriever.queries, retriever.ks) == ([NIGHT, JOINED], [8, 8])
    assert ids(update["passages"]) == ["dark sky", "moon"]
    assert update["decided"] == {"query": NIGHT, "retrieved": 2}
    assert update["searched"] == 1


async def test_both_searches_of_a_follow_up_have_the_filter() -> None:
    retriever, within = Filtering(always=["a"]), Filter(sources=("*.pdf",))
    begun = state(NIGHT, standalone=JOINED, conversation=EARLIER)
    await run_node(retrieve, begun, retriever=retriever, filter=within)
    assert retriever.within == [within, within]


@pytest.mark.parametrize(
    ("changes", "searches"),
    [
        ({}, [Search(NIGHT, 4)]),
        ({"standalone": JOINED, "conversation": EARLIER}, [Search(NIGHT, 16), Search(JOINED, 16, 0.3)]),
        ({"standalone": NIGHT, "conversation": EARLIER}, [Search(NIGHT, 16), Search(JOINED, 16, 0.3)]),
        ({"standalone": JOINED, "conversation": EARLIER, "rewritten": True, "queries": [JOINED]}, [Search(JOINED, 4)]),
        (
            {"standalone": JOINED, "conversation": EARLIER, "queries": [NIGHT, "dark sky"], "searched": 1},
            [Search("dark sky", 4)],
        ),
    ],
)
def test_in_a_conversation_the_first_search_is_double_unless_the_question_was_rewritten(
    changes: dict[str, Any], searches: list[Search]
) -> None:
    assert searches_of(state(NIGHT, **changes), 4) == searches


def test_a_question_begun_by_an_older_version_is_searched_for_alone() -> None:
    begun = state(NIGHT)
    for key in ("standalone", "rewritten", "conversation", "given_standalone"):
        del begun[key]  # type: ignore[misc]
    assert searches_of(begun, 4) == [Search(NIGHT, 4)]
