"""Turns of threads for tests of their stores."""

from app.conversations.tables import ThreadTables
from app.conversations.thread import ThreadTurn
from app.results.result import Result, result_of
from tests.scripted import candidate_of, claim, draft, state

QUESTION = "Why is the sky blue?"


def result(question: str = QUESTION, answer: str = "Air scatters blue light.") -> Result:
    best = candidate_of(draft(answer, [answer]), [claim(answer, within=answer)])
    return result_of(state(question, best=best, outcome="grounded", stop_reason="accepted", answer=answer, seconds=1.0))


def asked(threads: ThreadTables, thread: str, question: str = QUESTION, replaces: str | None = None) -> ThreadTurn:
    return threads.begin(thread, question, replaces=replaces)


def answered(
    threads: ThreadTables, thread: str, question: str = QUESTION, answer: str = "So.", replaces: str | None = None
) -> ThreadTurn:
    turn = asked(threads, thread, question, replaces)
    threads.finish(turn, result(question, answer), f"{answer} [1]")
    return turn
