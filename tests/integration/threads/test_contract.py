"""Every store of threads keeps this contract: threads are kept, and found again by their owner alone."""

from collections.abc import Callable

import pytest

from app.conversations.tables import Lock, ThreadTables
from app.conversations.thread import ThreadBusyError, UnknownThreadError
from tests.turns import QUESTION, answered, asked, result

Opener = Callable[..., ThreadTables]


@pytest.fixture
def threads(open_threads: Opener) -> ThreadTables:
    return open_threads()


def questions_before(threads: ThreadTables, thread: str, number: int | None = None) -> list[str]:
    return [turn["question"] for turn in threads.conversation(thread, before=number)]


def test_the_confidence_of_answers_is_found_by_their_calibration(threads: ThreadTables) -> None:
    thread = threads.create()
    made = {"library-1": (0.9, 0.7, None), "library-12": (0.2,)}
    for calibration, several in made.items():
        for confidence in several:
            given = result().model_copy(update={"calibration": calibration, "confidence": confidence})
            threads.finish(asked(threads, thread.id), given, "")
    withheld = result().model_copy(update={"calibration": "library-1", "confidence": 0.1, "outcome": "abstained"})
    threads.finish(asked(threads, thread.id), withheld, "")
    assert sorted(threads.confidences("library-1")) == [0.7, 0.9]
    assert threads.confidences("library-12") == [0.2]


def test_the_last_changed_thread_comes_first_and_is_named_after_its_question(threads: ThreadTables) -> None:
    first, second = threads.create(), threads.create()
    asked(threads, first.id, "How long?\n" * 50)
    assert [one.id for one in threads.list()] == [first.id, second.id]
    title = threads.get(first.id).title
    assert (len(title), title[:19]) == (80, "How long? How long?")


def test_another_owner_sees_nothing(threads: ThreadTables) -> None:
    thread = threads.create("ann")
    turn = threads.begin(thread.id, QUESTION, "ann")
    assert threads.list("bob") == []
    for use in (
        lambda: threads.get(thread.id, "bob"),
        lambda: threads.turns(thread.id, "bob"),
        lambda: threads.turn(turn.run, "bob"),
        lambda: threads.conversation(thread.id, "bob"),
        lambda: threads.rename(thread.id, "mine", "bob"),
        lambda: threads.delete(thread.id, "bob"),
        lambda: threads.begin(thread.id, QUESTION, "bob"),
    ):
        with pytest.raises(UnknownThreadError):
            use()
    assert threads.get(thread.id, "ann").turns == 1


def test_the_conversation_is_what_was_finished_and_not_replaced(threads: ThreadTables) -> None:
    thread = threads.create().id
    answered(threads, thread, "One?")
    threads.end(asked(threads, thread, "Failed?"), "failed", "The model is gone.")
    wrong = answered(threads, thread, "Two?")
    answered(threads, thread, "Two, rather?", replaces=wrong.run)
    asked(threads, thread, "Being answered?")
    assert questions_before(threads, thread) == ["One?", "Two, rather?"]
    assert questions_before(threads, thread, 4) == ["One?"], "what a question corrects is not said before it"
    assert [turn.replaced for turn in threads.turns(thread)] == [False, False, True, False, False]


def test_a_correction_that_failed_and_is_asked_again_replaces_the_first_question(threads: ThreadTables) -> None:
    thread = threads.create().id
    first = answered(threads, thread, "Two?")
    second = asked(threads, thread, "Two, rather?", first.run)
    threads.end(second, "failed", "The model is gone.")
    assert questions_before(threads, thread) == ["Two?"]
    answered(threads, thread, "Two, rather?", replaces=second.run)
    assert questions_before(threads, thread) == ["Two, rather?"]
    assert threads.get(thread).turns == 1


def test_what_is_finished_cannot_be_ended(threads: ThreadTables) -> None:
    """As by a person who ends it while its result is being stored."""
    turn = answered(threads, threads.create().id)
    threads.end(turn, "cancelled")
    assert threads.turn(turn.run).state == "finished"


def test_a_long_conversation_gives_the_last_turns(threads: ThreadTables) -> None:
    thread = threads.create().id
    for number in range(1, 32):
        answered(threads, thread, f"Question {number}?")
    assert questions_before(threads, thread) == [f"Question {number}?" for number in range(12, 32)]


@pytest.mark.parametrize("title", ["x" * 10_000_000, "a\x1b[31mb\x00\u202ec", "  two \n lines  "])
def test_a_title_is_a_short_line(threads: ThreadTables, title: str) -> None:
    kept = threads.rename(threads.create().id, title).title
    assert len(kept) <= 80
    assert kept.isprintable()
    assert kept in {"x" * 79 + "…", "abc", "two lines"}


def test_a_thread_that_is_held_can_be_deleted_only_when_its_block_ends(
    threads: ThreadTables, open_threads: Opener
) -> None:
    thread, other = threads.create().id, open_threads()
    with threads.lock(thread) as held, pytest.raises(ThreadBusyError):
        other.delete(thread)
    threads.lock(thread).release()
    held.release()
    threads.delete(thread)
    assert threads.list() == []


def test_what_was_not_changed_for_long_is_deleted_but_not_what_is_in_use(
    threads: ThreadTables, open_threads: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, busy, used, new = (threads.create().id for _ in range(4))
    lock = type(threads).lock

    def used_before(store: ThreadTables, id_: str) -> Lock:
        if id_ == used:
            answered(threads, used)
        return lock(store, id_)

    answered(threads, old)
    with threads._writing() as database:
        database.execute("UPDATE threads SET updated = '2020-01-01' WHERE id <> ?", (new,))
    with threads.lock(busy):
        monkeypatch.setattr(type(threads), "lock", used_before)
        assert {one.id for one in open_threads(keep_days=30).list()} == {busy, used, new}


def test_what_was_exported_is_put_back_once(threads: ThreadTables) -> None:
    thread = threads.create().id
    first = answered(threads, thread, "One?")
    answered(threads, thread, "One, rather?", replaces=first.run)
    asked(threads, thread, "Being answered?")
    (exported,) = threads.exported()
    before = [turn.model_dump() for turn in threads.turns(thread)]
    assert threads.restore(exported) is False
    threads.delete(thread)
    assert threads.restore(exported) is True
    assert [turn.model_dump() for turn in threads.turns(thread)] == [*before[:2], {**before[2], "state": "cancelled"}]
