"""The questions of a thread are answered one at a time, kept, and go on where they were cut off."""

import asyncio
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing
from typing import Any
from unittest.mock import Mock

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import ValidationError

from app.conversations.answering import NotKept, ThreadAnswers
from app.conversations.checkpoints import ForgivingSaver
from app.conversations.tables import ThreadTables
from app.conversations.thread import ThreadBusyError, ThreadStorageError, ThreadTurn
from app.front_door import SelfRAG
from app.results.events import Finished, NodeFinished, NodeStarted
from core.errors import RequestError
from run.context import Context
from tests.integration.graph.sky import GOOD, QUESTION, Died
from tests.integration.server.scripted_server import CALLS, FOLLOW_UP, Models

Opener = Callable[..., ThreadTables]


@pytest.fixture
def answers(open_threads: Opener) -> ThreadAnswers:
    return ThreadAnswers(open_threads())


async def events_of(answers: ThreadAnswers, turn: ThreadTurn, rag: SelfRAG) -> list[Any]:
    async with aclosing(answers.astream(rag, turn, tokens=False)) as events:
        return [event async for event in events]


async def ask(answers: ThreadAnswers, thread: str, question: str = QUESTION, **given: Any) -> ThreadTurn:
    turn = answers.begin(thread, question, **given)
    await events_of(answers, turn, Models().rag())
    return answers.threads.turn(turn.run)


def mortal(kind: str, turn: int = 1) -> Models:
    """Models whose process dies at the n-th call of a kind."""
    return Models(failing=kind, failing_from=turn, error=Died())


async def die(answers: ThreadAnswers, rag: SelfRAG) -> ThreadTurn:
    """Begin a question whose process dies."""
    begun = answers.begin(answers.threads.create().id, QUESTION)
    answers.leave()
    with pytest.raises(Died):
        await events_of(answers, begun, rag)
    return begun


def require_finished(answers: ThreadAnswers, begun: ThreadTurn, events: list[Any]) -> None:
    """Require that the question was finished, and each of its nodes told once."""
    kept = answers.threads.turn(begun.run)
    assert (kept.result.answer, kept.result.usage["model_calls"]) == (GOOD, CALLS.total())
    finished = [event.node for event in events if isinstance(event, NodeFinished)]
    started = [event.node for event in events if isinstance(event, NodeStarted)]
    assert sorted(finished) == sorted(started) == sorted(step["node"] for step in kept.result.path)
    assert answers.unfinished() == []
    assert not answers.threads.has_checkpoints(begun.run)


def crash(answers: ThreadAnswers, open_threads: Opener) -> ThreadAnswers:
    """What another process finds after the death of this one: what was kept, and no lock."""
    answers.leave()
    for turn in [turn for _, turn in answers.threads.unfinished()]:
        answers.cancel(turn)
    answers.threads.close()
    return ThreadAnswers(open_threads())


async def test_a_question_is_answered_and_kept(answers: ThreadAnswers) -> None:
    turn = answers.begin(answers.threads.create().id, QUESTION, Context(explain=True, k=3))
    events = await events_of(answers, turn, Models().rag())
    kept = answers.threads.turn(turn.run)
    assert isinstance(events[-1], Finished)
    assert kept.result.model_dump(mode="json") == events[-1].result.model_dump(mode="json")
    assert (kept.state, kept.number, kept.numbered) == ("finished", 1, f"{GOOD} [1]")
    assert kept.options == {"k": 3, "explain": True}
    assert not answers.threads.has_checkpoints(turn.run)


async def test_the_next_question_may_be_asked_as_soon_as_one_is_finished(answers: ThreadAnswers) -> None:
    thread = answers.threads.create().id
    turn = answers.begin(thread, QUESTION)
    async with aclosing(answers.astream(Models().rag(), turn, tokens=False)) as events:
        async for event in events:
            if isinstance(event, Finished):
                answers.cancel(answers.begin(thread, FOLLOW_UP))
            else:
                with pytest.raises(ThreadBusyError):
                    answers.begin(thread, FOLLOW_UP)


async def test_a_follow_up_is_asked_after_what_was_said(answers: ThreadAnswers) -> None:
    thread = answers.threads.create().id
    await ask(answers, thread)
    second = await ask(answers, thread, "Why is that so?")
    assert second.result.standalone != "Why is that so?"
    assert QUESTION in second.result.standalone
    again = await ask(answers, thread, "Why is that so?", replaces=second.run)
    assert again.result.standalone == second.result.standalone, "what it corrects was not said before it"
    corrected = await ask(answers, thread, "Why is that so?", standalone=QUESTION, replaces=again.run)
    assert corrected.result.standalone == QUESTION
    assert [turn.replaced for turn in answers.threads.turns(thread)] == [False, True, True, False]


@pytest.mark.parametrize("dies_at", CALLS)
async def test_a_question_that_a_crash_cut_off_goes_on_at_its_node(
    answers: ThreadAnswers, open_threads: Opener, dies_at: str
) -> None:
    turns = CALLS[dies_at]  # of which the process dies in the last
    first, second = mortal(dies_at, turns), Models()
    begun = await die(answers, first.rag())
    after = crash(answers, open_threads)
    ((owner, found),) = after.unfinished()
    assert (owner, found) == ("", begun)
    events = await events_of(after, found, second.rag())
    assert Counter(first.calls) + Counter(second.calls) - CALLS == Counter({dies_at: turns})
    require_finished(after, begun, events)


@pytest.mark.parametrize("writes", range(1, 9))
async def test_a_question_that_was_cut_off_between_two_nodes_pays_nothing_again(
    answers: ThreadAnswers, open_threads: Opener, writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finished node's writes are on the disk before the checkpoint that they lead to."""
    put, written = ForgivingSaver.aput, 0

    async def failing(*given: Any) -> Any:
        nonlocal written
        written += 1
        if written > writes:
            raise Died
        return await put(*given)

    first, second = Models(), Models()
    with monkeypatch.context() as patched:
        patched.setattr(ForgivingSaver, "aput", failing)
        begun = await die(answers, first.rag())
    after = crash(answers, open_threads)
    events = await events_of(after, begun, second.rag())
    assert Counter(first.calls) + Counter(second.calls) == CALLS
    require_finished(after, begun, events)


async def test_a_question_whose_result_was_not_kept_before_the_crash_pays_nothing_again(
    answers: ThreadAnswers, open_threads: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers.threads, "finish", Mock(side_effect=Died))
    begun = await die(answers, Models().rag())
    after, models = crash(answers, open_threads), Models()
    await events_of(after, begun, models.rag())
    assert (models.calls, after.threads.turn(begun.run).state) == ([], "finished")


@pytest.mark.parametrize("open_threads", ["sqlite"], indirect=True)
@pytest.mark.parametrize("harm", ["damaged", "other nodes", "empty"])
async def test_a_question_whose_checkpoint_does_not_fit_is_begun_anew(
    answers: ThreadAnswers, open_threads: Opener, harm: str
) -> None:
    begun = await die(answers, mortal("draft").rag())
    path = answers.threads.checkpoints(begun.run)
    if harm == "damaged":
        path.write_bytes(b"x" * 10_000)
    elif harm == "empty":
        path.write_bytes(b"")
    else:
        with sqlite3.connect(path) as database:
            database.execute("UPDATE checkpoints SET checkpoint = replace(checkpoint, 'branch:to:', 'branch:by:')")
            database.execute("UPDATE checkpoints SET checkpoint = CAST(checkpoint AS BLOB)")
        database.close()
    after, models = crash(answers, open_threads), Models()
    await events_of(after, begun, models.rag())
    assert (Counter(models.calls), after.threads.turn(begun.run).state) == (CALLS, "finished")


async def test_a_question_that_a_person_ends_is_cancelled_while_the_event_loop_goes_on(
    answers: ThreadAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*given: Any) -> None:
        assert looped.wait(10)
        end(*given)

    end, looped = answers.threads.end, threading.Event()
    monkeypatch.setattr(answers.threads, "end", slow)
    thread, models = answers.threads.create().id, Models(gate=asyncio.Event())
    turn = answers.begin(thread, QUESTION)
    task = asyncio.create_task(events_of(answers, turn, models.rag()))
    while not models.calls:  # noqa: ASYNC110 - the gate is closed: it stays in this call
        await asyncio.sleep(0.002)
    task.cancel()
    asyncio.get_running_loop().call_later(0.01, looped.set)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert answers.threads.turn(turn.run).state == "cancelled"
    assert not answers.threads.has_checkpoints(turn.run)
    assert answers.threads.conversation(thread) == []
    assert (await ask(answers, thread, replaces=turn.run)).state == "finished"


async def test_a_question_that_fails_says_why(answers: ThreadAnswers) -> None:
    thread = answers.threads.create().id
    turn = answers.begin(thread, QUESTION)
    with pytest.raises(RequestError, match="gone"):
        await events_of(answers, turn, Models(failing="draft", error=RequestError("The index is gone.")).rag())
    kept = answers.threads.turn(turn.run)
    assert (kept.state, kept.message) == ("failed", "The index is gone.")
    assert (await ask(answers, thread, replaces=turn.run)).state == "finished"


async def test_options_that_this_version_does_not_know_fail_their_question_alone(
    answers: ThreadAnswers, open_threads: Opener
) -> None:
    turn = answers.begin(answers.threads.create().id, QUESTION, Context(k=3))
    with answers.threads._writing() as database:
        database.execute("""UPDATE turns SET options = '{"knob": 1}'""")
    after = crash(answers, open_threads)
    ((_, found),) = after.unfinished()
    with pytest.raises(ValidationError):
        await events_of(after, found, Models().rag())
    assert (after.threads.turn(turn.run).state, after.unfinished()) == ("failed", [])


async def test_two_clients_in_one_thread_get_one_answer(answers: ThreadAnswers, open_threads: Opener) -> None:
    thread = answers.threads.create().id
    turn = answers.begin(thread, QUESTION)
    other = ThreadAnswers(open_threads())
    assert other.unfinished() == []
    for use in (lambda: other.begin(thread, QUESTION), lambda: other.claim(turn)):
        with pytest.raises(ThreadBusyError):
            use()
    await events_of(answers, turn, Models().rag())
    with pytest.raises(ThreadBusyError):
        other.claim(turn)  # which it took for unfinished
    assert [one.state for one in other.threads.turns(thread)] == ["finished"]


async def test_a_question_of_other_documents_goes_on_with_these_alone(answers: ThreadAnswers) -> None:
    lease = ThreadAnswers(answers.threads, ["lease.pdf"])
    turn = lease.begin(answers.threads.create().id, QUESTION)
    lease.leave()
    lease.cancel(turn)
    assert answers.unfinished() == []
    assert lease.unfinished() == [("", turn)]


async def test_a_question_after_one_that_was_cut_off_cancels_it(answers: ThreadAnswers, open_threads: Opener) -> None:
    thread = answers.threads.create().id
    cut_off = answers.begin(thread, QUESTION)
    after = crash(answers, open_threads)
    await ask(after, thread, FOLLOW_UP)
    assert after.threads.turn(cut_off.run).state == "cancelled"


async def test_a_result_that_cannot_be_kept_is_given_all_the_same_and_kept_before_the_next_question(
    answers: ThreadAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = answers.threads.create().id
    turn = answers.begin(thread, QUESTION)
    with monkeypatch.context() as full:
        full.setattr(answers.threads, "finish", Mock(side_effect=ThreadStorageError("The disk is full.")))
        *_, not_kept, finished = await events_of(answers, turn, Models().rag())
        assert (not_kept, finished.result.answer) == (NotKept("The disk is full."), GOOD)
        assert answers.threads.turn(turn.run).state == "unfinished"
        assert answers.threads.has_checkpoints(turn.run)
        with pytest.raises(ThreadStorageError, match="full"):
            answers.begin(thread, FOLLOW_UP)
    second = await ask(answers, thread, FOLLOW_UP)
    assert [one.state for one in answers.threads.turns(thread)] == ["finished", "finished"]
    assert second.result.standalone == f"{QUESTION} {FOLLOW_UP}"


@pytest.mark.parametrize("open_threads", ["sqlite"], indirect=True)
async def test_a_checkpoint_that_cannot_be_written_costs_nothing(
    answers: ThreadAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models()
    monkeypatch.setattr(SqliteSaver, "put", Mock(side_effect=sqlite3.OperationalError("database or disk is full")))
    begun = answers.begin(answers.threads.create().id, QUESTION)
    await events_of(answers, begun, models.rag())
    assert (Counter(models.calls), answers.threads.turn(begun.run).state) == (CALLS, "finished")


def test_a_synchronous_caller_may_end_a_question_and_ask_at_once(open_threads: Opener) -> None:
    answers, models = ThreadAnswers(open_threads()), Models()
    thread = answers.threads.create().id
    turn = answers.begin(thread, QUESTION)
    events = answers.stream(models.rag(), turn, tokens=False)
    next(events)
    events.close()
    assert answers.threads.turn(turn.run).state == "cancelled"
    again = answers.begin(thread, QUESTION, replaces=turn.run)
    *_, last = answers.stream(models.rag(), again, tokens=False)
    assert isinstance(last, Finished)
