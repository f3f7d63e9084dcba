"""A conversation: follow-ups are given what they lean on, and earlier answers are evidence for nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from app.results.result import result_of
from core.types import Turn
from graph.builder import build_graph
from run.context import Context, Limits
from run.state import SelfRAGState
from tests.integration.graph.sky import Died, critic, nodes_of, thread
from tests.scripted import ScriptedCritic, ScriptedGenerator, ScriptedRetriever, services, turn

LEASE, SUBLET = "The lease runs for five years.", "A sublease runs for one year."
MOULD = "Fleming discovered penicillin."
FIRST, FOLLOW_UP, OTHER = "How long does the lease run?", "And a sublease?", "Who discovered penicillin?"
JOINED, REWRITTEN = f"{FIRST} {FOLLOW_UP}", "How long does a sublease run?"


@dataclass
class World:
    """A graph over scripts, and what was asked of them."""

    found: dict[str, list[str]]
    drafts: Sequence[str]
    relevant: Sequence[str]
    standalone: Sequence[str | Exception] = ()
    saver: InMemorySaver | None = None
    generator: ScriptedGenerator = field(init=False)
    judge: ScriptedCritic = field(init=False)
    retriever: ScriptedRetriever = field(init=False)

    def __post_init__(self) -> None:
        self.generator = ScriptedGenerator(drafts=self.drafts, standalone=self.standalone)
        self.judge = critic(relevance=lambda text: "relevant" if text in self.relevant else "irrelevant")
        self.retriever = ScriptedRetriever(self.found)
        self.graph = build_graph(services(self.generator, self.judge, self.retriever), self.saver)

    async def ask(
        self,
        question: str,
        conversation: Sequence[Turn] = (),
        given: str | None = None,
        config: Any = None,
        **settings: Any,
    ) -> SelfRAGState:
        asked: Any = {"question": question}
        asked |= {"conversation": list(conversation)} if conversation else {}
        asked |= {"given_standalone": given} if given else {}
        return cast("SelfRAGState", await self.graph.ainvoke(asked, config, context=Context(**settings)))

    def inputs(self) -> list[dict[str, Any]]:
        """What was put into the prompts of the critic and of drafts."""
        return [*self.judge.inputs, *(inputs for name, inputs in self.generator.asked if name != "standalone")]


def sublease(standalone: Sequence[str | Exception] = (), **more: Any) -> World:
    """Documents of which the follow-up's is found by what was said and by the joined question."""
    found = {FOLLOW_UP: [MOULD, SUBLET], JOINED: [LEASE, SUBLET], REWRITTEN: [SUBLET]}
    return World(found, [SUBLET], [SUBLET], standalone, **more)


async def test_three_turns_a_follow_up_another_subject_and_a_correction() -> None:
    corrected = "How long may a sublease run in Spain?"
    world = World(
        {
            FIRST: [LEASE],
            FOLLOW_UP: [SUBLET],
            JOINED: [LEASE, SUBLET],
            OTHER: [MOULD],
            f"{JOINED} {OTHER}": [LEASE, MOULD],
            corrected: [SUBLET],
        },
        [LEASE, SUBLET, MOULD, SUBLET],
        [LEASE, SUBLET, MOULD],
    )
    conversation: list[Turn] = []
    standalone, paths, queries = [], [], []
    for question, given in ((FIRST, None), (FOLLOW_UP, None), (OTHER, None), ("And in Spain?", corrected)):
        final = await world.ask(question, conversation, given, conflicts=False)
        result = result_of(final)
        assert (result.question, result.outcome) == (question, "grounded")
        conversation.append(result.turn())
        standalone.append(result.standalone)
        paths.append(nodes_of(final)[0])
        queries.append(result.queries)
    assert standalone == [FIRST, JOINED, OTHER, corrected]
    assert paths == ["decide", "contextualize", "contextualize", "contextualize"]
    assert queries == [[FIRST], [FOLLOW_UP], [OTHER], [corrected]]
    assert world.retriever.queries == [FIRST, FOLLOW_UP, JOINED, OTHER, f"{JOINED} {OTHER}", corrected]
    assert [turn["answer"] for turn in conversation] == [LEASE, SUBLET, MOULD, SUBLET]
    world.generator.done()


@pytest.mark.parametrize("follow_ups", ["search", "rewrite"])
async def test_no_prompt_that_judges_or_drafts_holds_an_earlier_answer(follow_ups: str) -> None:
    world = sublease([REWRITTEN])
    earlier = [turn(FIRST, "Zebras sleep standing up."), turn(OTHER, "Zebras are striped."), turn(FIRST, "Zebra.")]
    final = await world.ask(FOLLOW_UP, earlier, follow_ups=follow_ups, explain=True)
    meant = JOINED if follow_ups == "search" else REWRITTEN
    read = world.inputs()
    assert (final["outcome"], {inputs["question"] for inputs in read}) == ("grounded", {meant})
    assert (final["question"], final["standalone"], final["rewritten"]) == (FOLLOW_UP, meant, meant != JOINED)
    assert SUBLET in str(read)
    assert "ebra" not in str(read)
    assert ("ebra" in str(world.generator.inputs("standalone"))) is (follow_ups == "rewrite")


@pytest.mark.parametrize(("calls", "spent", "used"), [(4, 0, 3), (5, 1, 5)])
async def test_rewriting_leaves_the_calls_that_an_answer_needs(calls: int, spent: int, used: int) -> None:
    found = {FOLLOW_UP: [SUBLET], JOINED: [SUBLET], REWRITTEN: [SUBLET]}
    world = World(found, [SUBLET], [SUBLET], [REWRITTEN])
    limits = Limits(model_calls=calls)
    final = await world.ask(FOLLOW_UP, [turn(FIRST)], follow_ups="rewrite", ratings="direct", limits=limits)
    assert (final["outcome"], final["stop_reason"]) == ("grounded", "accepted")
    assert final["path"][0].get("model_calls") == spent
    assert final["usage"]["model_calls"] == used


async def test_a_conversation_is_of_one_question_of_a_thread() -> None:
    world = World({FOLLOW_UP: [SUBLET], JOINED: [SUBLET]}, [SUBLET, SUBLET], [SUBLET], saver=InMemorySaver())
    first = await world.ask(FOLLOW_UP, [turn(FIRST)], config=thread("a"))
    assert (first["standalone"], first["conversation"], first["given_standalone"]) == (JOINED, [], None)
    second = await world.ask(FOLLOW_UP, config=thread("a"))
    assert (second["standalone"], nodes_of(second)[0]) == (FOLLOW_UP, "decide")


async def test_a_run_that_dies_after_it_was_contextualized_goes_on_from_there() -> None:
    saver, deaths = InMemorySaver(), iter([Died()])
    world = sublease([REWRITTEN], saver=saver)

    async def dies_once(kind: str) -> None:
        if kind == "retrieve" and (death := next(deaths, None)):
            raise death

    world.judge.wait = dies_once
    world.graph = build_graph(services(world.generator, world.judge, world.retriever), saver)
    with pytest.raises(Died):
        await world.ask(FOLLOW_UP, [turn(FIRST)], config=thread("a"), follow_ups="rewrite")
    final = await world.graph.ainvoke(None, thread("a"), context=Context(follow_ups="rewrite"))
    assert (final["outcome"], final["standalone"]) == ("grounded", REWRITTEN)
    assert nodes_of(cast("SelfRAGState", final))[:2] == ["contextualize", "decide"]
    assert len(world.generator.inputs("standalone")) == 1
    assert final["usage"]["model_calls"] == sum(step.get("model_calls", 0) for step in final["path"])
