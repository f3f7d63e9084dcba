"""No run crosses a limit, whatever the critic says, and none claims more than its verdicts."""

import asyncio

import pytest
from langchain_core.documents import Document

from run.context import Limits
from tests.integration.graph.sky import GOOD, Fresh, ask, critic, writes_on
from tests.scripted import CALL_TOKENS, ScriptedGenerator, ScriptedRetriever


async def test_never_more_calls_than_the_limit_which_leaves_out_no_check_of_a_draft() -> None:
    """Decide, one grade, the draft, its claim: with fewer calls no answer can be reached, and none is begun."""
    for calls in range(1, 30):
        final = await ask(writes_on(), critic(support="partially supported"), Fresh(), limits=Limits(model_calls=calls))
        assert final["usage"]["model_calls"] <= calls
        if calls < 4:
            assert (final["outcome"], final["usage"]["model_calls"]) == ("stopped", calls > 1)
        else:
            assert final["best"] is not None
            assert final["outcome"] == "partially_grounded"
            assert [claim["verdict"]["label"] for claim in final["best"]["claims"]] == ["partially supported"], calls
        assert calls > 13 or final["stop_reason"] == "limit_calls"


async def test_the_limit_on_tokens() -> None:
    for calls in range(1, 12):
        limits = Limits(tokens=calls * CALL_TOKENS + CALL_TOKENS // 2)
        final = await ask(writes_on(), critic(support="no support"), Fresh(), limits=limits)
        assert final["stop_reason"] == "limit_tokens"
        assert calls - 2 <= final["usage"]["model_calls"] <= calls


async def test_the_limit_on_seconds() -> None:
    async def slow(kind: str) -> None:
        await asyncio.sleep(0.3 if kind == "draft" else 0)

    final = await ask(ScriptedGenerator(drafts=[GOOD], wait=slow), critic(), limits=Limits(seconds=0.2))
    assert (final["outcome"], final["stop_reason"]) == ("abstained", "limit_seconds")
    assert final["seconds"] >= 0.2


async def test_a_search_that_does_not_end_is_ended() -> None:
    class Stuck(ScriptedRetriever):
        async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
            await asyncio.sleep(3600)
            raise AssertionError("unreachable")

    async with asyncio.timeout(10):
        final = await ask(ScriptedGenerator(), critic(), Stuck(), limits=Limits(seconds=0.1))
    assert (final["outcome"], final["stop_reason"]) == ("stopped", "limit_seconds")


async def test_a_search_that_gives_up_by_itself_is_an_error_of_its_own() -> None:
    class Late(ScriptedRetriever):
        async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
            raise TimeoutError("the embedding model did not answer")

    with pytest.raises(TimeoutError, match="embedding model"):
        await ask(ScriptedGenerator(), critic(), Late())
