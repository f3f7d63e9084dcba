import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from core.types import Verdict
from evaluation.judging.criteria import NO_REFERENCE
from evaluation.judging.judge import judge_records, passages_of
from evaluation.judging.judge_prompts import NO_ANSWER
from evaluation.records import FAILED, IDENTICAL, UNREADABLE, Example, Judgements, Record, Seen
from models.failures import UnusableRequestError
from tests.scripted import Judgement, ScriptedCritic, services, verdict
from tests.unit.evaluation.sample_comparisons import Writer, reply
from tests.unit.evaluation.sample_records import answered, said, seen

EXAMPLE = Example(id="e1", question="Why is the sky blue?", answerable=True, references=("scatters",))


class Model:
    """A critic and a writer that find everything supported, useful and a tie, but for what is given.

    ``support`` is by claim, ``useful`` by a part of the passage; ``prefer`` gives a label, another reply or an error.
    """

    def __init__(
        self,
        *,
        support: Mapping[str, Judgement | list[Judgement]] | None = None,
        useful: Mapping[str, str | Verdict] | None = None,
        prefer: Callable[[str, str], str | Exception] = lambda first, second: "tie",
        questions: str | Exception = "Q1?\nQ2?\nQ3?",
    ) -> None:
        def says(inputs: dict[str, Any]) -> str | Exception:
            said = questions if "answer" in inputs else prefer(inputs["first"], inputs["second"])
            return reply(said) if said in ("first", "second", "tie") else said

        def judged(passage: str) -> str | Verdict:
            return next((label for text, label in (useful or {}).items() if text in passage), "useful")

        self.critic = ScriptedCritic(support or {}, otherwise={"support": "fully supported", "useful": judged})
        self.writer = Writer(says)

    @property
    def calls(self) -> int:
        return len(self.critic.asked) + len(self.writer.asked)

    def judged(self, kind: str) -> list[dict[str, Any]]:
        """The inputs of the critic's verdicts of a kind."""
        asked = zip(self.critic.asked, self.critic.inputs, strict=True)
        return [inputs for (name, _), inputs in asked if name == kind]

    def wrote(self, about: str) -> list[dict[str, Any]]:
        """The inputs of what was written about an ``answer``, or the ``first`` of two."""
        return [inputs for inputs in self.writer.asked if about in inputs]


def embed(texts: list[str]) -> list[list[float]]:
    """The question and ``Same?`` point one way, all else across."""
    return [[2.0, 0.0] if text in ("Why is the sky blue?", "Same?") else [0.0, 3.0] for text in texts]


async def judge(
    model: Model, records: Sequence[Record], path: Path, examples: Sequence[Example] = (EXAMPLE,)
) -> Judgements:
    made = services(cast("Any", model.writer), model.critic)
    return await judge_records(made, embed, examples, records, path)


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
    asked = model.judged("support")
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
    assert model.calls == 0


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
    assert again.calls == asked_again


def test_the_passages_are_those_seen_noted_and_cited_each_once() -> None:
    one = answered(
        "self-rag",
        seen=[seen("A"), seen("B")],
        decisions=[{"step": "search", "passages": ["B", "C"]}, {"step": "grade", "passages": 3}],
        citations=[{"passage": "D"}, {"passage": "A"}],
    )
    assert [passage["text"] for passage in passages_of(one)] == ["A", "B", "C", "D"]


async def test_relevancy_is_the_mean_cosine_of_the_first_three_questions(store: Path) -> None:
    model = Model(questions="1. Same?\n\n- Other?\n3) Another?\nSame?")
    assert (await judge(model, [answered("plain")], store)).relevancy[("plain", "e1")] == pytest.approx(1 / 3)
    assert model.wrote("answer") == [{"answer": "Air scatters light."}]


AIR = "Air scatters."
PAIR = [answered("self-rag", AIR), answered("plain", "Sea.")]


async def test_a_pair_is_asked_in_both_orders_and_decided_when_they_agree(store: Path) -> None:
    model = Model(prefer=lambda first, second: "first" if first == AIR else "second")
    found = await judge(model, PAIR, store)
    (pair,) = found.pairs
    assert ([opinion.preferred for opinion in pair.opinions], pair.verdict) == (["self-rag", "self-rag"], "self-rag")
    assert found.agreement == 1.0, "the labels say so too"
    orders = [(one["first"], one["second"]) for one in model.wrote("first")]
    assert sorted(orders) == [(AIR, "Sea."), ("Sea.", AIR)]
    assert all("Why is the sky blue?" in one["question"] for one in model.wrote("first"))
    assert {one["reference"] for one in model.wrote("first")} == {NO_REFERENCE}


async def test_an_abstention_is_shown_to_the_judge_in_the_same_words_and_two_are_a_tie(store: Path) -> None:
    model = Model(prefer=lambda first, second: "second" if second == NO_ANSWER else "first")
    records = [answered("self-rag", "The documents do not answer it.", outcome="abstained"), answered("plain", "Sea.")]
    found = await judge(model, [*records, answered("peer", "I don't know.")], store)
    assert [pair.verdict for pair in found.pairs] == ["self-rag", None]
    assert [pair.preference for pair in found.pairs] == ["self-rag", IDENTICAL]
    assert len(model.wrote("first")) == 2, "two abstentions are not compared"


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
    found = await judge(Model(questions=UnusableRequestError(REFUSED)), [answered("plain")], store)
    assert (found.relevancy, found.faithfulness) == ({("plain", "e1"): None}, {("plain", "e1"): 1.0})
    assert (found.asked, found.unanswered) == (2, 1)
    assert str(found.reason).endswith("(too long).")


READ = [seen("Air scatters blue light."), seen("Salt melts ice."), seen("Light scatters.")]


async def test_each_passage_that_was_read_is_judged_by_the_reference_and_once_for_all_systems(store: Path) -> None:
    model = Model(useful={"Salt": "useless"})
    records = [answered("self-rag", "Air.", read=READ[:1]), answered("plain", "Sea.", read=READ)]
    found = await judge(model, records, store)
    assert found.useful == {("self-rag", "e1"): [True], ("plain", "e1"): [True, False, True]}
    asked = model.judged("useful")
    assert len(asked) == 3
    assert {(one["question"], one["reference"]) for one in asked} == {("Why is the sky blue?", "scatters")}


async def test_recall_is_the_share_of_the_references_claims_that_what_was_read_supports(store: Path) -> None:
    long = replace(EXAMPLE, references=("Air scatters light. It is far away.", "x"))
    model = Model(support={"It is far away.": "partially supported"})
    found = await judge(model, [answered("plain", "Sea.", read=READ[:2])], store, [long])
    assert found.recall == {("plain", "e1"): 0.5}
    asked = [one for one in model.judged("support") if one["claim"] != "Sea."]
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
    assert (found.useful, found.recall, model.judged("useful")) == ({}, {}, [])


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
    assert model.calls == 4 + 2 + 2
    again = Model(prefer=lambda first, second: "tie")
    assert await judge(again, RUN, store) == once
    assert again.calls == 0
    rows = kept_in(store)
    assert len(rows) == 8
    assert {row["kind"] for row in rows} == {"faithfulness", "questions", "criteria"}


async def test_failed_records_and_unknown_examples_are_left_out(store: Path) -> None:
    model = Model()
    found = await judge(model, [answered("plain", error="gone"), answered("plain", example="other")], store)
    assert (found.faithfulness, found.pairs, model.calls) == ({}, [], 0)
