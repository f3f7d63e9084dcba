"""Every draft of a question and every passage of its searches are in its result, whatever became of them."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from langgraph.checkpoint.memory import InMemorySaver

from app.results.result import Result, result_of
from core.types import Verdict
from graph.builder import build_graph
from run.state import SelfRAGState
from tests.integration.app.contract import keep_to_the_contract
from tests.integration.graph.sky import AIR, BAD, BROKEN, GOOD, QUESTION, SALT, SEA, Fresh, ask, critic, thread
from tests.scripted import ScriptedCritic, ScriptedGenerator, ScriptedRetriever, services

UNSUPPORTED = "One of its claims is not supported: “Blue light is scattered by red air”."
NEW_KEYS = {"found", "candidates"}


def shown(final: SelfRAGState) -> Result:
    """The result, which keeps to the contract of JSON."""
    result = result_of(final)
    keep_to_the_contract(result.model_dump(mode="json"))
    return result


def strict(**otherwise: Any) -> ScriptedCritic:
    """Supports every claim but ``BAD``."""
    return critic(support=lambda text: "no support" if text == BAD else "fully supported", **otherwise)


async def test_the_drafts_of_all_rounds_and_queries_are_listed() -> None:
    generator = ScriptedGenerator(drafts=[BAD, GOOD], mended=[f"{BAD} {AIR}"], queries=["air"])
    result = shown(await ask(generator, strict(), Fresh()))
    assert [(one.round, one.text, one.chosen) for one in result.candidates] == [
        (1, BAD, False),
        (2, f"{BAD} {AIR}", False),
        (3, GOOD, True),
    ]
    assert [one.reason for one in result.candidates[:2]] == [UNSUPPORTED, UNSUPPORTED]
    assert [one.id for one in result.passages] == [f"{AIR} {QUESTION}", SALT, f"{AIR} air"]
    assert result.used_retrieval


async def test_the_drafts_of_each_passage_are_listed_in_one_round() -> None:
    irrelevant: Any = Verdict(label="irrelevant", probabilities={"relevant": 0.2, "irrelevant": 0.8}, reason=None)
    sure: Any = Verdict(label="relevant", probabilities={"relevant": 0.9, "irrelevant": 0.1}, reason=None)
    less: Any = Verdict(label="relevant", probabilities={"relevant": 0.6, "irrelevant": 0.4}, reason=None)
    judge = strict(relevance=lambda text: {AIR: sure, SEA: less, SALT: irrelevant}[text])
    retriever = ScriptedRetriever(always=[SALT, SEA, AIR])
    result = shown(await ask(ScriptedGenerator(drafts=[SEA, GOOD]), judge, retriever, strategy="per-passage"))
    assert [(one.round, one.passages, one.chosen) for one in result.candidates] == [(1, [SEA], False), (1, [AIR], True)]
    assert result.candidates[0].reason == "It ranks below another candidate by score: 2.100 against 2.400."
    assert [(one.id, one.verdict and one.verdict["label"]) for one in result.passages] == [
        (SALT, "irrelevant"),
        (SEA, "relevant"),
        (AIR, "relevant"),
    ]


async def test_a_redraft_that_fails_does_not_list_the_first_draft_twice() -> None:
    result = shown(await ask(ScriptedGenerator(drafts=[f"{GOOD} {BAD}"], mended=[BROKEN]), strict()))
    assert [one.text for one in result.candidates] == [f"{GOOD} {BAD}"]
    assert (result.outcome, result.stop_reason) == ("partially_grounded", "model_failed")


async def test_scoring_support_first_ranks_by_labels_and_rating() -> None:
    judge = strict(relevance=lambda text: "irrelevant" if text == SALT else "relevant")
    retriever = ScriptedRetriever(always=[SALT, SEA, AIR])
    generator = ScriptedGenerator(drafts=[SEA, GOOD])
    result = shown(await ask(generator, judge, retriever, strategy="per-passage", scoring="support-first"))
    assert [one.score for one in result.candidates] == [20, 20]
    assert [one.chosen for one in result.candidates] == [True, False]


async def test_a_thread_forgets_the_candidates_of_its_last_question() -> None:
    made = services(ScriptedGenerator(drafts=[GOOD, AIR]), critic(), ScriptedRetriever(always=[AIR, SALT]))
    graph = build_graph(made, InMemorySaver())
    for question in (QUESTION, "Why blue?"):
        final = await graph.ainvoke(cast("SelfRAGState", {"question": question}), thread("a"))
    assert [len(final[key]) for key in ("candidates", "found")] == [1, 2]


class OlderVersion(InMemorySaver):
    """Keeps what a version without candidates kept."""

    kept = False

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if not self.kept:
            values = {key: one for key, one in checkpoint["channel_values"].items() if key not in NEW_KEYS}
            versions = {key: one for key, one in checkpoint["channel_versions"].items() if key not in NEW_KEYS}
            checkpoint = {**checkpoint, "channel_values": values, "channel_versions": versions}
            new_versions = {key: one for key, one in new_versions.items() if key not in NEW_KEYS}
        return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        kept = writes if self.kept else [one for one in writes if one[0] not in NEW_KEYS]
        await super().aput_writes(config, kept, task_id, task_path)


async def test_a_run_of_an_older_version_is_resumed_without_what_that_did_not_keep() -> None:
    saver, dying = OlderVersion(), asyncio.Event()

    async def dies_at_the_redraft(kind: str) -> None:
        if kind == "mend" and not dying.is_set():
            dying.set()
            await asyncio.sleep(3600)

    def life(**script: Any) -> Any:
        generator = ScriptedGenerator(**script, wait=dies_at_the_redraft)
        return build_graph(services(generator, strict(), ScriptedRetriever(always=[AIR, SALT])), saver)

    first = life(drafts=[BAD], mended=[GOOD])
    task = asyncio.ensure_future(first.ainvoke({"question": QUESTION}, thread("a"), durability="sync"))
    await dying.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    saver.kept = True
    second = life(mended=[GOOD])
    assert not NEW_KEYS & set((await second.aget_state(thread("a"))).values)
    result = shown(await second.ainvoke(None, thread("a"), durability="sync"))
    assert (result.outcome, result.answer) == ("grounded", GOOD)
    assert [(one.text, one.chosen) for one in result.candidates] == [(BAD, False), (GOOD, True)]
    assert [one.id for one in result.passages] == [AIR, SALT]
