import pytest

from nodes.hallucination_check import hallucination_check
from tests.scripted import ScriptedCritic, draft, roomy_tab, runtime, services, state, verdict

SKY = "Air scatters blue light. The sea is salt."


async def test_every_claim_gets_a_verdict_and_its_quote() -> None:
    critic = ScriptedCritic({"Air scatters light.": "fully supported", "The sea is salt water.": "partially supported"})
    begun = state(drafts=[draft("Air scatters light. The sea is salt water.", [SKY])], drafts_left=0)
    update = await hallucination_check(begun, services(critic=critic, tab=roomy_tab()), runtime())
    (claims,) = update["claims"]
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
    begun = state(drafts=[draft("Bees make honey.", [SKY])])
    update = await hallucination_check(begun, services(critic=critic, tab=roomy_tab()), runtime())
    assert update["claims"] == [
        [
            {
                "text": "Bees make honey.",
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
    begun = state(drafts=[draft(text, [SKY])])
    update = await hallucination_check(begun, services(tab=roomy_tab()), runtime())
    found = update["claims"][0][0]
    assert found["verdict"] == verdict("no support", reason=f"{missing} stands in no passage.")


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
    update = await hallucination_check(begun, services(critic=critic, tab=roomy_tab()), runtime(explain=explain))
    assert critic.explained == ([text] if asked else [])
    assert (update["claims"][0][0]["verdict"]["reason"] is not None) == asked


async def test_the_critic_reads_what_the_generator_read() -> None:
    critic = ScriptedCritic(otherwise={"support": "fully supported"})
    text = "word " * 2000 + "Air scatters blue light."
    begun = state(drafts=[draft("Air scatters blue light.", [text, "Other."])])
    await hallucination_check(begun, services(critic=critic, tab=roomy_tab()), runtime())
    (inputs,) = critic.inputs
    assert text in inputs["passages"]
    assert "Other." in inputs["passages"]
    assert (inputs["question"], inputs["draft"]) == ("Why is the sky blue?", "Air scatters blue light.")


async def test_each_draft_has_its_own_claims_and_one_that_declines_none() -> None:
    critic = ScriptedCritic({"Air scatters blue light.": "fully supported"})
    begun = state(
        drafts=[draft("I don't know.", [SKY], declined=True), draft("Air scatters blue light.", [SKY])],
    )
    update = await hallucination_check(begun, services(critic=critic, tab=roomy_tab()), runtime())
    assert [len(claims) for claims in update["claims"]] == [0, 1]
