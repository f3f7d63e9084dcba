"""Every draft of a question and every passage of its searches are in its result, whatever became of them."""

from typing import Any

from app.results.result import Result, result_of
from core.types import Verdict
from run.state import SelfRAGState
from tests.integration.app.contract import keep_to_the_contract
from tests.integration.graph.sky import AIR, BAD, BROKEN, GOOD, QUESTION, SALT, SEA, Fresh, ask, critic
from tests.scripted import ScriptedCritic, ScriptedGenerator, ScriptedRetriever

UNSUPPORTED = "One of its claims is not supported: “Blue light is scattered by red air”."


def shown(final: SelfRAGState) -> Result:
    """The result, which keeps to the contract of JSON."""
    result = result_of(final)
    keep_to_the_contract(result.model_dump(mode="json"))
    return result


def strict(**otherwise: Any) -> ScriptedCritic:
    """Supports every claim but ``BAD``."""
    return critic(support=lambda text: "no support" if text == BAD else "fully supported", **otherwise)


async def test_the_drafts_of_all_rounds_and_queries_are_listed() -> None:
    generator = ScriptedGenerator(drafts=[BAD, GOOD], mended=[f"{BAD} {AIR}"], queries=["air"])
    result = shown(await ask(generator, strict(), Fresh()))
    assert [(one.round, one.text, one.chosen) for one in result.candidates] == [
        (1, BAD, False),
        (2, f"{BAD} {AIR}", False),
        (3, GOOD, True),
    ]
    assert [one.reason for one in result.candidates[:2]] == [UNSUPPORTED, UNSUPPORTED]
    assert [one.id for one in result.passages] == [f"{AIR} {QUESTION}", SALT, f"{AIR} air"]
    assert result.used_retrieval


async def test_the_drafts_of_each_passage_are_listed_in_one_round() -> None:
    irrelevant: Any = Verdict(label="irrelevant", probabilities={"relevant": 0.2, "irrelevant": 0.8}, reason=None)
    sure: Any = Verdict(label="relevant", probabilities={"relevant": 0.9, "irrelevant": 0.1}, reason=None)
    less: Any = Verdict(label="relevant", probabilities={"relevant": 0.6, "irrelevant": 0.4}, reason=None)
    judge = strict(relevance=lambda text: {AIR: sure, SEA: less, SALT: irrelevant}[text])
    retriever = ScriptedRetriever(always=[SALT, SEA, AIR])
    result = shown(await ask(ScriptedGenerator(drafts=[SEA, GOOD]), judge, retriever, strategy="per-passage"))
    assert [(one.round, one.passages, one.chosen) for one in result.candidates] == [(1, [SEA], False), (1, [AIR], True)]
    assert result.candidates[0].reason == "It ranks below another candidate by score: 2.100 against 2.400."
    assert [(one.id, one.verdict and one.verdict["label"]) for one in result.passages] == [
        (SALT, "irrelevant"),
        (SEA, "relevant"),
        (AIR, "relevant"),
    ]


async def test_a_redraft_that_fails_does_not_list_the_first_draft_twice() -> None:
    result = shown(await ask(ScriptedGenerator(drafts=[f"{GOOD} {BAD}"], mended=[BROKEN]), strict()))
    assert [one.text for one in result.candidates] == [f"{GOOD} {BAD}"]
    assert (result.outcome, result.stop_reason) == ("partially_grounded", "model_failed")
