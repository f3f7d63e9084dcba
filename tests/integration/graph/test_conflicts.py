"""Two documents that answer differently are both shown, at whatever cost is left, and the outcome is what it was."""

from typing import Any

import pytest

from app.results.result import result_of
from run.context import Limits
from tests.integration.app.contract import keep_to_the_contract
from tests.integration.graph.sky import ask, critic, nodes_of
from tests.scripted import ScriptedGenerator, ScriptedRetriever, document

QUESTION = "What is the yearly rent of a plot?"
DRAFT = "The yearly rent is 85 pounds."
OLD = document("The yearly rent of a plot is 85 pounds.", source="2021.txt", date="2021-03-01")
NEW = document("From April a plot costs 95 pounds a year.", source="folder/2024.txt", page=2, date="2024-02-11")
CALLS = 7  # decide, two grades, the draft, its claim, its use, and the brief answer; its check is the eighth


async def asked(**settings: Any) -> Any:
    generator = ScriptedGenerator(drafts=[DRAFT], brief={NEW.page_content: "95 pounds"})
    retriever = ScriptedRetriever(always=[OLD, NEW])
    return await ask(generator, critic(relevance="relevant"), retriever, question=QUESTION, **settings)


async def test_two_dated_documents_with_different_figures_are_both_given_with_their_dates() -> None:
    final = await asked()
    assert (final["outcome"], final["stop_reason"]) == ("grounded", "accepted")
    assert final["answer"] == (
        f"{DRAFT}\n\nThe documents disagree:\n- {DRAFT} (2021.txt, 2021-03-01)\n- 95 pounds (2024.txt p. 2, 2024-02-11)"
    )
    assert [(one["id"], one["quote"], one["date"]) for one in final["citations"]] == [
        (1, OLD.page_content, "2021-03-01"),
        (2, NEW.page_content, "2024-02-11"),
    ]
    result = result_of(final).model_dump(mode="json")
    keep_to_the_contract(result)
    assert [(one["answer"], one["citations"]) for one in result["conflicts"]] == [(DRAFT, [1]), ("95 pounds", [2])]


async def test_the_comparison_can_be_left_out() -> None:
    assert "compare_answers" not in nodes_of(await asked(conflicts=False))


@pytest.mark.parametrize("calls", [CALLS - 1, CALLS])
async def test_a_limit_leaves_out_the_comparison_alone(calls: int) -> None:
    final = await asked(limits=Limits(model_calls=calls))
    assert (final["outcome"], final["stop_reason"], final["answer"]) == ("grounded", "accepted", DRAFT)
    assert (final["stops"], final["conflicts"]) == ([], [])
