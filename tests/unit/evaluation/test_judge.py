import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.prompts import ChatPromptTemplate

from core.types import Verdict
from evaluation.judging.criteria import COMPARE, NO_REFERENCE
from evaluation.judging.judge import judge_records, passages_of
from evaluation.judging.judge_prompts import NO_ANSWER, QUESTIONS
from evaluation.records import FAILED, IDENTICAL, UNREADABLE, Example, Judgements, Record, Seen
from models.failures import UnusableRequestError
from models.usage import NodeBudget
from prompts.choice import Choice
from run.context import RetrieverLike, Services
from tests.scripted import ScriptedRetriever, verdict
from tests.unit.evaluation.sample_comparisons import reply
from tests.unit.evaluation.sample_records import answered, said, seen

EXAMPLE = Example(id="e1", question="Why is the sky blue?", answerable=True, references=("scatters",))


@dataclass
class Model:
    """Critic and generator in one.

    ``support`` is by claim, ``useful`` by passage, ``prefer`` by the two answers (a label, another reply or an error),
    ``questions`` by answer.
    """

    support: dict[str, str | Verdict] = field(default_factory=dict)
    useful: dict[str, str | Verdict] = field(default_factory=dict)
    prefer: Callable[[str, str], str | Exception] = lambda first, second: "tie"
    questions: Callable[[str], str] = lambda answer: "Q1?\nQ2?\nQ3?"
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def with_budget(self, budget: NodeBudget) -> Any:
        return self

    async def choose(self, choice: Choice, **inputs: Any) -> Verdict:
        choice.messages.format_messages(**inputs)
        self.asked.append((choice.name, inputs))
        await asyncio.sleep(0)
        if choice.name == "useful":
            useful = (one for text, one in self.useful.items() if text in inputs["passage"])
            said: str | Verdict = next(useful, "useful")
        else:
            said = self.support.get(inputs["claim"], "fully supported")
        return verdict(said) if isinstance(said, str) else said

    async def write(self, messages: ChatPromptTemplate, *, max_tokens: int, hidden: bool = False, **inputs: Any) -> str:
        assert hidden
        self.asked.append(("compare" if messages is COMPARE else "questions", inputs))
        await asyncio.sleep(0)
        if messages is QUESTIONS:
            return self.questions(inputs["answer"])
        said = self.prefer(inputs["first"], inputs["second"])
        if isinstance(said, Exception):
            raise said
        return reply(said) if said in ("first", "second", "tie") else said

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [inputs for one, inputs in self.asked if one == kind]


def embed(texts: list[str]) -> list[list[float]]:
    """The question and ``Same?`` point one way, all else across."""
    return [[2.0, 0.0] if text in ("Why is the sky blue?", "Same?") else [0.0, 3.0] for text in texts]


async def judge(
    model: Model, records: Sequence[Record], path: Path, examples: Sequence[Example] = (EXAMPLE,)
) -> Judgements:
    services = Services(model, model, cast("RetrieverLike", ScriptedRetriever()))
    return await judge_records(services, embed, examples, records, path)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "run" / "judge.jsonl"


def kept_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_faithfulness_is_the_share_of_claims_fully_supported_whatever_the_system_says(store: Path) -> None:
    model = Model(support={"It is Tuesday.": "no support", "Birds fly.": "partially supported"})
    answer = "Air scatters light. It is Tuesday. Birds fly. Light is blue."
    marked = answered("plain", f"{answer} [not supported by the documents]", said=[said("Light is blue.", 0.0)])
    assert (await judge(model, [marked], store)).faithfulness == {("plain", "e1"): 0.5}
    asked = model.of("support")
    assert [one["claim"] for one in asked] == ["Air scatters light.", "It is Tuesday.", "Birds fly.", "Light is blue."]
    assert all("Air scatters blue light." in one["passages"] and one["draft"] == answer for one in asked)


@pytest.mark.parametrize(
    "abstention",
    [answered("plain", ""), answered("plain", "I don't know."), answered("plain", "No answer.", outcome="stopped")],
)
async def test_an_abstention_has_no_faithfulness_and_no_relevancy_and_costs_no_call(
    abstention: Record, store: Path
) -> None:
    model = Model()
    found = await judge(model, [abstention], store)
    assert found.faithfulness == {("plain", "e1"): None}
    assert found.relevancy == {("plain", "e1"): 0.0}
    assert model.asked == []


@pytest.mark.parametrize(
    ("reason", "asked_again"), [("the model did not answer in time.", 1), ("The reply was none of the labels.", 0)]
)
async def test_a_claim_without_a_verdict_leaves_the_answer_open_and_is_asked_again_if_the_model_failed(
    reason: str, asked_again: int, store: Path
) -> None:
    lost = verdict("unknown", reason=reason)
    found = await judge(Model(support={"Air scatters light.": lost}), [answered("plain")], store)
    assert found.faithfulness == {("plain", "e1"): None}
    again = Model()
    found = await judge(again, [answered("plain")], store)
    assert found.faithfulness == {("plain", "e1"): 1.0 if asked_again else None}
    assert [kind for kind, _ in again.asked] == ["support"] * asked_again


def test_the_passages_are_those_seen_noted_and_cited_each_once() -> None:
    one = answered(
        "self-rag",
        seen=[seen("A"), seen("B")],
        decisions=[{"step": "search", "passages": ["B", "C"]}, {"step": "grade", "passages": 3}],
        citations=[{"passage": "D"}, {"passage": "A"}],
    )
    assert [passage["text"] for passage in passages_of(one)] == ["A", "B", "C", "D"]


async def test_relevancy_is_the_mean_cosine_of_the_first_three_questions(store: Path) -> None:
    model = Model(questions=lambda answer: "1. Same?\n\n- Other?\n3) Another?\nSame?")
    assert (await judge(model, [answered("plain")], store)).relevancy[("plain", "e1")] == pytest.approx(1 / 3)
    assert model.of("questions") == [{"answer": "Air scatters light."}]


AIR = "Air scatters."
PAIR = [answered("self-rag", AIR), answered("plain", "Sea.")]


async def test_a_pair_is_asked_in_both_orders_and_decided_when_they_agree(store: Path) -> None:
    model = Model(prefer=lambda first, second: "first" if first == AIR else "second")
    found = await judge(model, PAIR, store)
    (pair,) = found.pairs
    assert ([opinion.preferred for opinion in pair.opinions], pair.verdict) == (["self-rag", "self-rag"], "self-rag")
    assert found.agreement == 1.0, "the labels say so too"
    orders = [(one["first"], one["second"]) for one in model.of("compare")]
    assert sorted(orders) == [(AIR, "Sea."), ("Sea.", AIR)]
    assert all("Why is the sky blue?" in one["question"] for one in model.of("compare"))
    assert {one["reference"] for one in model.of("compare")} == {NO_REFERENCE}


async def test_an_abstention_is_shown_to_the_judge_in_the_same_words_and_two_are_a_tie(store: Path) -> None:
    model = Model(prefer=lambda first, second: "second" if second == NO_ANSWER else "first")
    records = [answered("self-rag", "The documents do not answer it.", outcome="abstained"), answered("plain", "Sea.")]
    found = await judge(model, [*records, answered("peer", "I don't know.")], store)
    assert [pair.verdict for pair in found.pairs] == ["self-rag", None]
    assert [pair.preference for pair in found.pairs] == ["self-rag", IDENTICAL]
    assert len(model.of("compare")) == 2, "two abstentions are not compared"


REFUSED = "The server of judge refused the request (too long)."
RAMBLED = verdict("unknown", reason="The reply was none of the labels.")


@pytest.mark.parametrize(
    ("said", "preference", "reason"),
    [
        (UnusableRequestError(REFUSED), FAILED, REFUSED),
        ("Well, it depends.", UNREADABLE, "The reply is not in the form asked for."),
    ],
)
@pytest.mark.parametrize("orders", [1, 2])
async def test_a_pair_without_a_verdict_is_a_failure_and_no_tie(
    store: Path, said: str | Exception, preference: str, reason: str, orders: int
) -> None:
    def prefer(first: str, second: str) -> str | Exception:
        return "first" if orders == 1 and first == AIR else said

    found = await judge(Model(prefer=prefer), PAIR, store)
    (pair,) = found.pairs
    assert (pair.verdict, pair.preference) == (None, preference)
    assert (found.asked, found.unanswered, found.reason) == (6, orders, reason)


async def test_a_server_that_refuses_a_text_leaves_that_question_open_and_is_told(store: Path) -> None:
    def refuse(answer: str) -> str:
        raise UnusableRequestError(REFUSED)

    found = await judge(Model(questions=refuse), [answered("plain")], store)
    assert (found.relevancy, found.faithfulness) == ({("plain", "e1"): None}, {("plain", "e1"): 1.0})
    assert (found.asked, found.unanswered) == (2, 1)
    assert str(found.reason).endswith("(too long).")


READ = [seen("Air scatters blue light."), seen("Salt melts ice."), seen("Light scatters.")]


async def test_each_passage_that_was_read_is_judged_by_the_reference_and_once_for_all_systems(store: Path) -> None:
    model = Model(useful={"Salt": "useless"})
    records = [answered("self-rag", "Air.", read=READ[:1]), answered("plain", "Sea.", read=READ)]
    found = await judge(model, records, store)
    assert found.useful == {("self-rag", "e1"): [True], ("plain", "e1"): [True, False, True]}
    asked = model.of("useful")
    assert len(asked) == 3
    assert {(one["question"], one["reference"]) for one in asked} == {("Why is the sky blue?", "scatters")}


async def test_recall_is_the_share_of_the_references_claims_that_what_was_read_supports(store: Path) -> None:
    long = replace(EXAMPLE, references=("Air scatters light. It is far away.", "x"))
    model = Model(support={"It is far away.": "partially supported"})
    found = await judge(model, [answered("plain", "Sea.", read=READ[:2])], store, [long])
    assert found.recall == {("plain", "e1"): 0.5}
    asked = [one for one in model.of("support") if one["claim"] != "Sea."]
    assert [one["claim"] for one in asked] == ["Air scatters light.", "It is far away."]
    assert all("Salt melts ice." in one["passages"] for one in asked)


@pytest.mark.parametrize(
    ("example", "read"),
    [
        (EXAMPLE, []),
        (replace(EXAMPLE, references=()), READ),
        (replace(EXAMPLE, answerable=False), READ),
    ],
    ids=["nothing read", "no reference", "unanswerable"],
)
async def test_without_reading_or_a_reference_passages_are_not_judged(
    store: Path, example: Example, read: list[Seen]
) -> None:
    model = Model()
    found = await judge(model, [answered("plain", read=read)], store, [example])
    assert (found.useful, found.recall, model.of("useful")) == ({}, {}, [])


async def test_a_passage_without_a_verdict_leaves_precision_open(store: Path) -> None:
    found = await judge(Model(useful={"Salt": RAMBLED}), [answered("plain", read=READ)], store)
    assert (found.useful, found.unanswered) == ({("plain", "e1"): None}, 1)


async def test_an_answer_that_read_nothing_has_no_faithfulness_though_passages_were_found(store: Path) -> None:
    found = await judge(Model(), [answered("self-rag", outcome="direct", read=[])], store)
    assert found.faithfulness == {("self-rag", "e1"): None}


RUN = [answered("self-rag", "Air. Light."), answered("plain", "Sea. Salt.")]


async def test_a_second_run_asks_nothing_and_finds_the_same(store: Path) -> None:
    model = Model(support={"Sea.": "no support"}, prefer=lambda first, second: "first" if "Air" in first else "second")
    once = await judge(model, RUN, store)
    assert len(model.asked) == 4 + 2 + 2
    again = Model(prefer=lambda first, second: "tie")
    assert await judge(again, RUN, store) == once
    assert again.asked == []
    rows = kept_in(store)
    assert len(rows) == 8
    assert {row["kind"] for row in rows} == {"faithfulness", "questions", "criteria"}


async def test_failed_records_and_unknown_examples_are_left_out(store: Path) -> None:
    model = Model()
    found = await judge(model, [answered("plain", error="gone"), answered("plain", example="other")], store)
    assert (found.faithfulness, found.pairs, model.asked) == ({}, [], [])
