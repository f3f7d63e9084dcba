"""Sync and async, streamed and not, with and without a thread: the same graph."""

import asyncio
import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from graph.builder import build_graph
from run.context import Context, Limits
from run.state import SelfRAGState
from tests.integration.graph.sky import AIR, BAD, GOOD, QUESTION, SALT, Fresh, asking, critic, thread
from tests.scripted import CALL_TOKENS, ScriptedCritic, ScriptedGenerator, ScriptedRetriever, services


def graph(
    generator: ScriptedGenerator | None = None,
    judge: ScriptedCritic | None = None,
    retriever: ScriptedRetriever | None = None,
    **more: Any,
) -> Any:
    found = retriever or ScriptedRetriever(always=[AIR, SALT])
    return build_graph(services(generator or ScriptedGenerator(drafts=[GOOD] * 3), judge or critic(), found), **more)


STEPS = ["decide", "retrieve", "grade_documents", "generate", "select", "finish"]


async def test_a_stream_tells_the_nodes_in_order_also_synchronously_while_a_loop_runs_as_in_a_notebook() -> None:
    told = [node async for update in graph().astream(asking(), stream_mode="updates") for node in update]
    for nodes in (told, [node for update in graph().stream(asking(), stream_mode="updates") for node in update]):
        assert ([node for node in nodes if not node.endswith("_check")], len(nodes)) == (STEPS, 8)


async def test_a_graph_that_nobody_holds_gives_up_its_models() -> None:
    retriever = ScriptedRetriever(always=[AIR, SALT])
    made = graph(retriever=retriever, generator=ScriptedGenerator(drafts=[GOOD] * 2))
    assert made.invoke(asking())["outcome"] == (await made.ainvoke(asking()))["outcome"] == "grounded"
    gone = weakref.ref(retriever)
    del made, retriever
    gc.collect()
    assert gone() is None


def test_sync_from_many_threads() -> None:
    """Each question has a budget of its own, of exactly what it needs, and its checks run side by side there too."""
    limits = Limits(model_calls=6, tokens=6 * CALL_TOKENS)
    shared, context = graph(ScriptedGenerator(drafts=[GOOD] * 8)), Context(limits=limits)
    with ThreadPoolExecutor(8) as pool:
        finals = list(pool.map(lambda _: shared.invoke(asking(), context=context), range(8)))
    assert [final["stop_reason"] for final in finals] == ["accepted"] * 8
    assert [final["usage"]["model_calls"] for final in finals] == [6] * 8


@pytest.mark.parametrize("sync", [True, False])
async def test_counters_and_candidates_start_anew_on_a_thread_with_history(sync: bool) -> None:
    generator = ScriptedGenerator([BAD] * 3 + [GOOD], mended=[BAD] * 3, queries=["one", "two"], direct=["4"])
    support: Any = lambda text: "no support" if text == BAD else "fully supported"  # noqa: E731
    judge = critic({"What is 2+2?": "direct"}, relevance="relevant", support=support)
    shared = graph(generator, judge, Fresh(), checkpointer=InMemorySaver())

    async def run(question: str) -> dict[str, Any]:
        if sync:
            return cast("dict[str, Any]", shared.invoke(asking(question), thread("a")))
        return cast("dict[str, Any]", await shared.ainvoke(asking(question), thread("a")))

    first = await run(QUESTION)
    assert (first["outcome"], first["queries"]) == ("abstained", [QUESTION, "one", "two"])
    second = await run("Why is the sky so blue?")
    assert (second["outcome"], second["stop_reason"], second["answer"]) == ("grounded", "accepted", GOOD)
    assert second["queries"] == ["Why is the sky so blue?"]
    assert second["usage"]["model_calls"] == 6
    assert [step["node"] for step in second["path"]].count("decide") == 1
    assert [len(second[key]) for key in ("stops", "candidates", "found")] == [0, 1, 2]
    third = await run("What is 2+2?")
    assert (third["outcome"], third["passages"], third["citations"]) == ("direct", [], [])
    assert third["run"] != second["run"]


async def test_a_question_that_was_cancelled_leaves_its_thread_usable() -> None:
    waiting = asyncio.Event()

    async def forever(kind: str) -> None:
        if kind == "relevance" and not waiting.is_set():
            waiting.set()
            await asyncio.sleep(3600)

    judge = critic()
    judge.wait = forever
    shared = graph(judge=judge, checkpointer=InMemorySaver())
    task = asyncio.ensure_future(shared.ainvoke(asking(), thread("a")))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    final = await shared.ainvoke(asking("Why blue?"), thread("a"))
    assert (final["outcome"], final["queries"]) == ("grounded", ["Why blue?"])


async def test_a_threads_state_is_changed_by_hand_and_its_config_returned() -> None:
    shared = graph(checkpointer=InMemorySaver())
    await shared.ainvoke(asking(), thread("a"))
    changed = await shared.aupdate_state(thread("a"), {"answer": "By hand."}, as_node="finish")
    assert (await shared.aget_state(changed)).values["answer"] == "By hand."
    changed = shared.update_state(thread("a"), {"answer": "Again."}, as_node="finish")
    assert shared.get_state(changed).values["answer"] == "Again."


def meeting(kinds: set[str], parties: int) -> Callable[[str], Any]:
    """A wait that ends only when so many calls of these kinds are under way at once."""
    barrier = asyncio.Barrier(parties)

    async def wait(kind: str) -> None:
        if kind in kinds:
            async with asyncio.timeout(10):
                await barrier.wait()

    return wait


@pytest.mark.parametrize(
    ("strategy", "kinds", "parties"),
    [
        ("combined", {"relevance"}, 2),
        ("combined", {"support"}, 2),
        ("combined", {"support", "usefulness"}, 3),
        ("per-passage", {"draft"}, 2),
    ],
)
async def test_what_can_run_side_by_side_does(strategy: Any, kinds: set[str], parties: int) -> None:
    wait = meeting(kinds, parties)
    judge = critic(relevance="relevant")
    judge.wait = wait
    generator = ScriptedGenerator(drafts=[f"{GOOD} {AIR}", "Salt lowers the melting point."], wait=wait)
    final = await graph(generator, judge).ainvoke(asking(), context=Context(strategy=strategy))
    assert final["outcome"] == "grounded"


async def test_every_key_that_a_node_returns_is_declared() -> None:
    """LangGraph drops an unknown key in silence."""
    generator = ScriptedGenerator(drafts=[BAD], mended=[GOOD], queries=["one"], direct=["4"])
    judge = critic({"What is 2+2?": "direct"}, support=lambda text: "no support" if text == BAD else "fully supported")
    declared = set(SelfRAGState.__annotations__)
    seen: set[str] = set()
    made = graph(generator, judge)
    for question in (QUESTION, "What is 2+2?"):
        async for update in made.astream(asking(question), stream_mode="updates"):
            ((node, values),) = update.items()
            assert set(values) <= declared, node
            seen |= set(values)
    assert declared - seen == {"question"}
