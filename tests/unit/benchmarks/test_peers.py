"""The peers behave as the common ways do, within their bounds, and pay for every call."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.prompts import ChatPromptTemplate

from benchmarks.peers import peers, prompts
from benchmarks.peers.ways import FLAG, GENERATIONS, READ_CHARACTERS, TRANSFORMATIONS, utility_of
from core.errors import ModelError
from evaluation.records import Example, Record
from grounding.refusals import declines
from models.chat import Chat
from models.critic import Critic
from models.generator import Generator
from prompts.direct_generate import DIRECT_GENERATE
from prompts.generate import PLAIN
from run.context import RetrieverLike, Services
from tests.scripted import (
    NotScriptedError,
    ScriptedChat,
    ScriptedRetriever,
    StatusError,
    is_of,
    marks_of,
    reply,
)

YES, NO = '{"binary_score": "yes"}', '{"binary_score": "no"}'
SKY, SEA = "The sky is blue because air scatters blue light.", "The sea is salt."
KINDS: dict[str, ChatPromptTemplate] = {
    **{name: value for name, value in vars(prompts).items() if isinstance(value, ChatPromptTemplate)},
    "PLAIN": PLAIN,
    "DIRECT_GENERATE": DIRECT_GENERATE,
}
MARKS = {marks_of(prompt): name for name, prompt in KINDS.items()}
Said = str | Exception | Callable[[str], str]


def kind_of(messages: Sequence[BaseMessage]) -> str:
    return next(name for marks, name in MARKS.items() if is_of(messages, marks))


class Model:
    """Replies by the kind of prompt: the same each time, or a list one by one; ``asked`` is each kind and last turn."""

    def __init__(self, **replies: Said | Sequence[Said]) -> None:
        self.replies: Mapping[str, Said | Sequence[Said]] = replies
        self.asked: list[tuple[str, str]] = []
        self.model = ScriptedChat(script=[self._say] * 200)

    def _say(self, messages: list[BaseMessage]) -> AIMessage:
        kind, last = kind_of(messages), messages[-1].text
        turn = self.count(kind)
        self.asked.append((kind, last))
        if kind not in self.replies:
            raise NotScriptedError(kind)
        said = self.replies[kind]
        if not isinstance(said, str | Exception) and not callable(said):
            said = said[turn]
        if isinstance(said, Exception):
            raise said
        return reply(said(last) if callable(said) else said, read=10, written=2)

    def count(self, kind: str) -> int:
        return sum(one == kind for one, _ in self.asked)

    def turns(self, kind: str) -> list[str]:
        return [last for one, last in self.asked if one == kind]


def services(model: Model, retriever: ScriptedRetriever | None = None) -> Services:
    chat = Chat(lambda: model.model, "scripted", retries=0)
    found = retriever or ScriptedRetriever(always=[SKY, SEA])
    return Services(Generator(chat), Critic(chat), cast("RetrieverLike", found))


async def ask(name: str, model: Model, retriever: ScriptedRetriever | None = None, k: int = 2) -> Record:
    peer = next(one for one in peers(services(model, retriever), k) if one.name == name)
    return await peer.ask(Example(id="e1", question="Why is the sky blue?"))


def about_sky(yes: str, no: str) -> Callable[[str], str]:
    return lambda turn: yes if SKY[:20] in turn else no


async def test_sequential_accepts_a_grounded_answer_that_resolves_the_question() -> None:
    model = Model(
        GRADE_PASSAGE=about_sky(YES, NO), PLAIN="Air scatters blue light.", GRADE_GROUNDING=YES, GRADE_ANSWER=YES
    )
    record = await ask("sequential", model)
    assert (record["outcome"], record["stop_reason"], record["answer"]) == (
        "answered",
        "accepted",
        "Air scatters blue light.",
    )
    assert [one["relevance"] for one in record["seen"]] == [1.0, 0.0]
    assert SEA not in model.turns("PLAIN")[0]
    assert record["said"] == [
        {"text": "Air scatters blue light.", "label": "fully supported", "score": 1.0, "quote": None}
    ]
    assert [kind for kind, _ in model.asked] == [
        "GRADE_PASSAGE",
        "GRADE_PASSAGE",
        "PLAIN",
        "GRADE_GROUNDING",
        "GRADE_ANSWER",
    ]
    cost = record["cost"]
    assert (cost["model_calls"], cost["input_tokens"], cost["output_tokens"]) == (5, 50, 10)
    free = [kind_of(messages) for messages, given in model.model.calls if "response_format" not in given]
    assert free == ["PLAIN"], "graders are asked for structured output"


async def test_sequential_with_a_critic_that_says_no_to_everything_ends_with_nothing() -> None:
    model = Model(GRADE_PASSAGE=NO, TRANSFORM_QUERY="What colours the sky?")
    retriever = ScriptedRetriever(always=[SKY, SEA])
    record = await ask("sequential", model, retriever)
    assert (record["outcome"], record["stop_reason"], record["answer"]) == ("abstained", "nothing_relevant", "")
    assert model.count("TRANSFORM_QUERY") == TRANSFORMATIONS == 2
    assert len(retriever.queries) == 3
    assert record["cost"]["model_calls"] == 3 * 2 + 2
    assert record["confidence"] == 0.0


async def test_sequential_redrafts_no_more_than_its_bound_and_answers_with_what_it_has() -> None:
    model = Model(GRADE_PASSAGE=YES, PLAIN=["One.", "Two.", "Three."], GRADE_GROUNDING=NO)
    record = await ask("sequential", model)
    assert model.count("PLAIN") == GENERATIONS == 3
    assert (record["outcome"], record["stop_reason"], record["answer"]) == ("answered", "claims_unsupported", "Three.")
    assert record["said"][0]["score"] == 0.0


async def test_sequential_bounds_its_drafts_over_all_searches_and_goes_on_with_the_rephrased_question() -> None:
    retriever = ScriptedRetriever(found={"Why is the sky blue?": [SEA], "What colours the sky?": [SKY]})
    model = Model(
        GRADE_PASSAGE=YES,
        PLAIN="Air.",
        GRADE_GROUNDING=[NO, YES, YES],
        GRADE_ANSWER=NO,
        TRANSFORM_QUERY="What colours the sky?",
    )
    record = await ask("sequential", model, retriever)
    assert (model.count("PLAIN"), model.count("TRANSFORM_QUERY")) == (3, 1)
    assert (record["answer"], record["stop_reason"]) == ("Air.", "not_useful")
    assert "What colours the sky?" in model.turns("PLAIN")[2]
    assert "Why is the sky blue?" not in model.turns("GRADE_ANSWER")[1]
    assert [one["text"] for one in record["seen"]] == [SEA], "the first search's"


@pytest.mark.parametrize("garbage", ["yes", "", "{", "[1]", '{"binary_score": 1}', '{"score": "yes"}', "null"])
async def test_a_grade_that_cannot_be_parsed_is_a_no(garbage: str) -> None:
    record = await ask("sequential", Model(GRADE_PASSAGE=garbage, TRANSFORM_QUERY="Again?"))
    assert record["outcome"] == "abstained"


async def test_best_of_keeps_the_answer_with_the_best_support_and_utility() -> None:
    model = Model(
        NEEDS_SEARCH="Yes.",
        RATE_RELEVANCE="Relevant",
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
    record = await ask(name, Model(NEEDS_SEARCH="No", DIRECT_GENERATE="Four."), retriever)
    assert (record["route"], record["route_score"], record["answer"], record["confidence"]) == (
        "direct",
        0.0,
        "Four.",
        1.0,
    )
    assert (retriever.queries, record["seen"]) == ([], [])


@pytest.mark.parametrize(("said", "rating"), [("5", 5), ("4/5", 4), ("rating: 2", 2), ("9", 3), ("good", 3)])
def test_utility_is_the_first_digit_and_the_middle_without_one(said: str, rating: int) -> None:
    assert utility_of(said) == rating


async def test_filter_flag_reads_300_characters_when_it_filters_and_all_when_it_writes() -> None:
    long = "a" * 299 + "bc" + "d" * 100
    model = Model(NEEDS_SEARCH="yes", FILTER_PASSAGE="yes", PLAIN="Something.", CHECK_ANSWER="Yes")
    record = await ask("filter-flag", model, ScriptedRetriever(always=[long]))
    assert READ_CHARACTERS == 300
    assert "a" * 299 + "b\n" in model.turns("FILTER_PASSAGE")[0]
    assert long in model.turns("PLAIN")[0]
    assert long in model.turns("CHECK_ANSWER")[0]
    assert (record["answer"], record["confidence"], record["stop_reason"]) == ("Something.", 1.0, "accepted")


async def test_filter_flag_gives_an_unsupported_answer_with_a_flag() -> None:
    model = Model(NEEDS_SEARCH="yes", FILTER_PASSAGE=about_sky("yes", "no"), PLAIN="Air.", CHECK_ANSWER="No.")
    record = await ask("filter-flag", model)
    assert record["answer"] == "Air." + FLAG
    assert (record["outcome"], record["stop_reason"], record["confidence"]) == ("answered", "flagged", 0.5)
    assert record["said"] == [{"text": "Air.", "label": "no support", "score": 0.0, "quote": None}]
    assert SEA not in model.turns("PLAIN")[0]


@pytest.mark.parametrize("name", ["sequential", "best-of", "filter-flag"])
async def test_a_draft_that_declines_is_an_abstention(name: str) -> None:
    model = Model(
        NEEDS_SEARCH="yes",
        GRADE_PASSAGE=YES,
        RATE_RELEVANCE="relevant",
        FILTER_PASSAGE="yes",
        PLAIN="I don't know.",
        GRADE_GROUNDING=YES,
        GRADE_ANSWER=YES,
        RATE_SUPPORT="fully",
        RATE_UTILITY="5",
        CHECK_ANSWER="no",
    )
    assert declines("I don't know.")
    record = await ask(name, model)
    assert (record["outcome"], record["stop_reason"], record["answer"], record["confidence"], record["said"]) == (
        "abstained",
        "declined",
        "",
        0.0,
        [],
    )


@pytest.mark.parametrize("name", ["sequential", "best-of", "filter-flag"])
async def test_all_peers_search_with_our_k_and_keep_no_more_than_it(name: str) -> None:
    retriever = ScriptedRetriever(always=[SKY, SEA, "More."])
    model = Model(
        NEEDS_SEARCH="yes",
        GRADE_PASSAGE=NO,
        RATE_RELEVANCE="no",
        FILTER_PASSAGE="no",
        TRANSFORM_QUERY="Again?",
        DIRECT_GENERATE="Air.",
    )
    record = await ask(name, model, retriever, k=2)
    assert set(retriever.ks) == {2}
    assert [one["text"] for one in record["seen"]] == [SKY, SEA]
    assert record["decisions"][0 if name == "sequential" else 1]["passages"] == [SKY, SEA]


@pytest.mark.parametrize("name", ["sequential", "best-of", "filter-flag"])
async def test_a_call_that_fails_is_raised_as_by_plain(name: str) -> None:
    model = Model(NEEDS_SEARCH=StatusError(500, "overloaded"), GRADE_PASSAGE=StatusError(500, "overloaded"))
    with pytest.raises(ModelError, match="overloaded"):
        await ask(name, model)
