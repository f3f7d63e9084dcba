"""One draft and no more: what is asked, what is recorded."""

import asyncio

import pytest

from core.errors import ModelError
from evaluation.measures.scores import read_by
from evaluation.records import Example, Record
from evaluation.systems import OneDraft, closed_book, plain, with_surroundings
from run.context import Context, Limits
from tests.scripted import ScriptedGenerator, ScriptedRetriever, document, services

EXAMPLE = Example(id="1", question="Why is the <passage> sky blue?")
AIR = document("Air scatters blue light.", page=3, similarity=0.8)
SALT = document("Salt melts ice.")


async def asked(system: OneDraft) -> Record:
    return await system.ask(EXAMPLE)


async def test_plain_reads_all_that_was_found_and_gives_its_draft() -> None:
    writer = ScriptedGenerator(drafts=["Air scatters light. It is blue."])
    search = ScriptedRetriever(always=[AIR, SALT])
    said = await asked(plain(services(writer, retriever=search), Context(k=2)))
    (inputs,) = writer.inputs("draft")
    assert AIR.page_content in inputs["passages"]
    assert SALT.page_content in inputs["passages"]
    assert inputs["question"] == "Why is the (passage> sky blue?"
    assert (search.queries, search.ks) == ([EXAMPLE.question], [2])
    assert (said["system"], said["example"], said["question"]) == ("plain", "1", EXAMPLE.question)
    assert (said["outcome"], said["answer"], said["confidence"]) == ("answered", "Air scatters light. It is blue.", 1.0)
    assert (said["route"], said["queries"]) == ("retrieve", [EXAMPLE.question])
    assert said["seen"][0] == {
        "text": AIR.page_content,
        "source": "notes.txt",
        "page": 3,
        "row": None,
        "similarity": 0.8,
        "relevance": None,
        "relevant": None,
    }
    assert [claim["text"] for claim in said["said"]] == ["Air scatters light.", "It is blue."]
    assert {(claim["label"], claim["score"]) for claim in said["said"]} == {(None, None)}
    assert said["cost"]["model_calls"] == 1
    assert said["cost"]["seconds"] > 0
    assert [one["text"] for one in read_by(said)] == [AIR.page_content, SALT.page_content]


async def test_closed_book_searches_nothing() -> None:
    search = ScriptedRetriever()
    writer = ScriptedGenerator(direct=["Because of the air."])
    said = await asked(closed_book(services(writer, retriever=search), Context()))
    assert (said["system"], said["route"], said["answer"]) == ("closed-book", "direct", "Because of the air.")
    assert (search.queries, said["queries"], said["seen"], read_by(said)) == ([], [], [], [])


async def test_a_draft_that_declines_is_an_abstention_and_stays_in_the_trace() -> None:
    said = await asked(
        plain(
            services(ScriptedGenerator(drafts=["I don't know."]), retriever=ScriptedRetriever(always=[AIR])), Context()
        )
    )
    assert (said["outcome"], said["stop_reason"], said["answer"], said["confidence"]) == (
        "abstained",
        "declined",
        "",
        0.0,
    )
    assert (said["said"], said["error"]) == ([], None)
    assert said["decisions"][0]["text"] == "I don't know."
    assert [one["text"] for one in read_by(said)] == [AIR.page_content]


async def test_a_limit_stops_it() -> None:
    said = await asked(plain(services(retriever=ScriptedRetriever(always=[AIR])), Context(limits=Limits(tokens=1))))
    assert (said["outcome"], said["stop_reason"], said["error"]) == ("stopped", "limit_tokens", None)
    assert (len(said["seen"]), read_by(said)) == (1, [])


async def test_a_search_that_hangs_is_stopped() -> None:
    class Hangs(ScriptedRetriever):
        async def ainvoke(self, input: str, *, k: int) -> list[object]:  # type: ignore[override]  # noqa: A002
            await asyncio.sleep(60)
            return []

    said = await asked(plain(services(retriever=Hangs()), Context(limits=Limits(seconds=0.05))))
    assert (said["outcome"], said["stop_reason"]) == ("stopped", "limit_seconds")


async def test_a_model_that_fails_is_for_the_run_to_tell() -> None:
    writer = ScriptedGenerator(direct=[ModelError("Gone.")])
    with pytest.raises(ModelError):
        await asked(closed_book(services(writer), Context()))


def test_a_fingerprint_depends_on_what_the_system_uses() -> None:
    made = services()
    assert plain(made, Context()).fingerprint == plain(made, Context(mode="always")).fingerprint
    assert plain(made, Context()).fingerprint != plain(made, Context(k=8)).fingerprint
    assert closed_book(made, Context()).fingerprint == closed_book(made, Context(k=8)).fingerprint
    assert closed_book(made, Context()).fingerprint != plain(made, Context()).fingerprint


async def test_what_surrounds_a_system_is_in_its_fingerprint() -> None:
    system = closed_book(services(ScriptedGenerator(direct=["A."])), Context())
    one, other = with_surroundings(system, {"chat": "one"}), with_surroundings(system, {"chat": "other"})
    assert len({system.fingerprint, one.fingerprint, other.fingerprint}) == 3
    assert one.fingerprint == with_surroundings(system, {"chat": "one"}).fingerprint
    assert one.name == "closed-book"
    assert (await one.ask(EXAMPLE))["answer"] == "A."


async def test_plain_has_the_length_and_the_temperature_of_the_context() -> None:
    generator = ScriptedGenerator(drafts=["Blue."] * 2)
    made = services(generator, retriever=ScriptedRetriever(always=[AIR]))
    for context in (Context(answer_tokens=50, temperature=0.7), Context()):
        await plain(made, context).ask(EXAMPLE)
    assert generator.bounds == [(50, 0.7), (400, None)]
    assert plain(made, Context(temperature=0.7)).fingerprint != plain(made, Context()).fingerprint
