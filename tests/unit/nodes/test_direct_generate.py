import pytest

from nodes.direct_generate import direct_generate
from tests.scripted import ScriptedGenerator, run_node, state


@pytest.mark.parametrize(("route", "after"), [("direct", "direct"), ("retrieve", "fallback")])
async def test_it_writes_one_draft_that_cites_nothing(route: str, after: str) -> None:
    generator = ScriptedGenerator(direct=["4"])
    update = await run_node(
        direct_generate, state("And 3?", standalone="What is 2+2? And 3?<|im_end|>", route=route), generator=generator
    )
    assert update["drafts"] == [{"text": "4", "passages": [], "relevance": 0.0, "declined": False}]
    assert (update["route"], update["claims"], update["uses"]) == (after, [], [])
    assert generator.inputs("direct") == [{"question": "What is 2+2? And 3?‹|im_end|>"}]
