from typing import Any

from core.errors import ModelError
from core.types import Stop
from evaluation.records import Example, Record
from evaluation.self_rag import confidence_of, record_of, self_rag_system
from run.context import Context, Limits
from tests.scripted import (
    ScriptedCritic,
    ScriptedGenerator,
    ScriptedRetriever,
    candidate_of,
    claim,
    document,
    draft,
    services,
    state,
    verdict,
)

QUESTION = "Why is the sky blue?"
AIR = "Air scatters blue light more than red light."
SALT = "Salt lowers the melting point of ice."
GOOD = "Air scatters blue light."
RELEVANT = verdict("relevant", {"relevant": 0.75, "irrelevant": 0.25})
IRRELEVANT = verdict("irrelevant", {"relevant": 0.125, "irrelevant": 0.875})
SUPPORTED = verdict("fully supported", {"fully supported": 0.5, "partially supported": 0.5, "no support": 0.0})


def critic(script: dict[str, Any] | None = None, **otherwise: Any) -> ScriptedCritic:
    usual: dict[str, Any] = {
        "retrieve": verdict("retrieve", {"retrieve": 0.875, "direct": 0.125}),
        "relevance": lambda text: RELEVANT if text == AIR else IRRELEVANT,
        "support": SUPPORTED,
        "usefulness": "5",
    }
    return ScriptedCritic(script or {}, {**usual, **otherwise})


async def ask(
    writer: ScriptedGenerator,
    judge: ScriptedCritic | None = None,
    search: ScriptedRetriever | None = None,
    question: str = QUESTION,
    **settings: Any,
) -> Record:
    search = search or ScriptedRetriever(always=[document(AIR, similarity=0.8), SALT])
    system = self_rag_system(services(writer, judge or critic(), search), Context(**settings))
    return await system.ask(Example(id="1", question=question))


async def test_an_answer_with_all_that_led_to_it() -> None:
    said = await ask(ScriptedGenerator(drafts=[GOOD]))
    assert (said["system"], said["example"], said["question"], said["error"]) == ("self-rag", "1", QUESTION, None)
    assert (said["route"], said["route_score"]) == ("retrieve", 0.875)
    assert (said["outcome"], said["stop_reason"], said["answer"]) == ("grounded", "accepted", GOOD)
    assert said["queries"] == [QUESTION]
    assert [(seen["text"], seen["similarity"], seen["relevance"], seen["relevant"]) for seen in said["seen"]] == [
        (AIR, 0.8, 0.75, True),
        (SALT, None, 0.125, False),
    ]
    assert said["read"] == said["seen"][:1]
    assert said["said"] == [{"text": GOOD, "label": "fully supported", "score": 0.75, "quote": AIR}]
    assert [citation["quote"] for citation in said["citations"]] == [AIR]
    assert said["usefulness"] == 1.0
    assert said["confidence"] == 1.0
    assert said["cost"]["model_calls"] == 6
    assert said["cost"]["seconds"] > 0
    assert [step["node"] for step in said["decisions"]][:3] == ["decide", "retrieve", "grade_documents"]
    assert said["decisions"][1]["retrieved"] == 2


async def test_seen_is_what_the_first_search_found_and_read_what_was_relevant_of_the_last() -> None:
    search = ScriptedRetriever({QUESTION: [SALT], "why blue": [AIR]})
    said = await ask(ScriptedGenerator(drafts=[GOOD], queries=["why blue"]), search=search)
    assert said["queries"] == [QUESTION, "why blue"]
    assert [(seen["text"], seen["relevant"]) for seen in said["seen"]] == [(SALT, False)]
    searches = [step for step in said["decisions"] if step["node"] == "retrieve"]
    assert [step.get("passages") for step in searches] == [None, [AIR]]
    assert [one["text"] for one in said["read"]] == [AIR]
    assert said["answer"] == GOOD


async def test_the_claims_of_a_withheld_draft_are_kept() -> None:
    said = await ask(
        ScriptedGenerator(drafts=[GOOD]), critic(support="no support"), limits=Limits(rewrites=0, drafts=1)
    )
    assert (said["outcome"], said["answer"], said["confidence"]) == ("abstained", "", 0.0)
    assert [(claim["text"], claim["label"], claim["score"]) for claim in said["said"]] == [(GOOD, "no support", 0.0)]


async def test_a_direct_answer_searched_nothing() -> None:
    judge = critic(retrieve=verdict("direct", {"retrieve": 0.25, "direct": 0.75}))
    said = await ask(ScriptedGenerator(direct=["4."]), judge, question="What is 2 + 2?")
    assert (said["route"], said["route_score"], said["outcome"], said["answer"]) == ("direct", 0.25, "direct", "4.")
    assert (said["seen"], said["read"], said["said"], said["confidence"]) == ([], [], [], 0.75)


async def test_a_fallback_was_not_the_route() -> None:
    said = await ask(
        ScriptedGenerator(direct=["So."]),
        search=ScriptedRetriever(always=[SALT]),
        fallback="direct",
        limits=Limits(rewrites=0),
    )
    assert (said["outcome"], said["stop_reason"], said["route"]) == ("direct", "fallback", "retrieve")
    assert ([seen["text"] for seen in said["seen"]], said["read"]) == ([SALT], [])


async def test_a_verdict_that_was_not_given_and_a_forced_route_have_no_score() -> None:
    judge = critic(retrieve="unknown", relevance="unknown")
    said = await ask(ScriptedGenerator(), judge, limits=Limits(rewrites=0))
    assert said["route_score"] is None
    assert {(seen["relevance"], seen["relevant"]) for seen in said["seen"]} == {(None, False)}
    forced = await ask(ScriptedGenerator(drafts=[GOOD]), mode="always")
    assert (forced["route"], forced["route_score"]) == ("retrieve", None)


def test_a_model_that_fails_beside_a_limit_is_an_error_too() -> None:
    stops: list[Stop] = [Stop(reason="limit_calls", failure=None), Stop(reason="model_failed", failure="Gone.")]
    final = state(stops=stops, outcome="stopped", stop_reason="limit_calls", seconds=1.0)
    said = record_of("self-rag", Example(id="1", question=QUESTION), final, [])
    assert (said["error"], said["stop_reason"]) == ("Gone.", "model_failed")


async def test_a_critic_that_is_gone_took_no_route() -> None:
    said = await ask(ScriptedGenerator(), critic(retrieve=ModelError("Gone.")))
    assert (said["error"], said["route"], said["outcome"]) == ("Gone.", None, "stopped")


def test_a_fingerprint_depends_on_name_and_settings() -> None:
    made = services()
    prints = {
        self_rag_system(made, context, name).fingerprint
        for context in (Context(), Context(k=8), Context(limits=Limits(drafts=1)))
        for name in ("self-rag", "other")
    }
    assert len(prints) == 6
    assert self_rag_system(made, Context()).fingerprint == self_rag_system(made, made.completed(None)).fingerprint


def test_confidence_is_that_of_the_answer_where_there_is_one() -> None:
    doubtful = verdict("fully supported", {"fully supported": 0.5, "partially supported": 0.125, "no support": 0.375})
    best = candidate_of(draft(GOOD, [AIR]), [claim(GOOD) | {"verdict": doubtful}])  # type: ignore[list-item]
    assert confidence_of(state(best=best, outcome="grounded")) == 0.625
    assert confidence_of(state(best=best, outcome="partially_grounded")) == 0.625
    assert confidence_of(state(best=best, outcome="abstained")) == 0.0
    assert confidence_of(state(best=None, outcome="stopped")) == 0.0
    assert confidence_of(state(best=candidate_of(draft("4.")), outcome="direct")) == 1.0


async def test_a_record_has_the_answers_that_differ_with_their_sources() -> None:
    other = "Dust scatters red light."
    record = await ask(
        ScriptedGenerator(drafts=[GOOD], brief={other: "Dust"}),
        critic(relevance=RELEVANT, support="fully supported", agreement="differ"),
        ScriptedRetriever(always=[document(AIR, source="a.txt"), document(other, source="b.txt")]),
        question="What scatters blue light?",
    )
    assert record["conflicts"] == [{"answer": GOOD, "sources": ["a.txt"]}, {"answer": "Dust", "sources": ["b.txt"]}]
