import asyncio
import math
from typing import Any

import pytest

from models.calibration import Fit, Fits
from models.chat import Chat
from models.critic import Critic
from nodes.decide import decide
from nodes.retrieve import retrieve
from prompts.decide import RETRIEVE
from run.context import Thresholds
from run.prefetch import PrefetchingRetriever
from run.state import SelfRAGState
from tests.scripted import (
    NotScriptedError,
    ScriptedChat,
    ScriptedCritic,
    ScriptedRetriever,
    document,
    reply,
    run_node,
    state,
    turn,
    verdict,
)

SKY, NIGHT = "Why is the sky blue?", "Does it turn black?"
JOINED = f"{SKY} {NIGHT}"
E42 = "What does the message E42 mean?"
MATH = verdict("direct", {"retrieve": 0.1, "direct": 0.9})
NEAR = Fits(route=Fit(intercept=-4.0, coefficients={"log_odds": 1.0, "similarity": 6.0, "coverage": 3.0}))


def holding(route: Any) -> ScriptedCritic:
    return ScriptedCritic(otherwise={"retrieve": route})


def replying(*top: tuple[str, float]) -> tuple[Critic, ScriptedChat]:
    """The real critic over a model with these replies, which can be asked once."""
    model = ScriptedChat(script=[reply(top[0][0], top=[(word, math.log(p)) for word, p in top])])
    return Critic(Chat(lambda: model, "scripted")), model


async def near(
    similarity: float | None, critic: Any = None, asked: str | SelfRAGState = E42, text: str = E42, **settings: Any
) -> Any:
    """The update where a search finds one passage that is so similar."""
    found = PrefetchingRetriever(ScriptedRetriever(always=[document(text, similarity=similarity)]))
    begun = state(asked) if isinstance(asked, str) else asked
    return await run_node(decide, begun, critic=critic or holding(MATH), retriever=found, **settings)


@pytest.mark.parametrize(("label", "route"), [("retrieve", "retrieve"), ("direct", "direct"), ("unknown", "retrieve")])
async def test_the_critic_chooses_the_route_and_unknown_retrieves(label: str, route: str) -> None:
    update = await run_node(decide, state("What is 2+2?"), critic=ScriptedCritic({"What is 2+2?": label}))
    assert (update["route"], update["decision"]) == (route, verdict(label))
    assert update["decided"] == {"route": route, "verdict": update["decision"]}


@pytest.mark.parametrize(
    ("yes", "no", "threshold", "route"),
    [
        (0.9, 0.1, 0.5, "retrieve"),
        (0.1, 0.9, 0.5, "direct"),
        (0.9, 0.1, 0.9, "retrieve"),
        (0.9, 0.1, 0.91, "direct"),
        (0.3, 0.1, 0.75, "retrieve"),  # 0.75 of both: the rest of the mass is on no label
        (0.3, 0.1, 0.76, "direct"),
    ],
)
async def test_the_threshold_is_one_on_probabilities_normalised_over_the_labels(
    yes: float, no: float, threshold: float, route: str
) -> None:
    """A ratio of log-probabilities would be 0.04 for the first of these, and 0.96 for the second."""
    critic, _ = replying(("search", yes), ("math", no))
    update = await run_node(decide, state(), critic=critic, thresholds=Thresholds(retrieve=threshold - 1e-9))
    assert (update["route"], update["decision"]["label"], update["decision"]["reason"]) == (route, route, None)
    assert RETRIEVE.score(update["decision"]) == pytest.approx(yes / (yes + no))


@pytest.mark.parametrize(("mode", "route"), [("always", "retrieve"), ("never", "direct")])
async def test_a_mode_decides_without_the_critic_and_is_the_reason(mode: str, route: str) -> None:
    explained, plain = [await run_node(decide, state(), mode=mode, explain=explain) for explain in (True, False)]
    assert (plain["route"], plain["decided"]) == (route, {"route": route, "mode": mode})
    assert explained["decided"]["reason"].startswith(f"Mode {mode} ")


@pytest.mark.parametrize(
    ("top", "threshold", "reason"),
    [
        ([("search", 0.9), ("math", 0.1)], 0.5, RETRIEVE.reasons["retrieve"]),
        ([("math", 0.9), ("search", 0.1)], 0.5, RETRIEVE.reasons["math"]),
        ([("search", 0.4), ("edit", 0.35), ("chat", 0.25)], 0.5, RETRIEVE.reasons["edit"]),
        ([("edit", 0.6), ("search", 0.4)], 0.3, "it needs the documents, 0.400, reaches the threshold of 0.300."),
        ([("search", 0.6), ("edit", 0.4)], 0.7, "it needs the documents, 0.600, is below the threshold of 0.700."),
    ],
)
async def test_the_reason_of_a_route_is_the_kind_of_request_or_the_threshold(
    top: list[tuple[str, float]], threshold: float, reason: str
) -> None:
    critic, model = replying(*top)
    asked, given = state("Correct: it am so."), Thresholds(retrieve=threshold)
    update = await run_node(decide, asked, critic=critic, explain=True, thresholds=given)
    assert update["decision"]["reason"].endswith(reason)
    assert update["decision"].keys() == {"label", "probabilities", "reason"}
    model.done()  # with one call


async def test_an_unknown_route_has_a_reason() -> None:
    update = await run_node(decide, state(), critic=holding("unknown"), explain=True)
    assert update["decision"] == verdict("unknown", reason="The critic gave no verdict.")


@pytest.mark.parametrize(
    ("similarity", "fits", "route"),
    [(0.9, NEAR, "retrieve"), (0.1, NEAR, "direct"), (0.9, Fits(), "direct"), (None, NEAR, "direct")],
)
async def test_a_question_that_the_documents_come_near_is_searched_for(
    similarity: float | None, fits: Fits, route: str
) -> None:
    text = f"{E42} It means that the lid is open."
    assert (await near(similarity, text=text, fits=fits))["route"] == route


async def test_a_search_that_fails_leaves_the_decision_to_the_critic_and_fails_where_it_is_needed() -> None:
    retriever = PrefetchingRetriever(ScriptedRetriever())
    update = await run_node(decide, state(), critic=holding(MATH), retriever=retriever, fits=NEAR)
    assert update["route"] == "direct"
    with pytest.raises(NotScriptedError):
        await retriever.ainvoke("Why is the sky blue?", k=4)


async def test_the_word_that_the_critic_replied_is_no_reason_where_the_documents_overrule_it() -> None:
    update = await near(0.9, holding({**MATH, "reply": "math"}), fits=NEAR, explain=True)
    assert update["decision"]["reason"] == RETRIEVE.reasons["retrieve"]


@pytest.mark.parametrize(
    ("question", "similarity", "asked"),
    [
        (E42, 0.5, 0),
        (E42, 0.49, 1),
        (E42, None, 1),
        ("Translate into German: The lid is open.", 0.9, 1),
        ("Say “the lid is open” more politely.", 0.9, 1),
        ("Shorten this.\nThe lid is open.", 0.9, 1),
        ("翻译：盖子是打开的。", 0.9, 1),
        ("The lid is open. " * 12, 0.9, 1),
        # of a follow-up only what was said counts, not the question that it is joined to
        (state(NIGHT, standalone=f"{SKY * 20} {NIGHT}"), 0.9, 0),
    ],
)
async def test_only_for_a_short_question_very_near_to_a_passage_the_critic_is_not_asked(
    question: Any, similarity: float | None, asked: int
) -> None:
    """A message that brings the text it is about is near to a library that has the text."""
    critic = holding(MATH)
    update = await near(similarity, critic, question, "The lid is open.", thresholds=Thresholds(near=0.5))
    assert (len(critic.asked), update["route"]) == (asked, "direct" if asked else "retrieve")
    if not asked:
        assert update["decision"]["reason"] == f"A passage comes near to the question: cosine {similarity:.2f}."


@pytest.mark.parametrize(
    ("changes", "asked"),
    [({"standalone": JOINED}, 1), ({"standalone": JOINED, "rewritten": True, "queries": [JOINED]}, 0)],
)
async def test_the_question_that_a_follow_up_is_joined_to_does_not_bring_it_near_to_the_documents(
    changes: dict[str, Any], asked: int
) -> None:
    found = {NIGHT: [document("Salt.", similarity=0.1)], JOINED: [document("Air.", similarity=0.9)]}
    critic, retriever = holding(MATH), PrefetchingRetriever(ScriptedRetriever(found))
    begun = state(NIGHT, **changes)
    await run_node(decide, begun, critic=critic, retriever=retriever, thresholds=Thresholds(near=0.5))
    assert len(critic.asked) == asked


async def test_a_question_that_brings_its_premises_is_direct_whatever_the_library_holds() -> None:
    """The library speaks of pumps, so that a passage comes very near."""
    question = "If every pump is a machine and Bella is a pump, is Bella a machine?"
    update = await near(0.9, ScriptedCritic(), question, fits=NEAR, thresholds=Thresholds(near=0.5))
    assert (update["route"], update["decision"]["label"]) == ("direct", "direct")


@pytest.mark.parametrize(
    ("first", "fallback", "left"),
    [
        (MATH, "abstain", {"fallback": "direct"}),
        (MATH, "passages", {}),
        (verdict("retrieve", {"retrieve": 0.9, "direct": 0.1}), "abstain", {}),
    ],
)
async def test_what_the_critic_held_to_be_direct_falls_back_to_that(first: Any, fallback: Any, left: Any) -> None:
    update = await near(0.9, holding(first), fits=NEAR, fallback=fallback)
    assert update["route"] == "retrieve"
    assert {key: update[key] for key in update.keys() & {"fallback"}} == left


@pytest.mark.parametrize(
    ("asked", "word", "route"),
    [
        ("I took 900 euros out on the 3rd. Can I take out another 500?", "edit", "retrieve"),
        ("I took 900 euros out on the 3rd. Can I take out another 500?", "math", "direct"),
        ("Is this right: I has took 900 euros out?", "edit", "direct"),
        ("Is 'I has took 900 euros' right?", "edit", "direct"),
        ("Is the tenants' garden part of the neighbours' land?", "edit", "retrieve"),
        ("Make it shorter.", "edit", "direct"),
        ("I took 900 euros out on the 3rd. Can I take out another 500?", "chat", "retrieve"),
        ("I talked to you for hours. Do you never get tired?", "chat", "direct"),
        ("How is it going today?", "chat", "direct"),
        (state("Can you make it shorter?", conversation=[turn("Who are you?", "A program.")]), "edit", "direct"),
    ],
)
async def test_a_category_that_the_question_rules_out_is_not_believed(asked: Any, word: str, route: str) -> None:
    critic, _ = replying((word, 0.8), ("search", 0.2))
    update = await near(0.2, critic, asked)
    assert update["route"] == route


async def test_a_follow_up_begins_both_of_its_searches_and_the_critic_reads_what_it_means() -> None:
    retriever = ScriptedRetriever(always=["Air scatters blue light."])
    ahead, critic = PrefetchingRetriever(retriever), ScriptedCritic({JOINED: "retrieve"})
    begun = state(NIGHT, standalone=JOINED, conversation=[turn(SKY, outcome=None)])
    await run_node(decide, begun, critic=critic, retriever=ahead)
    await asyncio.sleep(0)
    assert (retriever.queries, retriever.ks) == ([NIGHT, JOINED], [16, 16])
    await run_node(retrieve, begun, retriever=ahead)
    assert retriever.queries == [NIGHT, JOINED], "none is made again"
    critic.done()


@pytest.mark.parametrize(
    ("outcome", "standalone", "route"),
    [
        ("grounded", JOINED, "retrieve"),
        ("partially_grounded", JOINED, "retrieve"),
        ("direct", JOINED, "direct"),
        (None, JOINED, "direct"),
        ("grounded", NIGHT, "direct"),  # another subject
    ],
)
async def test_a_follow_up_of_what_the_documents_answered_is_searched_for(
    outcome: str | None, standalone: str, route: str
) -> None:
    critic = holding("direct")
    begun = state(NIGHT, standalone=standalone, conversation=[turn(SKY, outcome=outcome)])
    assert (await run_node(decide, begun, critic=critic))["route"] == route
    assert len(critic.inputs) == (route == "direct")
