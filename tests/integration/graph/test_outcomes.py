"""Every row of the outcome table is reached, by the path that the design draws."""

from dataclasses import replace

import pytest

from graph.builder import build_graph
from models.calibration import Fit, Fits
from run.context import Limits
from tests.integration.graph.sky import AIR, BAD, BROKEN, GOOD, QUESTION, SALT, SEA, ask, critic, nodes_of
from tests.scripted import ScriptedGenerator, ScriptedRetriever, document, services, verdict

ONCE = Limits(rewrites=0, drafts=1)


async def test_a_happy_question_is_grounded_at_its_first_draft() -> None:
    generator, judge = ScriptedGenerator(drafts=[GOOD]), critic()
    final = await ask(generator, judge)
    assert (final["outcome"], final["stop_reason"], final["answer"]) == ("grounded", "accepted", GOOD)
    assert sorted(nodes_of(final)) == sorted(
        ["decide", "retrieve", "grade_documents", "generate", "hallucination_check", "answer_check", "select", "finish"]
    )
    assert [one["quote"] for one in final["citations"]] == [AIR]
    assert final["usage"]["model_calls"] == 6
    generator.done()


@pytest.mark.parametrize(("direct", "rated"), [("I cannot provide specific advice.", "5"), ("It is large.", "1")])
async def test_a_direct_answer_that_declines_or_is_rated_useless_leads_to_the_search(direct: str, rated: str) -> None:
    generator, retriever = ScriptedGenerator(direct=[direct], drafts=[GOOD]), ScriptedRetriever(always=[AIR])
    judge = critic(retrieve="direct", usefulness=lambda text: rated if text == direct else "5")
    final = await ask(generator, judge, retriever)
    assert (final["outcome"], final["stop_reason"], final["answer"]) == ("grounded", "accepted", GOOD)
    assert nodes_of(final)[:6] == ["decide", "direct_generate", "answer_check", "select", "retrieve", "grade_documents"]
    assert retriever.queries == [QUESTION]
    first, second = final["candidates"]
    assert (first["chosen"], second["chosen"]) == (False, True)
    assert first["reason"] == "It was written without documents, and does not give what is asked."


async def test_a_direct_answer_stands_where_the_search_finds_nothing_relevant_and_nothing_is_rewritten() -> None:
    generator, retriever = ScriptedGenerator(direct=["4"]), ScriptedRetriever(always=[SALT])
    final = await ask(generator, critic(retrieve="direct", usefulness="1"), retriever, question="What is 2+2?")
    assert (final["outcome"], final["stop_reason"], final["answer"]) == ("direct", "not_needed", "4")
    assert nodes_of(final)[-3:] == ["retrieve", "grade_documents", "finish"]
    assert len(retriever.queries) == 1


async def test_a_search_in_vain_for_what_the_critic_held_to_be_direct_falls_back_to_that() -> None:
    """What was found near the question overruled it."""
    generator = ScriptedGenerator(direct=["It scatters."])
    judge = critic(retrieve=verdict("direct", {"retrieve": 0.1, "direct": 0.9}))
    retriever = ScriptedRetriever(always=[document(SALT, similarity=0.9)])
    made = services(generator, judge, retriever, limits=Limits(rewrites=0))
    near = Fits(route=Fit(intercept=1.0, coefficients={"log_odds": 0.0}))
    final = await build_graph(replace(made, fits=near)).ainvoke({"question": QUESTION})
    assert (final["outcome"], final["stop_reason"]) == ("direct", "fallback")
    assert final["answer"] == "This is not from your documents, which do not answer the question.\n\nIt scatters."
    generator.done()


@pytest.mark.parametrize("queries", [["blue air"], [QUESTION]], ids=["another query found nothing", "no other query"])
async def test_with_nothing_relevant_it_drafts_from_the_best_passages_if_told_to(queries: list[str]) -> None:
    likely = {AIR: 0.3, SALT: 0.1, SEA: 0.2}
    judge = critic(
        relevance=lambda text: verdict("irrelevant", {"relevant": likely[text], "irrelevant": 1 - likely[text]})
    )
    generator = ScriptedGenerator(queries=queries, drafts=[GOOD])
    retriever = ScriptedRetriever(always=[SALT, SEA, AIR])
    final = await ask(generator, judge, retriever, fallback="passages", limits=Limits(rewrites=1), k=3)
    assert (final["outcome"], final["stop_reason"], final["answer"]) == ("grounded", "fallback", GOOD)
    assert final["relevant"] == []
    assert [one["text"] for one in final["best"]["draft"]["passages"]] == [AIR, SEA, SALT]  # type: ignore[index]
    assert [one["quote"] for one in final["citations"]] == [AIR]
    generator.done()


async def test_claims_of_a_draft_from_irrelevant_passages_are_checked_as_ever() -> None:
    generator = ScriptedGenerator(drafts=[BAD], mended=[GOOD])
    judge = critic({BAD: "no support"}, relevance="irrelevant")
    final = await ask(generator, judge, fallback="passages", limits=Limits(rewrites=0))
    assert (final["outcome"], final["stop_reason"], final["answer"]) == ("grounded", "fallback", GOOD)
    generator = ScriptedGenerator(drafts=[BAD])
    final = await ask(generator, judge, fallback="passages", limits=ONCE)
    assert (final["outcome"], final["stop_reason"]) == ("abstained", "fallback")
    assert final["answer"].startswith("The documents do not answer")


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [("retrieve", "stopped"), ("relevance", "stopped"), ("support", "stopped"), ("usefulness", "grounded")],
)
async def test_a_critic_that_fails_at_one_choice_leaves_what_the_others_say(kind: str, outcome: str) -> None:
    final = await ask(ScriptedGenerator(drafts=[GOOD]), critic(None, **{kind: BROKEN}))
    assert (final["outcome"], final["stop_reason"]) == (outcome, "model_failed")
