import asyncio
from contextlib import nullcontext
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from core.errors import ModelError, RequestError
from graph import node_wrapper
from graph.node_wrapper import WrappedNode
from models.usage import LimitReachedError
from run.context import Context, Limits, Services
from run.initial_state import (
    LONGEST_ANSWER,
    LONGEST_QUESTION,
    MOST_TURNS,
    require_conversation,
    require_question,
    require_standalone,
)
from run.state import SelfRAGState
from tests.scripted import services, state, turn

Node = Any


async def through(node: Node, made: Services | None = None) -> dict[str, Any]:
    """The state after a graph of this one node."""
    graph = StateGraph(SelfRAGState, context_schema=Context)
    made = made or services()
    graph.add_node(node.__name__, WrappedNode(node, made))
    graph.add_edge(START, node.__name__)
    graph.add_edge(node.__name__, END)
    begun = state()
    given: Any = {**begun, "usage": Overwrite(begun["usage"])}
    after: dict[str, Any] = await graph.compile().ainvoke(given)
    return after


def doing(result: dict[str, Any] | Exception, name: str = "grade") -> Node:
    """A node that returns an update, or raises an error."""

    async def node(*_: Any) -> dict[str, Any]:
        if isinstance(result, Exception):
            raise result
        return result

    node.__name__ = name
    return node


async def test_what_a_node_decided_goes_into_the_path_and_not_into_the_state() -> None:
    after = await through(doing({"relevant": ["a"], "decided": {"relevant": 1}}))
    assert after["relevant"] == ["a"]
    (step,) = after["path"]
    assert (step["node"], step["decided"]) == ("grade", {"relevant": 1})
    assert 0 <= step["seconds"] < 60
    assert "decided" not in after


async def test_a_model_that_failed_stops_the_run_and_says_why() -> None:
    after = await through(doing(ModelError("The key was refused.")))
    assert after["stops"] == [{"reason": "model_failed", "failure": "The key was refused."}]
    assert after["path"][0]["decided"] == {"stop": "model_failed", "failure": "The key was refused."}


async def test_a_failure_at_which_a_node_went_on_goes_into_its_step_and_stops_nothing() -> None:
    async def grade(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
        assert services.budget
        services.budget.failure = "The server is down."
        return {"relevant": ["a"]}

    after = await through(grade)
    assert (after["relevant"], after["stops"]) == (["a"], [])
    assert after["path"][0]["decided"] == {"failure": "The server is down."}


async def test_a_node_may_say_that_a_failure_ends_the_run() -> None:
    after = await through(doing({"answer": "No.", "failure": "The server is down."}))
    assert (after["answer"], after["stops"]) == ("No.", [{"reason": "model_failed", "failure": "The server is down."}])


@pytest.mark.parametrize(("went_on", "written"), [(False, []), (True, ["a"])])
async def test_a_limit_stops_the_run_also_where_the_node_went_on(went_on: bool, written: list[str]) -> None:
    async def grade(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
        generator: Any = services.generator
        with pytest.raises(LimitReachedError) if went_on else nullcontext():
            await generator.budget.admit(10**9)
        return {"relevant": ["a"]}

    after = await through(grade)
    assert after["stops"] == [{"reason": "limit_tokens", "failure": None}]
    assert after["relevant"] == written
    assert after["path"][0]["decided"]["stop"] == "limit_tokens"


@pytest.mark.parametrize(("name", "written"), [("grade", []), ("finish", ["a"])])
async def test_no_node_but_the_last_outlasts_the_time(
    monkeypatch: pytest.MonkeyPatch, name: str, written: list[str]
) -> None:
    monkeypatch.setattr(node_wrapper, "GRACE_SECONDS", 0)

    async def node(*_: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"relevant": ["a"]}

    node.__name__ = name
    after = await through(node, services(limits=Limits(seconds=1e-9)))
    assert (after["relevant"], bool(after["stops"])) == (written, not written)


@pytest.mark.parametrize("error", [ModelError("The key was refused."), LimitReachedError("limit_calls")])
async def test_what_ends_a_comparison_does_not_stop_the_run(error: Exception) -> None:
    after = await through(doing(error, "compare_answers"))
    assert after["stops"] == []
    assert after["differing"] == []


@pytest.mark.parametrize("question", ["", "  \n\t ", None, 3, "\u200b\u3164", "\x1b[31m\ud800"])
def test_an_empty_question_is_refused(question: object) -> None:
    with pytest.raises(RequestError, match="empty"):
        require_question(question)


def test_a_question_may_have_so_many_characters_and_no_more() -> None:
    assert require_question("x" * LONGEST_QUESTION)
    with pytest.raises(RequestError, match=r"100,000 characters: shorten it to 8,000"):
        require_question("x" * 100_000)


def test_the_last_turns_of_a_conversation_count() -> None:
    turns = [turn(f"Why {number}?") for number in range(1_000)]
    assert require_conversation(turns) == require_conversation(tuple(turns)) == turns[-MOST_TURNS:]
    assert require_conversation(()) == []


def test_a_turn_is_kept_no_longer_than_it_is_read_and_without_what_cannot_be_seen() -> None:
    (kept,) = require_conversation([turn(" Why\x00\u200b\ud800? ", "\x00" + "y" * 1_000_000)])
    assert (kept["question"], kept["standalone"]) == ("Why?", "Why?")
    assert 0 < len(kept["answer"]) <= LONGEST_ANSWER
    (kept,) = require_conversation([turn("x" * 1_000_000)])
    assert len(kept["question"]) == LONGEST_QUESTION


@pytest.mark.parametrize(
    ("conversation", "place"),
    [
        ("Why?", " at 0"),
        (["Why?"], " at 0"),
        ({"question": "Why?"}, ""),
        (3, ""),
        ([{"question": "Why?", "answer": "So."}], " at 0.standalone"),
        ([turn("Why?"), turn("Why?", outcome="certain")], " at 1.outcome"),
        ([turn("Why?", answer=None)], " at 0.answer"),
    ],
)
def test_what_is_no_conversation_is_refused_in_a_sentence(conversation: object, place: str) -> None:
    with pytest.raises(RequestError, match=rf"^The conversation is wrong{place}: give a list of turns, [^.]*\.$"):
        require_conversation(conversation)


@pytest.mark.parametrize("standalone", ["", " \u200b", 3, "x" * 9_000])
def test_a_correction_that_says_nothing_is_refused(standalone: object) -> None:
    with pytest.raises(RequestError, match=r"^The standalone question (?:is empty|has 9,000 characters)"):
        require_standalone(standalone)


async def test_other_errors_are_not_swallowed() -> None:
    with pytest.raises(OSError, match="the disk is gone"):
        await through(doing(OSError("the disk is gone")))
