import asyncio
import math
from dataclasses import replace
from typing import Any

import pytest

from models.calibration import Fit, Fits
from models.chat import Chat
from models.critic import Critic
from nodes.decide import decide
from nodes.retrieve import retrieve
from prompts.decide import RETRIEVE
from run.context import Services, Thresholds
from run.prefetch import PrefetchingRetriever
from tests.scripted import (
    NotScriptedError,
    ScriptedChat,
    ScriptedCritic,
    ScriptedRetriever,
    document,
    reply,
    roomy_budget,
    run_node,
    runtime,
    services,
    state,
    turn,
    verdict,
)


@pytest.mark.parametrize(("label", "route"), [("retrieve", "retrieve"), ("direct", "direct"), ("unknown", "retrieve")])
async def test_the_critic_chooses_the_route_and_unknown_retrieves(label: str, route: str) -> None:
    update = await run_node(decide, state("What is 2+2?"), critic=ScriptedCritic({"What is 2+2?": label}))
    assert (update["route"], update["decision"]["label"]) == (route, label)
    assert update["decided"] == {"route": route, "verdict": update["decision"]}


@pytest.mark.parametrize(("threshold", "route"), [(0.3, "retrieve"), (0.31, "direct")])
async def test_the_threshold_decides(threshold: float, route: str) -> None:
    critic = ScriptedCritic(otherwise={"retrieve": verdict("direct", {"retrieve": 0.3, "direct": 0.7})})
    update = await run_node(decide, state(), critic=critic, thresholds=Thresholds(retrieve=threshold))
    assert (update["route"], update["decision"]["label"]) == (route, route)


def asked_by(yes: float, no: float) -> Critic:
    """The real critic over a model that gives "search" and "math" these probabilities."""
    top = [("search", math.log(yes)), ("math", math.log(no))]
    return Critic(Chat(lambda: ScriptedChat(script=[reply("search", top=top)]), "scripted"))


@pytest.mark.parametrize(
    ("yes", "no", "threshold", "route"),
    [
        (0.9, 0.1, 0.5, "retrieve"),
        (0.1, 0.9, 0.5, "direct"),
        (0.9, 0.1, 0.91, "direct"),
        (0.3, 0.1, 0.7, "retrieve"),  # 0.75 of both: the rest of the mass is on no label
        (0.3, 0.1, 0.8, "direct"),
    ],
)
async def test_the_threshold_is_one_on_probabilities_normalised_over_the_labels(
    yes: float, no: float, threshold: float, route: str
) -> None:
    """A ratio of log-probabilities would be 0.04 for the first of these, and 0.96 for the second."""
    made = replace(services(), critic=asked_by(yes, no)).with_budget(roomy_budget())
    update = await decide(state(), made, runtime(thresholds=Thresholds(retrieve=threshold)))
    assert update["route"] == route
    assert RETRIEVE.score(update["decision"]) == pytest.approx(yes / (yes + no))
    assert ((math.log(yes) / (math.log(yes) + math.log(no))) >= 0.5) != (yes >= no)


async def test_a_surer_yes_never_retrieves_less() -> None:
    for threshold in (0.2, 0.5, 0.8):
        routes = []
        for percent in range(5, 100, 5):
            made = replace(services(), critic=asked_by(percent / 100, 1 - percent / 100)).with_budget(roomy_budget())
            update = await decide(state(), made, runtime(thresholds=Thresholds(retrieve=threshold)))
            routes.append(update["route"])
        assert routes == sorted(routes), "direct comes first, then retrieve"
        assert routes.count("retrieve") == sum(percent / 100 >= threshold - 1e-9 for percent in range(5, 100, 5))


@pytest.mark.parametrize(("mode", "route"), [("always", "retrieve"), ("never", "direct")])
async def test_a_mode_decides_without_the_critic(mode: str, route: str) -> None:
    critic = ScriptedCritic()
    assert (await run_node(decide, state(), critic=critic, mode=mode))["route"] == route
    assert critic.asked == []


def replying(*top: tuple[str, float]) -> tuple[Services, ScriptedChat]:
    """The real critic over a model with these replies, which can be asked once."""
    model = ScriptedChat(script=[reply(top[0][0], top=[(word, math.log(p)) for word, p in top])])
    return replace(services(), critic=Critic(Chat(lambda: model, "scripted"))).with_budget(roomy_budget()), model


@pytest.mark.parametrize(
    ("top", "threshold", "reason"),
    [
        ([("search", 0.9), ("math", 0.1)], 0.5, RETRIEVE.reasons["retrieve"]),
        ([("math", 0.9), ("search", 0.1)], 0.5, RETRIEVE.reasons["math"]),
        ([("search", 0.4), ("edit", 0.35), ("chat", 0.25)], 0.5, RETRIEVE.reasons["edit"]),
        (
            [("edit", 0.6), ("search", 0.4)],
            0.3,
            "The probability that it needs the documents, 0.400, reaches the threshold of 0.300.",
        ),
        (
            [("search", 0.6), ("edit", 0.4)],
            0.7,
            "The probability that it needs the documents, 0.600, is below the threshold of 0.700.",
        ),
    ],
)
async def test_the_reason_of_a_route_is_the_kind_of_request_or_the_threshold(
    top: list[tuple[str, float]], threshold: float, reason: str
) -> None:
    made, model = replying(*top)
    update = await decide(state(), made, runtime(explain=True, thresholds=Thresholds(retrieve=threshold)))
    assert update["decision"]["reason"] == reason
    assert update["decision"].keys() == {"label", "probabilities", "reason"}
    model.done()  # with one call


async def test_without_explain_a_route_has_no_reason() -> None:
    made, _ = replying(("math", 0.9), ("search", 0.1))
    update = await decide(state(), made, runtime())
    assert update["decision"] == verdict("direct", update["decision"]["probabilities"])


@pytest.mark.parametrize("mode", ["always", "never"])
async def test_the_reason_of_a_route_by_the_mode_is_the_mode(mode: str) -> None:
    made = services(budget=roomy_budget())
    explained = await decide(state(), made, runtime(mode=mode, explain=True))
    assert explained["decided"]["reason"].startswith(f"Mode {mode} ")
    assert "reason" not in (await decide(state(), made, runtime(mode=mode)))["decided"]


async def test_an_unknown_route_has_a_reason() -> None:
    update = await run_node(decide, state(), critic=ScriptedCritic(otherwise={"retrieve": "unknown"}), explain=True)
    assert update["decision"] == verdict("unknown", reason="The critic gave no verdict.")


NEAR = Fits(route=Fit(intercept=-4.0, coefficients={"log_odds": 1.0, "similarity": 6.0, "coverage": 3.0}))
MATH = verdict("direct", {"retrieve": 0.1, "direct": 0.9})


@pytest.mark.parametrize(
    ("similarity", "fits", "route"),
    [(0.9, NEAR, "retrieve"), (0.1, NEAR, "direct"), (0.9, Fits(), "direct"), (None, NEAR, "direct")],
)
async def test_a_question_that_the_documents_come_near_is_searched_for(
    similarity: float | None, fits: Fits, route: str
) -> None:
    found = document("What does the message E42 mean? It means that the lid is open.", similarity=similarity)
    retriever = PrefetchingRetriever(ScriptedRetriever(always=[found]))
    update = await run_node(
        decide,
        state("What does the message E42 mean?"),
        critic=ScriptedCritic(otherwise={"retrieve": MATH}),
        retriever=retriever,
        fits=fits,
    )
    assert update["route"] == route
    assert await retriever.ainvoke("What does the message E42 mean?", k=4) == [found]


async def test_a_search_that_fails_leaves_the_decision_to_the_critic_and_fails_where_it_is_needed() -> None:
    retriever = PrefetchingRetriever(ScriptedRetriever())
    assert (
        await run_node(
            decide, state(), critic=ScriptedCritic(otherwise={"retrieve": MATH}), retriever=retriever, fits=NEAR
        )
    )["route"] == "direct"
    with pytest.raises(NotScriptedError):
        await retriever.ainvoke("Why is the sky blue?", k=4)


async def test_the_word_that_the_critic_replied_is_no_reason_where_the_documents_overrule_it() -> None:
    found = document("What does the message E42 mean?", similarity=0.9)
    critic = ScriptedCritic(otherwise={"retrieve": {**MATH, "reply": "math"}})
    made = services(critic=critic, retriever=PrefetchingRetriever(ScriptedRetriever(always=[found])))
    made = replace(made, fits=NEAR).with_budget(roomy_budget())
    update = await decide(state("What does the message E42 mean?"), made, runtime(explain=True))
    assert update["decision"]["reason"] == RETRIEVE.reasons["retrieve"]


@pytest.mark.parametrize(
    ("question", "similarity", "asked"),
    [
        ("What does the message E42 mean?", 0.5, 0),
        ("What does the message E42 mean?", 0.49, 1),
        ("What does the message E42 mean?", None, 1),
        ("Translate into German: The lid is open.", 0.9, 1),
        ("Say “the lid is open” more politely.", 0.9, 1),
        ("Shorten this.\nThe lid is open.", 0.9, 1),
        ("翻译：盖子是打开的。", 0.9, 1),
        ("The lid is open. " * 12, 0.9, 1),
    ],
)
async def test_only_for_a_short_question_very_near_to_a_passage_the_critic_is_not_asked(
    question: str, similarity: float | None, asked: int
) -> None:
    """A message that brings the text it is about is near to a library that has the text."""
    retriever = PrefetchingRetriever(ScriptedRetriever(always=[document("The lid is open.", similarity=similarity)]))
    critic = ScriptedCritic(otherwise={"retrieve": MATH})
    update = await run_node(
        decide, state(question), critic=critic, retriever=retriever, thresholds=Thresholds(near=0.5)
    )
    assert len(critic.asked) == asked
    assert update["route"] == ("direct" if asked else "retrieve")
    reason = update["decision"]["reason"] or ""
    assert reason == ("" if asked else "A passage comes near to the question: cosine 0.50.")


async def test_a_question_that_brings_its_premises_is_direct_whatever_the_library_holds() -> None:
    """The library speaks of pumps, so that a passage comes very near."""
    question = "If every pump is a machine and Bella is a pump, is Bella a machine?"
    retriever = PrefetchingRetriever(ScriptedRetriever(always=[document("Every pump is a machine.", similarity=0.9)]))
    critic = ScriptedCritic()
    update = await run_node(
        decide, state(question), critic=critic, retriever=retriever, fits=NEAR, thresholds=Thresholds(near=0.5)
    )
    assert (update["route"], update["decision"]["label"], critic.asked) == ("direct", "direct", [])


@pytest.mark.parametrize(
    ("first", "fallback", "left"),
    [
        (MATH, "abstain", {"fallback": "direct"}),
        (MATH, "passages", {}),
        (verdict("retrieve", {"retrieve": 0.9, "direct": 0.1}), "abstain", {}),
    ],
)
async def test_what_the_critic_held_to_be_direct_falls_back_to_that(first: Any, fallback: Any, left: Any) -> None:
    found = document("What does the message E42 mean?", similarity=0.9)
    critic = ScriptedCritic(otherwise={"retrieve": first})
    made = services(critic=critic, retriever=PrefetchingRetriever(ScriptedRetriever(always=[found])))
    made = replace(made, fits=NEAR).with_budget(roomy_budget())
    update = await decide(state("What does the message E42 mean?"), made, runtime(fallback=fallback))
    assert update["route"] == "retrieve"
    assert {key: update[key] for key in update.keys() & {"fallback"}} == left


SKY, NIGHT = "Why is the sky blue?", "Does it turn black?"
JOINED = f"{SKY} {NIGHT}"
EARLIER = [turn(SKY)]


async def test_a_follow_up_begins_both_of_its_searches_and_the_critic_reads_what_it_means() -> None:
    retriever = ScriptedRetriever(always=["Air scatters blue light."])
    ahead = PrefetchingRetriever(retriever)
    critic = ScriptedCritic({JOINED: "retrieve"})
    made = services(critic=critic, retriever=ahead, budget=roomy_budget())  # type: ignore[arg-type]
    begun = state(NIGHT, standalone=JOINED, conversation=[turn(SKY, outcome=None)])
    await decide(begun, made, runtime())
    await asyncio.sleep(0)
    assert (retriever.queries, retriever.ks) == ([NIGHT, JOINED], [16, 16])
    await retrieve(begun, made, runtime())
    assert retriever.queries == [NIGHT, JOINED], "none is made again"
    critic.done()


@pytest.mark.parametrize(
    ("changes", "asked"),
    [({"standalone": JOINED}, 1), ({"standalone": JOINED, "rewritten": True, "queries": [JOINED]}, 0)],
)
async def test_the_question_that_a_follow_up_is_joined_to_does_not_bring_it_near_to_the_documents(
    changes: dict[str, Any], asked: int
) -> None:
    found = {NIGHT: [document("Salt.", similarity=0.1)], JOINED: [document("Air.", similarity=0.9)]}
    critic = ScriptedCritic(otherwise={"retrieve": MATH})
    retriever = PrefetchingRetriever(ScriptedRetriever(found))
    made = services(critic=critic, retriever=retriever, budget=roomy_budget())  # type: ignore[arg-type]
    await decide(state(NIGHT, **changes), made, runtime(thresholds=Thresholds(near=0.5)))
    assert len(critic.asked) == asked


async def test_a_short_follow_up_to_a_long_question_is_short() -> None:
    retriever = PrefetchingRetriever(ScriptedRetriever(always=[document("Air.", similarity=0.9)]))
    critic = ScriptedCritic(otherwise={"retrieve": MATH})
    made = services(critic=critic, retriever=retriever, budget=roomy_budget())  # type: ignore[arg-type]
    await decide(state(NIGHT, standalone=f"{SKY * 20} {NIGHT}"), made, runtime(thresholds=Thresholds(near=0.5)))
    assert critic.asked == []


@pytest.mark.parametrize(
    ("outcome", "route"),
    [("grounded", "retrieve"), ("partially_grounded", "retrieve"), ("direct", "direct"), (None, "direct")],
)
async def test_a_follow_up_of_what_the_documents_answered_is_searched_for(outcome: str | None, route: str) -> None:
    critic = ScriptedCritic(otherwise={"retrieve": "direct"})
    begun = state(NIGHT, standalone=JOINED, conversation=[turn(SKY, outcome=outcome)])
    assert (await run_node(decide, begun, critic=critic))["route"] == route
    assert len(critic.inputs) == (route == "direct")


async def test_another_subject_after_what_the_documents_answered_is_the_critic_s_to_decide() -> None:
    critic = ScriptedCritic(otherwise={"retrieve": "direct"})
    update = await run_node(decide, state(NIGHT, standalone=NIGHT, conversation=EARLIER), critic=critic)
    assert update["route"] == "direct"
