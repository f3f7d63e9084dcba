"""Every node that judges or writes reads the question as it is to be understood, and not as it was said."""

from typing import Any

import pytest

from nodes.compare_answers import compare_answers
from nodes.direct_generate import direct_generate
from nodes.grade_documents import grade_documents
from nodes.hallucination_check import hallucination_check
from nodes.rewrite_query import rewrite_query
from tests.scripted import (
    ScriptedCritic,
    ScriptedGenerator,
    candidate_of,
    claim,
    draft,
    passage,
    run_node,
    state,
    verdict,
)

SAID = "And in winter?"


def meaning(asked: str, **changes: Any) -> Any:
    """The state of a follow-up that is joined to what was asked before."""
    return state(SAID, standalone=f"{asked} {SAID}", **changes)


async def test_a_direct_answer_is_to_what_is_meant() -> None:
    generator = ScriptedGenerator(direct=["4"])
    await run_node(direct_generate, meaning("What is 2+2?"), generator=generator)
    assert generator.inputs("direct") == [{"question": f"What is 2+2? {SAID}"}]


@pytest.mark.parametrize(("asked", "label"), [("How cold is Skarvik?", "fully supported"), ("How cold?", "no support")])
async def test_a_name_of_what_is_meant_may_stand_in_a_claim(asked: str, label: str) -> None:
    text = "The harbour of Skarvik freezes over."
    critic = ScriptedCritic(otherwise={"support": "fully supported"})
    begun = meaning(asked, drafts=[draft(text, ["The harbour freezes over."])], drafts_left=0)
    update = await run_node(hallucination_check, begun, critic=critic)
    assert update["claims"][0][0]["verdict"]["label"] == label


async def test_another_query_is_written_for_what_is_meant() -> None:
    asked = "How old is the oak ceiling of the hall?"
    generator, known = ScriptedGenerator(queries=["age"]), passage("The hall has a ceiling of oak wood.")
    begun = meaning(asked, passages=[known], relevant=[known["id"]])
    await run_node(rewrite_query, begun, generator=generator, rewriting="model")
    (inputs,) = generator.inputs("query")
    assert inputs["question"] == f"{asked} {SAID}"
    assert inputs["tried"] == f"- {SAID}"
    assert inputs["known"] == f"\nKnown:\n- {known['text']}\nMissing: old, winter"


async def test_a_query_goes_on_from_a_name_that_is_near_to_what_is_meant() -> None:
    found = [passage("The survey of Skarvik harbour was led by Runa Tveit.")]
    begun = meaning("Where did the leader of the Skarvik harbour survey study?", found=found)
    update = await run_node(rewrite_query, begun, rewriting="names")
    assert update["queries"][-1] == "Runa Tveit leader study winter"


async def test_the_reason_of_a_grade_is_by_what_is_meant() -> None:
    critic = ScriptedCritic(otherwise={"relevance": "irrelevant"})
    begun = meaning("Why is the sky blue?", passages=[passage("Salt melts ice in winter.")])
    (grade,) = (await run_node(grade_documents, begun, critic=critic, explain=True))["decided"]["grades"]
    assert grade["verdict"]["reason"] == "It does not contain “sky” or “blue”."


async def test_two_passages_are_linked_by_what_is_meant() -> None:
    texts = ["The survey of Skarvik harbour was led by Runa Tveit.", "Runa Tveit studied in Bergen."]
    critic, found = (
        ScriptedCritic({"\n\n".join(texts): "relevant"}, {"relevance": "irrelevant"}),
        list(map(passage, texts)),
    )
    begun = meaning("Where did the leader of the Skarvik harbour survey study?", passages=found, found=found)
    assert (await run_node(grade_documents, begun, critic=critic))["decided"]["linked"] == 2


async def test_other_documents_are_asked_what_is_meant() -> None:
    texts = ["The mill bridge was built in 1902.", "The mill bridge dates from 1911."]
    found = [passage(text, source=f"{number}.txt") for number, text in enumerate(texts)]
    best = candidate_of(draft(texts[0], texts), [claim(texts[0], within=texts[0])])
    asked = "When was the mill bridge built?"
    begun = meaning(asked, found=found, verdicts={one["id"]: verdict("relevant") for one in found}, best=best)
    generator = ScriptedGenerator(brief={texts[1]: "1911"})
    critic = ScriptedCritic({"1911": "fully supported"})
    await run_node(compare_answers, begun, generator=generator, critic=critic)
    assert [inputs["question"] for inputs in generator.inputs("brief")] == [f"{asked} {SAID}"]
    assert [inputs["question"] for inputs in critic.inputs] == [f"{asked} {SAID}"]
