"""A filter holds for every search of its question, and for no other question's."""

import asyncio
from datetime import date
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from graph.builder import build_graph
from retrieval.filters import Filter
from run.context import Context
from tests.integration.graph.sky import AIR, GOOD, QUESTION, SALT, Filtering, asking, critic, thread
from tests.scripted import ScriptedGenerator, ScriptedRetriever, services

WITHIN = Filter(sources=("*.pdf",), pages=(3, 5), since=date(2024, 1, 1))
FOUND = {QUESTION: [SALT], "air": [AIR]}


def graph(retriever: ScriptedRetriever, **more: Any) -> Any:
    generator = ScriptedGenerator(forever=lambda name, turn: "air" if name == "query" else GOOD)
    return build_graph(services(generator, critic(), retriever), **more)


@pytest.mark.parametrize(
    "context",
    [
        Context(filter=WITHIN),
        Context(mode="always", filter=WITHIN),
        {"filter": {"sources": ["*.pdf"], "pages": [3, 5], "since": "2024-01-01"}},
    ],
)
async def test_every_search_obeys_it_also_as_plain_json_and_none_is_made_twice(context: Any) -> None:
    retriever = Filtering(FOUND)
    final = await graph(retriever).ainvoke(asking(), context=context)
    assert (final["outcome"], retriever.queries) == ("grounded", [QUESTION, "air"])
    assert retriever.within == [WITHIN, WITHIN]


class Mortal(Filtering):
    """Fails once at its second search."""

    died = False

    async def ainvoke(self, input: str, *, k: int, filter: Filter | None = None) -> Any:  # noqa: A002
        if input == "air" and not self.died:
            self.died = True
            raise ConnectionError("gone")
        return await super().ainvoke(input, k=k, filter=filter)


@pytest.mark.parametrize("context", [None, Context(), Context(filter=Filter(sources=("*.csv",)))])
async def test_a_question_that_is_taken_up_again_keeps_its_filter(context: Context | None) -> None:
    saver, first, second = InMemorySaver(), Mortal(FOUND), Filtering(FOUND)
    with pytest.raises(ConnectionError):
        await graph(first, checkpointer=saver).ainvoke(asking(), thread("a"), context=Context(filter=WITHIN))
    final = await graph(second, checkpointer=saver).ainvoke(None, thread("a"), context=context)
    assert final["outcome"] == "grounded"
    assert (second.queries, second.within) == (["air"], [WITHIN])


async def test_a_filter_that_comes_late_does_not_narrow_a_question_begun_without() -> None:
    saver, first, second = InMemorySaver(), Mortal(FOUND), Filtering(FOUND)
    with pytest.raises(ConnectionError):
        await graph(first, checkpointer=saver).ainvoke(asking(), thread("a"))
    await graph(second, checkpointer=saver).ainvoke(None, thread("a"), context=Context(filter=WITHIN))
    assert second.within == [None]


async def test_the_next_question_of_a_thread_has_its_own() -> None:
    retriever = Filtering(always=[AIR])
    shared = graph(retriever, checkpointer=InMemorySaver())
    await shared.ainvoke(asking(), thread("a"), context=Context(filter=WITHIN))
    await shared.ainvoke(asking(), thread("a"))
    assert retriever.within == [WITHIN, None]


async def test_questions_side_by_side_do_not_share_what_they_found() -> None:
    retriever = Filtering(always=[AIR])
    shared = graph(retriever)
    filters = [Filter(pages=(page, page)) for page in range(1, 9)]
    await asyncio.gather(*(shared.ainvoke(asking(), context=Context(filter=one)) for one in filters))
    assert {one.pages for one in retriever.within if one} == {one.pages for one in filters}
    assert len(retriever.within) == 8
