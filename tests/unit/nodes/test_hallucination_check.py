import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from grounding.claims import LONGEST_CLAIM
from models.calibration import Fit, Fits
from models.chat import MAX_CHARACTERS_PER_TOKEN, Chat
from models.critic import Critic
from nodes import check_claim
from nodes import hallucination_check as node
from nodes.hallucination_check import MOST_CLAIMS, hallucination_check
from prompts.generate import MAX_TOKENS
from run.context import Thresholds
from tests.scripted import (
    ScriptedChat,
    ScriptedCritic,
    draft,
    reply,
    roomy_budget,
    run_node,
    runtime,
    services,
    state,
    verdict,
)

SKY = "Air scatters blue light. The sea is salt."


async def test_every_claim_gets_a_verdict_and_its_quote() -> None:
    critic = ScriptedCritic({"Air scatters light.": "fully supported", "The sea is salt water.": "partially supported"})
    begun = state(drafts=[draft("Air scatters light. The sea is salt water.", [SKY])], drafts_left=0)
    (claims,) = (await run_node(hallucination_check, begun, critic=critic))["claims"]
    assert [(one["text"], one["verdict"]["label"]) for one in claims] == [
        ("Air scatters light.", "fully supported"),
        ("The sea is salt water.", "partially supported"),
    ]
    assert [SKY[one["quote"]["start"] : one["quote"]["end"]] for one in claims] == [
        "Air scatters blue light.",
        "The sea is salt.",
    ]
    assert critic.explained == []


async def test_a_claim_without_a_quote_is_not_supported_whatever_the_critic_would_say() -> None:
    critic = ScriptedCritic()
    update = await run_node(hallucination_check, state(drafts=[draft("Bees make honey.", [SKY])]), critic=critic)
    assert update["claims"] == [
        [
            {
                "text": "Bees make honey.",
                "context": "",
                "verdict": verdict("no support", reason="No passage says this."),
                "quote": None,
            }
        ]
    ]


@pytest.mark.parametrize(
    ("text", "missing"),
    [("Air scatters 90 blue light.", "90"), ("Air scatters blue light, says Rayleigh.", "Rayleigh")],
)
async def test_a_fact_that_stands_nowhere_is_not_supported_and_is_named(text: str, missing: str) -> None:
    update = await run_node(hallucination_check, state(drafts=[draft(text, [SKY])]))
    assert update["claims"][0][0]["verdict"] == verdict("no support", reason=f"{missing} stands in no passage.")


async def test_a_draft_that_only_repeats_the_question_supports_nothing() -> None:
    critic = ScriptedCritic({"The clubs moved.": "fully supported"})
    begun = state(
        "Which of the clubs moved in May?", drafts=[draft("The club moved in May.", ["The club moved in May."])]
    )
    update = await run_node(hallucination_check, begun, critic=critic)
    assert update["claims"][0][0]["verdict"] == verdict("no support", reason="It only repeats the question.")
    assert critic.asked == []


async def test_a_follow_up_is_compared_with_what_was_said_alone() -> None:
    """A name of the question before it may answer it."""
    text = "Anna signed it."
    joined = state("Who signed it?", standalone="What did Anna do in May? Who signed it?", drafts=[draft(text, [text])])
    update = await run_node(hallucination_check, joined, critic=ScriptedCritic({text: "fully supported"}))
    assert update["claims"][0][0]["verdict"]["label"] == "fully supported"


@pytest.mark.parametrize(
    ("label", "drafts_left", "explain", "asked"),
    [
        ("no support", 1, False, True),
        ("partially supported", 1, False, True),
        ("unknown", 1, False, True),
        ("fully supported", 1, False, False),
        ("no support", 0, False, False),
        ("no support", 0, True, True),
    ],
)
async def test_a_reason_is_asked_for_where_a_claim_failed_and_is_to_be_redrafted(
    label: str, drafts_left: int, explain: bool, asked: bool
) -> None:
    text = "Air scatters blue light."
    critic = ScriptedCritic({text: label})
    begun = state(drafts=[draft(text, [SKY])], drafts_left=drafts_left)
    update = await run_node(hallucination_check, begun, critic=critic, explain=explain)
    assert critic.explained == ([text] if asked else [])
    assert (update["claims"][0][0]["verdict"]["reason"] is not None) == asked


async def test_the_critic_reads_what_the_generator_read() -> None:
    critic = ScriptedCritic(otherwise={"support": "fully supported"})
    text = "word " * 2000 + "Air scatters blue light."
    begun = state(drafts=[draft("Air scatters blue light.", [text, "Other."])])
    await run_node(hallucination_check, begun, critic=critic)
    (inputs,) = critic.inputs
    assert text in inputs["passages"]
    assert "Other." in inputs["passages"]
    assert (inputs["question"], inputs["claim"]) == ("Why is the sky blue?", "Air scatters blue light.")


async def test_a_pronouns_sentence_and_a_lists_head_are_shown_to_the_critic_with_the_claim() -> None:
    critic = ScriptedCritic(otherwise={"support": "fully supported"})
    text = "Air scatters blue light. It scatters red light less.\nThe sea is:\n- salt\n- blue"
    begun = state(
        drafts=[draft(text, ["Air scatters blue light, and scatters red light less. The sea is salt and blue."])]
    )
    update = await run_node(hallucination_check, begun, critic=critic)
    assert [inputs["claim"] for inputs in critic.inputs] == [
        "Air scatters blue light.",
        "Air scatters blue light. It scatters red light less.",
        "The sea is: salt",
        "The sea is: blue",
    ]
    assert [claim["text"] for claim in update["claims"][0]] == [
        "Air scatters blue light.",
        "It scatters red light less.",
        "salt",
        "blue",
    ]


LIKELY = verdict("fully supported", {"fully supported": 0.6, "partially supported": 0.2, "no support": 0.2})


@pytest.mark.parametrize(("least", "label"), [(0.0, "fully supported"), (0.8, "fully supported"), (0.81, "no support")])
async def test_a_claim_whose_support_is_below_the_threshold_has_none(least: float, label: str) -> None:
    update = await run_node(
        hallucination_check,
        state(drafts=[draft("Air scatters blue light.", [SKY])], drafts_left=0),
        critic=ScriptedCritic(otherwise={"support": LIKELY}),
        thresholds=Thresholds(supported=least),
    )
    assert update["claims"][0][0]["verdict"]["label"] == label


async def test_a_verdict_counts_as_it_was_calibrated() -> None:
    labels = []
    for intercept in (2.0, -2.0):
        fits = Fits(support=Fit(intercept=intercept, coefficients={"log_odds": 0.1}))
        critic = ScriptedCritic(otherwise={"support": LIKELY})
        bound = replace(services(critic=critic, budget=roomy_budget()), fits=fits)
        begun = state(drafts=[draft("Air scatters blue light.", [SKY])], drafts_left=0)
        update = await hallucination_check(begun, bound, runtime(thresholds=Thresholds(supported=0.5)))
        labels.append(update["claims"][0][0]["verdict"]["label"])
    assert labels == ["fully supported", "no support"]


async def test_each_draft_has_its_own_claims_and_one_that_declines_none() -> None:
    critic = ScriptedCritic({"Air scatters blue light.": "fully supported"})
    begun = state(drafts=[draft("I don't know.", [SKY], declined=True), draft("Air scatters blue light.", [SKY])])
    update = await run_node(hallucination_check, begun, critic=critic)
    assert [len(claims) for claims in update["claims"]] == [0, 1]


async def test_a_statement_too_long_to_check_is_not_supported() -> None:
    begun = state(drafts=[draft("Air scatters blue light " * 200 + ".", [SKY])])
    update = await run_node(hallucination_check, begun)
    assert [one["verdict"] for one in update["claims"][0]] == [
        verdict("no support", reason="The statement is too long to check.")
    ]


async def test_of_more_statements_than_a_draft_has_tokens_the_rest_is_not_supported() -> None:
    critic = ScriptedCritic(otherwise={"support": "fully supported"})
    begun = state(drafts=[draft("Air scatters blue light. " * (MOST_CLAIMS + 5), [SKY])], drafts_left=0)
    update = await run_node(hallucination_check, begun, critic=critic)
    labels = [one["verdict"]["label"] for one in update["claims"][0]]
    assert labels == ["fully supported"] * MOST_CLAIMS + ["no support"] * 5


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["1", "60 of ", "Paris NATO 3 May 2021, ", "It is 5 so. ", "。"])
async def test_the_longest_draft_is_read_in_another_thread(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def noted(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            threads.add(threading.get_ident())
            return work(*arguments)

        return run

    for module, name in ((node, "statements"), (check_claim, "rule")):
        monkeypatch.setattr(module, name, noted(getattr(module, name)))
    paragraph = (unit * LONGEST_CLAIM)[: LONGEST_CLAIM - 100]
    text = "\n\n".join([paragraph] * (MAX_TOKENS * MAX_CHARACTERS_PER_TOKEN // LONGEST_CLAIM))
    update = await run_node(hallucination_check, state(drafts=[draft(text, [SKY] * 4)], drafts_left=0))
    assert {one["verdict"]["label"] for one in update["claims"][0]} == {"no support"}
    assert threads
    assert threading.get_ident() not in threads


RED = "Air scatters blue light more than red light."


@pytest.mark.parametrize(
    ("text", "label", "reason", "asked"),
    [
        ("Air scatters blue light.", "fully supported", "A passage says: “Air scatters blue light.”", False),
        (RED, "no support", "No passage contains “red”.", False),
        (RED, "partially supported", "A passage says: “Air scatters blue light.” No passage contains “red”.", False),
        ("The sea scatters blue light.", "no support", "The passages do not say so of the sea.", True),
        ("The sea scatters blue light.", "unknown", "The critic gave no verdict.", False),
        ("Bees make honey.", None, "No passage says this.", False),
    ],
)
async def test_with_explain_the_reason_of_a_claim_is_what_the_passages_say_or_lack(
    text: str, label: str | None, reason: str, asked: bool
) -> None:
    critic = ScriptedCritic({text: label} if label else {}, reasons={text: reason})
    begun = state(drafts=[draft(text, [SKY])], drafts_left=1)
    update = await run_node(hallucination_check, begun, critic=critic, explain=True)
    assert update["claims"][0][0]["verdict"] == verdict(label or "no support", reason=reason)
    assert critic.explained == ([text] if asked else [])


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("no support", "The nearest that a passage says is: “Air scatters blue light. The sea is salt.”"),
        ("partially supported", "A passage says only: “Air scatters blue light. The sea is salt.”"),
    ],
)
async def test_a_reason_that_contradicts_the_verdict_gives_way_to_the_quote(label: str, reason: str) -> None:
    text = "The sea scatters blue light."
    critic = ScriptedCritic({text: label}, reasons={text: "The passages fully support this answer."})
    update = await run_node(hallucination_check, state(drafts=[draft(text, [SKY])]), critic=critic, explain=True)
    assert update["claims"][0][0]["verdict"]["reason"] == reason


@pytest.mark.parametrize(("explain", "asked"), [(False, "Why? Answer in one"), (True, "The verdict is: no support. ")])
async def test_the_critic_is_told_the_verdict_or_for_a_redraft_asked_what_is_wrong(explain: bool, asked: str) -> None:
    model = ScriptedChat(script=[reply("no", top=[("no", -0.1)]), "The sea is not named so."])
    made = replace(services(), critic=Critic(Chat(lambda: model, "scripted"))).with_budget(roomy_budget())
    begun = state(drafts=[draft("The sea scatters blue light.", [SKY])], drafts_left=1)
    update = await hallucination_check(begun, made, runtime(explain=explain))
    assert update["claims"][0][0]["verdict"]["reason"] == "The sea is not named so."
    assert model.calls[1][0][-1].text.startswith(asked)
    model.done()
