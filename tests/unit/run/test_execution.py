import asyncio
from collections import defaultdict

import pytest
from langchain_core.documents import Document

from core.types import Step
from prompts.grade_documents import RELEVANCE
from retrieval.filters import Filter
from run.context import Context, Limits
from run.execution import CachedCritic, Execution, budget_of, current_execution
from run.prefetch import PrefetchingRetriever
from tests.integration.graph.sky import Filtering
from tests.scripted import NotScriptedError, ScriptedCritic, ScriptedRetriever, roomy_budget, state


def cached_critic(critic: ScriptedCritic) -> CachedCritic:
    return CachedCritic(critic, {}, defaultdict(asyncio.Lock)).with_budget(roomy_budget())


async def test_nodes_of_one_execution_share_a_run() -> None:
    execution, now, retriever = Execution(), state(), ScriptedRetriever()
    with execution.current():
        assert current_execution() is execution
        run = execution.shared_by_nodes(now, Context(), retriever)
        assert current_execution().shared_by_nodes(now, Context(), retriever) is run
    assert current_execution().shared_by_nodes(now, Context(), retriever) is not run


async def test_what_was_asked_once_is_not_asked_again() -> None:
    asked = ScriptedCritic(otherwise={"relevance": "relevant"})
    critic = cached_critic(asked)
    first = await critic.choose(RELEVANCE, question="Why?", passage="So.")
    assert await critic.choose(RELEVANCE, passage="So.", question="Why?") == first
    await critic.choose(RELEVANCE, question="Why?", passage="Not so.")
    await critic.choose(RELEVANCE, question="Why not?", passage="So.")
    assert [subject for _, subject in asked.asked] == ["So.", "Not so.", "So."]


async def test_what_is_being_asked_is_awaited() -> None:
    answer = asyncio.Event()

    async def wait(kind: str) -> None:
        await answer.wait()

    slow = ScriptedCritic(otherwise={"relevance": "relevant"}, wait=wait)
    cached = cached_critic(slow)
    both = [asyncio.create_task(cached.choose(RELEVANCE, question="Why?", passage="So.")) for _ in range(2)]
    await asyncio.sleep(0)
    answer.set()
    one, other = await asyncio.gather(*both)
    assert one == other
    assert len(slow.asked) == 1


async def test_a_verdict_that_failed_is_asked_for_again() -> None:
    cached = cached_critic(ScriptedCritic({"So.": ["unknown", "relevant"]}))
    assert (await cached.choose(RELEVANCE, question="Why?", passage="So."))["label"] == "unknown"
    assert (await cached.choose(RELEVANCE, question="Why?", passage="So."))["label"] == "relevant"


class Slow(ScriptedRetriever):
    """Counts its searches, and waits until it is told."""

    def __init__(self) -> None:
        super().__init__(always=["So."])
        self.told, self.ended = asyncio.Event(), 0

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        found = await super().ainvoke(input, k=k)
        try:
            await self.told.wait()
        finally:
            self.ended += 1
        return found


async def prefetched(retriever: ScriptedRetriever, within: Filter | None = None) -> PrefetchingRetriever:
    """The retriever once it has begun to search for why."""
    ahead = PrefetchingRetriever(retriever)
    ahead.prefetch("why", 4, within)
    await asyncio.sleep(0)
    return ahead


async def test_a_prefetched_search_is_made_once() -> None:
    retriever = Slow()
    ahead = await prefetched(retriever)
    assert retriever.queries == ["why"]
    retriever.told.set()
    assert [one.page_content for one in await ahead.ainvoke("why", k=4)] == ["So."]
    await ahead.ainvoke("why", k=4)
    assert retriever.queries == ["why", "why"]


async def test_another_search_than_that_begun_is_made_anew() -> None:
    retriever = Slow()
    retriever.told.set()
    ahead = await prefetched(retriever)
    await ahead.ainvoke("why", k=5)
    await ahead.ainvoke("how", k=4)
    assert sorted(retriever.queries) == ["how", "why", "why"]


async def test_a_prefetched_search_is_used_within_the_same_filter_alone() -> None:
    retriever, some, others = Filtering(always=["So."]), Filter(sources=("a.md",)), Filter(sources=("b.md",))
    ahead = await prefetched(retriever, some)
    await ahead.ainvoke("why", k=4, filter=others)
    await ahead.ainvoke("why", k=4)
    assert retriever.within == [some, others, None]
    await ahead.ainvoke("why", k=4, filter=some.model_copy())
    assert retriever.within == [some, others, None]


async def test_a_filter_of_no_condition_is_none() -> None:
    retriever = ScriptedRetriever(always=["So."])
    await (await prefetched(retriever, Filter())).ainvoke("why", k=4)
    assert retriever.queries == ["why"]


async def test_a_search_that_is_not_needed_is_ended() -> None:
    retriever = Slow()
    (await prefetched(retriever)).cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert retriever.ended == 1


async def test_a_search_that_failed_fails_where_it_is_needed_and_nowhere_else() -> None:
    ahead = await prefetched(ScriptedRetriever())
    with pytest.raises(NotScriptedError):
        await ahead.ainvoke("why", k=4)
    ahead.prefetch("how", 4)
    await asyncio.sleep(0)
    ahead.cancel()


async def test_a_budget_made_anew_counts_the_seconds_of_finished_nodes_and_no_others() -> None:
    path = [Step(node="decide", seconds=40.0, decided={}), Step(node="retrieve", seconds=2.0, decided={})]
    budget = budget_of(state(path=path), Context(limits=Limits(seconds=60)))
    assert 42 <= budget.seconds_spent() < 50
    assert 10 < budget.seconds_left() <= 18
