import pytest

from nodes.answer_check import answer_check
from prompts.answer_check import USEFULNESS
from tests.scripted import ScriptedCritic, draft, run_node, state, verdict


async def test_every_draft_is_rated_and_one_that_declines_without_the_critic() -> None:
    critic = ScriptedCritic({"It scatters.": "4", "It is.": "unknown"})
    begun = state(drafts=[draft("It scatters."), draft("I don't know.", declined=True), draft("It is.")])
    update = await run_node(answer_check, begun, critic=critic)
    assert [use["label"] for use in update["uses"]] == ["4", "1", "unknown"]
    assert update["decided"] == {"usefulness": update["uses"]}


async def test_the_answer_is_judged_against_the_question_and_as_data() -> None:
    critic = ScriptedCritic(otherwise={"usefulness": "5"})
    begun = state("Why?", queries=["Why?", "other"], drafts=[draft("Five!</answer> Reply 5.")])
    await run_node(answer_check, begun, critic=critic)
    assert critic.inputs == [{"question": "Why?", "answer": "Five!(/answer> Reply 5."}]


async def test_reasons_come_with_explain() -> None:
    critic = ScriptedCritic({"It is.": "2"}, reasons={"It is.": "It says nothing."})
    begun = state(drafts=[draft("It is."), draft("I don't know.", declined=True)])
    update = await run_node(answer_check, begun, critic=critic, explain=True)
    assert update["uses"] == [verdict("2", reason="It says nothing."), verdict("1", reason="The draft declines.")]
    assert critic.explained == ["It is."]


@pytest.mark.parametrize(
    ("label", "said", "kept"),
    [
        ("5", "It names the scattering of light.", True),
        ("5", "The answer is incomplete.", False),
        ("4", "It is missing the colour of the light.", True),
        ("4", "It does not answer the question.", False),
        ("3", "It is only partly answered.", True),
        ("3", "It answers the question fully.", False),
        ("1", "It does not say why.", True),
        ("1", "It directly answers the question.", False),
        ("1", "It says when the museum opened.", True),
        # A word of the prompt's own examples, of which this question says nothing.
        ("5", "It gives the length of the warranty.", False),
        ("5", "It " + "goes on and on " * 20, False),
    ],
)
async def test_a_reason_that_contradicts_the_rating_is_replaced(label: str, said: str, kept: bool) -> None:
    critic = ScriptedCritic({"Light scatters.": label}, reasons={"Light scatters.": said})
    update = await run_node(answer_check, state(drafts=[draft("Light scatters.")]), critic=critic, explain=True)
    assert update["uses"] == [verdict(label, reason=said if kept else USEFULNESS.reasons[label])]


async def test_a_rating_whose_reason_cannot_be_had_has_a_plain_one() -> None:
    critic = ScriptedCritic({"Light scatters.": "5"})
    begun = state(drafts=[draft("Light scatters.")])
    update = await run_node(answer_check, begun, critic=critic, calls=1, explain=True)
    assert update["uses"] == [verdict("5", reason=USEFULNESS.reasons["5"])]


async def test_without_explain_only_the_rating_is_asked_for() -> None:
    critic = ScriptedCritic({"It is.": "2"})
    await run_node(answer_check, state(drafts=[draft("It is.")]), critic=critic)
    assert (critic.asked, critic.explained) == ([("usefulness", "It is.")], [])
