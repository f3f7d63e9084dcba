from typing import Any

import pytest
from langchain_core.documents import Document

from nodes.found_passages import as_passage
from nodes.retrieve import Search, fused, retrieve, searches_of
from retrieval.documents.loaded import CELLS
from retrieval.filters import Filter
from tests.integration.graph.sky import Filtering
from tests.scripted import ScriptedRetriever, document, passage, run_node, state, turn, verdict

SKY, NIGHT = "Why is the sky blue?", "And at night?"
JOINED = f"{SKY} {NIGHT}"
FOLLOW_UP: dict[str, Any] = {"standalone": JOINED, "conversation": [turn(SKY)]}
QUERIES = ["Why?", "blue sky"]


def ids(passages: list[Any]) -> list[str]:
    return [one["id"] for one in passages]


async def test_it_searches_for_the_last_query_and_keeps_k() -> None:
    retriever = ScriptedRetriever({"blue sky": ["a", "b", "c"]})
    update = await run_node(retrieve, state(queries=QUERIES, relevant=["x"]), retriever=retriever, k=2)
    assert ids(update["passages"]) == ["a", "b"]
    assert (update["searched"], update["relevant"], retriever.ks) == (2, [], [2])
    assert update["decided"] == {"query": "blue sky", "retrieved": 2, "named": [], "narrowed": 0}
    nothing = await run_node(retrieve, state(), retriever=ScriptedRetriever(always=[]))
    assert nothing["passages"] == []


@pytest.mark.parametrize(("changes", "searches"), [({}, 1), (FOLLOW_UP, 2)])
async def test_a_filter_is_handed_on_to_every_search(changes: dict[str, Any], searches: int) -> None:
    retriever, within = Filtering(always=["a"]), Filter(sources=("*.pdf",))
    await run_node(retrieve, state(NIGHT, **changes), retriever=retriever, filter=within)
    assert retriever.within == [within] * searches


@pytest.mark.parametrize("nothing", [None, Filter()])
async def test_a_retriever_that_knows_no_filter_is_not_given_one(nothing: Filter | None) -> None:
    update = await run_node(retrieve, state(), retriever=ScriptedRetriever(always=["a"]), filter=nothing)
    assert len(update["passages"]) == 1


def test_a_passage_keeps_where_it_stands_and_a_document_of_any_retriever_will_do() -> None:
    where: dict[str, Any] = {"source": "a.pdf", "page": 3, "similarity": 0.5, "title": "Lease", "heading": "Notice"}
    assert as_passage(document("Text.", **where)) == passage("Text.", **where)
    assert as_passage(Document(page_content="Text.")) == passage("Text.", source="")


async def test_metadata_of_another_library_is_no_table() -> None:
    retriever = ScriptedRetriever(always=[document("Alder: 5", cells="A1:B2"), document("Birch: 6", cells="A2:B3")])
    update = await run_node(retrieve, state("Which is the largest?"), retriever=retriever)
    assert update["table"] is None


async def test_rows_that_either_search_of_a_follow_up_finds_are_of_their_table() -> None:
    rows = [row(n) for n in range(4)]
    asked = {"standalone": f"{SKY} Which is the largest?", "conversation": [turn(SKY)]}
    retriever = ScriptedRetriever({"Which is the largest?": rows[:1], f"{SKY} Which is the largest?": rows})
    update = await run_node(retrieve, state("Which is the largest?", **asked), retriever=retriever)
    assert update["table"] == {"source": "t.csv", "number": 0, "is_best": True}


def row(number: int) -> Document:
    return document(f"name: a{number}", **{CELLS: [(0, number, 0, 4, 8)], "source": "t.csv"})


@pytest.mark.parametrize(
    ("question", "found", "is_best", "read"),
    [
        ("Which is the largest?", [row(1), "b", "c"], True, ["name: a1", "b", "c"]),
        ("Which is the largest?", ["b", row(1), row(2), "c"], True, ["b", "name: a1", "name: a2", "c"]),
        ("Which is the largest?", ["b", row(1), "c"], False, ["b", "c"]),
        ("Which are larger than five?", ["b", row(1), "c"], False, ["b", "name: a1", "c"]),
        ("Why is it blue?", [row(1), "b", "c"], True, ["name: a1", "b", "c"]),
        ("Why is it blue?", ["b", row(1)], None, ["b", "name: a1"]),
    ],
)
async def test_rows_are_not_read_for_what_only_all_rows_answer(
    question: str, found: list[Any], is_best: bool | None, read: list[str]
) -> None:
    update = await run_node(retrieve, state(question), retriever=ScriptedRetriever({question: found}))
    assert (update["table"] or {}).get("is_best") is is_best
    assert ids(update["passages"]) == read


async def test_a_table_of_another_document_than_the_question_names_is_not_read() -> None:
    own, other = (document(one, is_named=one == "own", source="a.txt") for one in ("own", "prose of Bolt"))
    of_bolt = document("Bolt's sales: 9", **{CELLS: [(0, 1, 0, 6, 15)], "source": "b.csv"})
    nameless = document("Total sales: 9", **{CELLS: [(0, 2, 0, 5, 14)], "source": "b.csv"})
    found = [nameless, own, other, of_bolt, "c"]
    update = await run_node(retrieve, state("What are Acme's sales?"), retriever=ScriptedRetriever(always=found), k=3)
    assert ids(update["passages"]) == ["own", "prose of Bolt", "c"]
    assert update["decided"]["named"] == ["a.txt"]
    update = await run_node(
        retrieve, state("What did Acme sell to Bolt?"), retriever=ScriptedRetriever(always=found), k=3
    )
    assert ids(update["passages"]) == ["own", "prose of Bolt", "Bolt's sales: 9"]
    of_both = [own, document("Sum: 8", **{CELLS: [(0, 3, 0, 3, 6)], "source": "Bolt.csv"})]
    of_both += [document("Sum: 9", **{CELLS: [(0, 4, 0, 3, 6)], "source": "a.txt", "is_named": True})]
    retriever = ScriptedRetriever(always=of_both)
    update = await run_node(retrieve, state("What did Acme sell to Bolt?"), retriever=retriever, k=3)
    assert ids(update["passages"]) == ["own", "Sum: 8", "Sum: 9"]
    assert retriever.ks == [3, 12], "more are found than are read"
    acme = document("Total sales: 8", **{CELLS: [(0, 5, 0, 5, 14)], "source": "acme.csv", "is_named": True})
    retriever = ScriptedRetriever(always=[acme, nameless])
    update = await run_node(retrieve, state("total sales of acme"), retriever=retriever, k=3)
    assert ids(update["passages"]) == ["Total sales: 8"], "without capitals the file's name alone is a name"
    found = [nameless, other, of_bolt]  # none is named
    update = await run_node(retrieve, state("What are Acme's sales?"), retriever=ScriptedRetriever(always=found), k=3)
    assert ids(update["passages"]) == [one.page_content for one in found]


async def test_each_passage_of_any_search_is_kept_once() -> None:
    begun = state(queries=QUERIES, passages=[passage("a")], found=[passage("a"), passage("b", page=7)])
    update = await run_node(retrieve, begun, retriever=ScriptedRetriever({"blue sky": ["b", "c", "b"]}))
    assert update["found"] == [passage("a"), passage("b", page=7), passage("c")]


async def test_a_question_begun_by_an_older_version_keeps_the_passages_of_its_last_search() -> None:
    begun = state(queries=QUERIES, passages=[passage("a")])
    del begun["found"]
    update = await run_node(retrieve, begun, retriever=ScriptedRetriever({"blue sky": ["b"]}))
    assert ids(update["found"]) == ["a", "b"]


async def test_what_an_earlier_search_found_relevant_is_kept_before_what_this_one_finds() -> None:
    found = [passage(one) for one in "abc"]
    verdicts = {"a": verdict("irrelevant"), "b": verdict("relevant"), "c": verdict("relevant")}
    begun = state(queries=QUERIES, passages=found, found=found, verdicts=verdicts)
    update = await run_node(retrieve, begun, retriever=ScriptedRetriever({"blue sky": ["c", "d"]}), k=2)
    assert (ids(update["passages"]), update["kept"]) == (["b", "c", "d"], ["b"])
    assert update["decided"]["retrieved"] == 2


@pytest.mark.parametrize(
    ("said", "joined", "weights", "order"),
    [
        ("abcd", "xcyd", [1, 0.3], "cdabxy"),  # what both searches find comes first
        ("abc", "xyz", [1, 0.3], "abcxyz"),  # and then what the heavier one finds
        ("abc", "xyz", [0.3, 1], "xyzabc"),
        ("aba", "b", [1, 0.3], "ba"),  # one found twice counts once
    ],
)
def test_the_passages_of_two_searches_are_fused_by_rank_and_weight(
    said: str, joined: str, weights: list[float], order: str
) -> None:
    ranked = zip((said, joined), weights, strict=True)
    merged = fused([[passage(one, similarity=weight) for one in text] for text, weight in ranked], weights)
    assert ids(merged) == list(order)
    assert [one["similarity"] for one in merged] == [weights[one["id"] not in said] for one in merged]


async def test_a_follow_up_is_searched_for_as_it_was_said_and_with_what_it_leans_on() -> None:
    retriever = ScriptedRetriever({NIGHT: ["moon", "stars", "dark sky"], JOINED: ["blue sky", "dark sky", "air"]})
    update = await run_node(retrieve, state(NIGHT, **FOLLOW_UP), retriever=retriever, k=2)
    assert (retriever.queries, retriever.ks) == ([NIGHT, JOINED], [8, 8])
    assert ids(update["passages"]) == ["dark sky", "moon"]
    assert (update["decided"], update["searched"]) == ({"query": NIGHT, "retrieved": 2, "named": [], "narrowed": 0}, 1)


@pytest.mark.parametrize(
    ("changes", "searches"),
    [
        ({}, [Search(NIGHT, 4)]),
        (FOLLOW_UP, [Search(NIGHT, 16), Search(JOINED, 16, 0.3)]),
        ({**FOLLOW_UP, "standalone": NIGHT}, [Search(NIGHT, 16), Search(JOINED, 16, 0.3)]),
        ({**FOLLOW_UP, "rewritten": True, "queries": [JOINED]}, [Search(JOINED, 4)]),
        ({**FOLLOW_UP, "queries": [NIGHT, "dark sky"], "searched": 1}, [Search("dark sky", 4)]),
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
