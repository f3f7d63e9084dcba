"""What is counted over many questions, and what is held against it."""

from typing import Any

from graph.context import Limits
from tests.scripted import state
from tests.stress.faults.__main__ import Asked, counted, settings_of
from tests.stress.faults.tickets import TicketRetriever, passages

SPENT = {"model_calls": 3, "input_tokens": 400, "cached_input_tokens": 0, "output_tokens": 50, "estimated": False}


def asked(number: int, **changes: Any) -> Asked:
    final = state(outcome="abstained", stop_reason="nothing_relevant", usage=SPENT)
    return Asked(
        number, **{"limits": Limits(model_calls=4, tokens=1000, seconds=2), "seconds": 1.0, "final": final, **changes}
    )


def test_outcomes_are_counted_and_the_worst_is_kept() -> None:
    tally = counted([asked(0), asked(1, seconds=3.0)], {"0": 3, "1": 2})
    assert tally.outcomes == {"abstained": 2}
    assert tally.reasons == {"nothing_relevant": 2}
    assert tally.worst == {"calls": 0.75, "tokens": 0.45, "seconds": 1.5, "late": 1.0}
    assert tally.violated == []


def test_the_server_counts_as_well() -> None:
    more = counted([asked(0)], {"0": 4}).violated
    assert more == ["question 0: the server counted 4 calls, the question says 3"]
    over = counted([asked(0)], {"0": 5}).violated
    assert over[0] == "question 0: the server counted 5 calls of 4"
    assert counted([asked(0)], {"0": 3, "none": 1}).violated == ["1 requests belong to no question"]


def test_a_question_that_hung_is_a_violation() -> None:
    tally = counted([asked(7, final=None, violated=("it hung",))], {})
    assert tally.violated == ["question 7: it hung"]


async def test_a_query_finds_the_same_each_time() -> None:
    shelf = TicketRetriever(passages())
    one, same, other = [await shelf.ainvoke(query, k=4) for query in ("a", "a", "b")]
    assert one == same != other
    assert len({document.id for document in shelf.passages}) == len(shelf.passages) == 40


def test_settings_are_those_of_the_number_and_the_seed() -> None:
    assert settings_of(3, 1) == settings_of(3, 1)
    assert len({settings_of(number, 1)[0].model_dump_json() for number in range(50)}) > 25
