"""Every node that judges or writes reads the question as it is to be understood, and not as it was said."""

from typing import Any

import pytest

from nodes.grade_documents import grade_documents
from nodes.hallucination_check import hallucination_check
from tests.scripted import ScriptedCritic, draft, passage, run_node, state

SAID = "And in winter?"


def meaning(asked: str, **changes: Any) -> Any:
    """The state of a follow-up that is joined to what was asked before."""
    return state(SAID, standalone=f"{asked} {SAID}", **changes)


@pytest.mark.parametrize(("asked", "label"), [("How cold is Skarvik?", "fully supported"), ("How cold?", "no support")])
async def test_a_name_of_what_is_meant_may_stand_in_a_claim(asked: str, label: str) -> None:
    text = "The harbour of Skarvik freezes over."
    critic = ScriptedCritic(otherwise={"support": "fully supported"})
    begun = meaning(asked, drafts=[draft(text, ["The harbour freezes over."])], drafts_left=0)
    update = await run_node(hallucination_check, begun, critic=critic)
    assert update["claims"][0][0]["verdict"]["label"] == label


async def test_the_reason_of_a_grade_is_by_what_is_meant() -> None:
    critic = ScriptedCritic(otherwise={"relevance": "irrelevant"})
    begun = meaning("Why is the sky blue?", passages=[passage("Salt melts ice in winter.")])
    (grade,) = (await run_node(grade_documents, begun, critic=critic, explain=True))["decided"]["grades"]
    assert grade["verdict"]["reason"] == "It does not contain “sky” or “blue”."


async def test_two_passages_are_linked_by_what_is_meant() -> None:
    texts = ["The survey of Skarvik harbour was led by Runa Tveit.", "Runa Tveit studied in Bergen."]
    critic = ScriptedCritic({"\n\n".join(texts): "relevant"}, {"relevance": "irrelevant"})
    found = list(map(passage, texts))
    begun = meaning("Where did the leader of the Skarvik harbour survey study?", passages=found, found=found)
    assert (await run_node(grade_documents, begun, critic=critic))["decided"]["linked"] == 2
