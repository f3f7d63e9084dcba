import asyncio
import time
from typing import Any

import pytest

from core.types import no_usage
from models.usage import Budget, LimitReachedError, NodeBudget, Reserve
from tests.scripted import call_cost


def total(**changes: Any) -> Budget:
    return Budget(**{"calls": 10, "tokens": 1000, "seconds": 60, **changes})


async def test_calls_under_way_count_against_the_calls() -> None:
    one = total(calls=2)
    await one.admit(1)
    await one.admit(1)
    with pytest.raises(LimitReachedError, match="limit_calls"):
        await one.admit(1)
    one.charge(1, call_cost())
    with pytest.raises(LimitReachedError, match="limit_calls"):
        await one.admit(1)


async def test_tokens_of_calls_under_way_are_held_back_and_those_of_a_refused_one_are_not() -> None:
    one = total(tokens=100)
    await one.admit(60)
    with pytest.raises(LimitReachedError, match="limit_tokens"):
        await one.admit(101)
    assert (one.held_calls, one.held_tokens) == (1, 60)
    await one.admit(40)
    third = asyncio.create_task(one.admit(50))
    await asyncio.sleep(0)
    assert (third.done(), one.held_tokens) == (False, 100)
    one.charge(60, call_cost(10))
    await third
    assert one.held_tokens == 90


async def test_a_call_that_waited_is_refused_when_the_others_cost_too_much() -> None:
    one = total(tokens=100)
    await one.admit(60)
    waiting = asyncio.create_task(one.admit(50))
    await asyncio.sleep(0)
    one.charge(60, call_cost(51))
    with pytest.raises(LimitReachedError, match="limit_tokens"):
        await waiting


async def test_a_reserve_is_kept_back_from_calls_tokens_and_seconds() -> None:
    reserve = Reserve(calls=2, share=0.2)
    one = total(calls=3, tokens=100, seconds=60)
    await one.admit(80, reserve)
    with pytest.raises(LimitReachedError, match="limit_calls"):
        await one.admit(0, reserve)
    await one.admit(20)
    with pytest.raises(LimitReachedError, match="limit_tokens"):
        await total(tokens=100).admit(81, reserve)
    late = total(seconds=60, began=time.monotonic() - 50)
    with pytest.raises(LimitReachedError, match="limit_seconds"):
        await late.admit(1, reserve)
    await late.admit(1)


async def test_a_tab_keeps_its_own_share_and_the_limit_that_it_met() -> None:
    shared = total(calls=2)
    one, other = NodeBudget(shared), NodeBudget(shared)
    await one.admit(5)
    one.charge(5, call_cost(7))
    await other.admit(5)
    other.charge(5, call_cost(9))
    with pytest.raises(LimitReachedError):
        await other.admit(5)
    assert (one.spent["model_calls"], one.limit) == (1, None)
    assert (other.spent["input_tokens"], other.limit) == (8, "limit_calls")
    assert shared.spent["model_calls"] == 2


async def test_a_call_that_was_never_made_leaves_the_reserve_as_it_was() -> None:
    one = NodeBudget(total(calls=3), Reserve(calls=2))
    for _ in range(2):
        await one.admit(5)
        one.charge(5, no_usage())
    await one.admit(5)
    assert (one.calls, one.limit) == (1, None)
    with pytest.raises(LimitReachedError, match="limit_calls"):
        await one.admit(5)
