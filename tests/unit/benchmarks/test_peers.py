from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.prompts import ChatPromptTemplate

from benchmarks.peers import peers, prompts
from benchmarks.peers.ways import FLAG, utility_of
from evaluation.records import Example, Record
from prompts.direct_generate import DIRECT_GENERATE
from prompts.generate import PLAIN
from tests.scripted import ScriptedRetriever
from tests.unit.benchmarks.prompted_model import PromptedModel

YES, NO = '{"binary_score": "yes"}', '{"binary_score": "no"}'
SKY, SEA = "The sky is blue because air scatters blue light.", "The sea is salt."
QUESTION = "Why is the sky blue?"
OWN = {name: value for name, value in vars(prompts).items() if isinstance(value, ChatPromptTemplate)}
# What the graders of every peer say when they accept everything.
ACCEPTING: dict[str, Any] = {
    "NEEDS_SEARCH": "yes",
    "GRADE_PASSAGE": YES,
    "GRADE_GROUNDING": YES,
    "GRADE_ANSWER": YES,
    "RATE_RELEVANCE": "Relevant",
    "RATE_SUPPORT": "Fully supported",
    "RATE_UTILITY": "5",
    "FILTER_PASSAGE": "yes",
    "CHECK_ANSWER": "Yes",
}
of_every_peer = pytest.mark.parametrize("name", ["sequential", "best-of", "filter-flag"])


def model_of(**replies: Any) -> PromptedModel:
    """A model that accepts everything but for these ``replies``."""
    return PromptedModel({**OWN, "PLAIN": PLAIN, "DIRECT_GENERATE": DIRECT_GENERATE}, **{**ACCEPTING, **replies})


async def ask(name: str, model: PromptedModel, retriever: ScriptedRetriever | None = None) -> Record:
    services = model.services(retriever or ScriptedRetriever(always=[SKY, SEA]))
    peer = next(one for one in peers(services, 2) if one.name == name)
    return await peer.ask(Example(id="e1", question=QUESTION))


def about_sky(yes: str, no: str) -> Callable[[str], str]:
    return lambda turn: yes if SKY[:20] in turn else no


async def test_sequential_accepts_a_grounded_answer_that_resolves_the_question() -> None:
    answer = "Air scatters blue light."
    model = model_of(GRADE_PASSAGE=about_sky(YES, NO), PLAIN=answer)
    record = await ask("sequential", model)
    assert (record["outcome"], record["stop_reason"], record["answer"]) == ("answered", "accepted", answer)
    assert [one["relevance"] for one in record["seen"]] == [1.0, 0.0]
    assert SEA not in model.turns("PLAIN")[0]
    assert record["said"] == [{"text": answer, "label": "fully supported", "score": 1.0, "quote": None}]
    kinds = [kind for kind, _ in model.asked]
    assert kinds == ["GRADE_PASSAGE", "GRADE_PASSAGE", "PLAIN", "GRADE_GROUNDING", "GRADE_ANSWER"]
    cost = record["cost"]
    assert (cost["model_calls"], cost["input_tokens"], cost["output_tokens"]) == (5, 50, 10)
    free = [model.kind_of(messages) for messages, given in model.model.calls if "response_format" not in given]
    assert free == ["PLAIN"], "graders are asked for structured output"


async def test_sequential_with_a_critic_that_says_no_to_everything_ends_with_nothing() -> None:
    model = model_of(GRADE_PASSAGE=NO, TRANSFORM_QUERY="What colours the sky?")
    retriever = ScriptedRetriever(always=[SKY, SEA])
    record = await ask("sequential", model, retriever)
    assert (record["outcome"], record["stop_reason"], record["answer"]) == ("abstained", "nothing_relevant", "")
    assert len(model.turns("TRANSFORM_QUERY")) == 2
    assert len(retriever.queries) == 3
    assert record["cost"]["model_calls"] == 3 * 2 + 2
    assert record["confidence"] == 0.0


async def test_sequential_redrafts_no_more_than_its_bound_and_answers_with_what_it_has() -> None:
    model = model_of(PLAIN=["One.", "Two.", "Three."], GRADE_GROUNDING=NO)
    record = await ask("sequential", model)
    assert len(model.turns("PLAIN")) == 3
    assert (record["outcome"], record["stop_reason"], record["answer"]) == ("answered", "claims_unsupported", "Three.")
    assert record["said"][0]["score"] == 0.0


async def test_sequential_bounds_its_drafts_over_all_searches_and_goes_on_with_the_rephrased_question() -> None:
    other = "What colours the sky?"
    retriever = ScriptedRetriever(found={QUESTION: [SEA], other: [SKY]})
    model = model_of(PLAIN="Air.", GRADE_GROUNDING=[NO, YES, YES], GRADE_ANSWER=NO, TRANSFORM_QUERY=other)
    record = await ask("sequential", model, retriever)
    assert (len(model.turns("PLAIN")), len(model.turns("TRANSFORM_QUERY"))) == (3, 1)
    assert (record["answer"], record["stop_reason"]) == ("Air.", "not_useful")
    assert other in model.turns("PLAIN")[2]
    assert QUESTION not in model.turns("GRADE_ANSWER")[1]
    assert [one["text"] for one in record["seen"]] == [SEA], "the first search's"


@pytest.mark.parametrize("garbage", ["yes", "", "{", "[1]", '{"binary_score": 1}', '{"score": "yes"}', "null"])
async def test_a_grade_that_cannot_be_parsed_is_a_no(garbage: str) -> None:
    record = await ask("sequential", model_of(GRADE_PASSAGE=garbage, TRANSFORM_QUERY="Again?"))
    assert record["outcome"] == "abstained"


async def test_best_of_keeps_the_answer_with_the_best_support_and_utility() -> None:
    model = model_of(
        PLAIN=about_sky("Air scatters light.", "Salt."),
        RATE_SUPPORT=lambda turn: "Fully supported" if "<answer>\nAir" in turn else "partially",
        RATE_UTILITY=lambda turn: "2" if "<answer>\nAir" in turn else "Rating: 4",
    )
    record = await ask("best-of", model)
    assert record["answer"] == "Air scatters light."  # 5 + 2 against 2.5 + 4
    assert record["confidence"] == pytest.approx(0.7)
    assert record["said"][0]["label"] == "fully supported"
    assert record["usefulness"] == -0.5
    assert all((SKY in turn) != (SEA in turn) for turn in model.turns("PLAIN"))
    assert (record["route"], record["route_score"]) == ("retrieve", 1.0)


@pytest.mark.parametrize("name", ["best-of", "filter-flag"])
async def test_a_question_that_needs_no_search_is_answered_directly(name: str) -> None:
    retriever = ScriptedRetriever()
    record = await ask(name, model_of(NEEDS_SEARCH="No", DIRECT_GENERATE="Four."), retriever)
    assert (record["route"], record["route_score"]) == ("direct", 0.0)
    assert (record["answer"], record["confidence"]) == ("Four.", 1.0)
    assert (retriever.queries, record["seen"]) == ([], [])


@pytest.mark.parametrize(("name", "answer"), [("best-of", "Air."), ("filter-flag", "")])
async def test_with_nothing_relevant_best_of_answers_without_documents_and_filter_flag_not(
    name: str, answer: str
) -> None:
    record = await ask(name, model_of(RATE_RELEVANCE="no", FILTER_PASSAGE="no", DIRECT_GENERATE="Air."))
    assert (record["answer"], record["stop_reason"], record["confidence"]) == (answer, "nothing_relevant", 0.0)


@pytest.mark.parametrize(("said", "rating"), [("5", 5), ("4/5", 4), ("rating: 2", 2), ("9", 3), ("good", 3)])
def test_utility_is_the_first_digit_and_the_middle_without_one(said: str, rating: int) -> None:
    assert utility_of(said) == rating


async def test_filter_flag_reads_300_characters_when_it_filters_and_all_when_it_writes() -> None:
    long = "a" * 299 + "bc" + "d" * 100
    model = model_of(PLAIN="Something.")
    record = await ask("filter-flag", model, ScriptedRetriever(always=[long]))
    assert "a" * 299 + "b\n" in model.turns("FILTER_PASSAGE")[0]
    assert long in model.turns("PLAIN")[0]
    assert long in model.turns("CHECK_ANSWER")[0]
    assert (record["answer"], record["confidence"], record["stop_reason"]) == ("Something.", 1.0, "accepted")


async def test_filter_flag_gives_an_unsupported_answer_with_a_flag() -> None:
    model = model_of(FILTER_PASSAGE=about_sky("yes", "no"), PLAIN="Air.", CHECK_ANSWER="No.")
    record = await ask("filter-flag", model)
    assert record["answer"] == "Air." + FLAG
    assert (record["outcome"], record["stop_reason"], record["confidence"]) == ("answered", "flagged", 0.5)
    assert record["said"] == [{"text": "Air.", "label": "no support", "score": 0.0, "quote": None}]
    assert SEA not in model.turns("PLAIN")[0]


@of_every_peer
async def test_a_draft_that_declines_is_an_abstention(name: str) -> None:
    record = await ask(name, model_of(PLAIN="I don't know."))
    assert (record["outcome"], record["stop_reason"], record["answer"]) == ("abstained", "declined", "")
    assert (record["confidence"], record["said"]) == (0.0, [])


@of_every_peer
async def test_all_peers_search_with_our_k_and_keep_no_more_than_it(name: str) -> None:
    retriever = ScriptedRetriever(always=[SKY, SEA, "More."])
    record = await ask(name, model_of(PLAIN="Air."), retriever)
    assert set(retriever.ks) == {2}
    assert [one["text"] for one in record["seen"]] == [SKY, SEA]
    assert record["decisions"][0 if name == "sequential" else 1]["passages"] == [SKY, SEA]
