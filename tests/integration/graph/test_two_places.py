"""A question that describes what it is about is answered from two places, both quoted, or not at all."""

from typing import Any, cast

from run.context import Limits
from run.state import SelfRAGState
from tests.integration.graph import sky
from tests.scripted import ScriptedCritic, ScriptedGenerator, ScriptedRetriever

QUESTION = "Where did the leader of the Skarvik harbour survey study?"
ASKED = "Who or what is the leader of the Skarvik harbour survey?"
LEFT = "Where did Runa Tveit study?"
NAMING = "The survey of Skarvik harbour was led by Runa Tveit."
STUDIED = "Runa Tveit studied hydrography in Plymouth."
FOUND = {QUESTION: [NAMING], ASKED: [NAMING], LEFT: [STUDIED]}


async def ask(
    generator: ScriptedGenerator,
    studied: str = "relevant",
    limits: Limits | None = None,
    script: Any = None,
) -> SelfRAGState:
    grades = {NAMING: ["irrelevant", "relevant"], STUDIED: studied}
    usual = {"retrieve": "retrieve", "support": "fully supported", "usefulness": "5"}
    critic = ScriptedCritic(cast("Any", grades | (script or {})), cast("Any", usual))
    return await sky.ask(generator, critic, ScriptedRetriever(FOUND), limits=limits, question=QUESTION)


def naming(**more: Any) -> ScriptedGenerator:
    described = ["the leader of the Skarvik harbour survey"]
    return ScriptedGenerator(described=described, brief={NAMING: "Runa Tveit"}, **more)


async def test_the_name_and_the_answer_are_both_quoted_and_the_answer_says_who_is_meant() -> None:
    generator = naming(drafts=["She studied in Plymouth."])
    final = await ask(generator)
    assert (final["outcome"], final["queries"]) == ("grounded", [QUESTION, LEFT])
    assert (
        final["answer"] == "She studied in Plymouth.\n\nMeant by “the leader of the Skarvik harbour survey”: Runa Tveit"
    )
    assert {one["quote"] for one in final["citations"]} == {NAMING, STUDIED}
    assert [step["node"] for step in final["path"]][1:7] == [
        "retrieve",
        "grade_documents",
        "rewrite_query",
        "retrieve",
        "grade_documents",
        "generate",
    ]
    generator.done()


async def test_once_the_drafts_from_the_first_place_have_failed_it_is_named_too() -> None:
    generator = naming(drafts=["She studied the harbour.", "She studied in Plymouth."])
    script = {NAMING: "relevant", "She studied the harbour.": "no support"}
    final = await ask(generator, limits=Limits(drafts=1), script=script)
    assert (final["outcome"], final["queries"]) == ("grounded", [QUESTION, LEFT])
    assert {one["quote"] for one in final["citations"]} == {NAMING, STUDIED}


async def test_where_nothing_is_found_of_what_was_named_there_is_no_answer() -> None:
    final = await ask(naming(), studied="irrelevant")
    assert (final["outcome"], final["stop_reason"], final["citations"]) == ("abstained", "nothing_relevant", [])


async def test_the_second_place_takes_one_rewrite() -> None:
    drafts = ["She studied in Plymouth."]
    assert (await ask(naming(drafts=drafts), limits=Limits(rewrites=1)))["outcome"] == "grounded"
    assert (await ask(ScriptedGenerator(), limits=Limits(rewrites=0)))["outcome"] == "abstained"
