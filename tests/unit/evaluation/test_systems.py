import asyncio

from evaluation.measures.scores import read_by
from evaluation.records import Example
from evaluation.systems import closed_book, plain
from run.context import Context, Limits
from tests.scripted import ScriptedGenerator, ScriptedRetriever, document, services
from tests.unit.evaluation.sample_records import record, said, seen

EXAMPLE = Example(id="1", question="Why is the <passage> sky blue?")
AIR = document("Air scatters blue light.", page=3, similarity=0.8)
SALT = document("Salt melts ice.")


async def test_plain_reads_all_that_was_found_and_gives_its_draft_as_sure_as_its_tokens_are() -> None:
    answer = "Air scatters light. It is blue."
    writer, search = ScriptedGenerator(drafts=[answer]), ScriptedRetriever(always=[AIR, SALT])
    writer.scored = 0.6
    found = await plain(services(writer, retriever=search), Context(k=2)).ask(EXAMPLE)
    (inputs,) = writer.inputs("draft")
    assert AIR.page_content in inputs["passages"]
    assert SALT.page_content in inputs["passages"]
    assert inputs["question"] == "Why is the (passage> sky blue?"
    assert (search.queries, search.ks) == ([EXAMPLE.question], [2])
    air, salt = seen(AIR.page_content, source="notes.txt"), seen(SALT.page_content, source="notes.txt")
    air |= {"page": 3, "similarity": 0.8}
    assert found == record(
        "1",
        "plain",
        question=EXAMPLE.question,
        answer=answer,
        confidence=0.6,
        queries=[EXAMPLE.question],
        seen=[air, salt],
        said=[said("Air scatters light."), said("It is blue.")],
        cost=found["cost"],
        decisions=[{"node": "generate", "text": answer}],
    )
    assert found["cost"]["model_calls"] == 1
    assert found["cost"]["seconds"] > 0
    assert read_by(found) == [air, salt]


async def test_closed_book_searches_nothing() -> None:
    search = ScriptedRetriever()
    writer = ScriptedGenerator(direct=["Because of the air."])
    found = await closed_book(services(writer, retriever=search), Context()).ask(EXAMPLE)
    assert (found["system"], found["route"], found["answer"]) == ("closed-book", "direct", "Because of the air.")
    assert found["confidence"] == 1.0
    assert (search.queries, found["queries"], found["seen"], read_by(found)) == ([], [], [], [])


async def test_a_draft_that_declines_is_an_abstention_and_stays_in_the_trace() -> None:
    made = services(ScriptedGenerator(drafts=["I don't know."]), retriever=ScriptedRetriever(always=[AIR]))
    found = await plain(made, Context()).ask(EXAMPLE)
    assert (found["outcome"], found["stop_reason"], found["error"]) == ("abstained", "declined", None)
    assert (found["answer"], found["confidence"], found["said"]) == ("", 0.0, [])
    assert found["decisions"][0]["text"] == "I don't know."
    assert [one["text"] for one in read_by(found)] == [AIR.page_content]


async def test_a_limit_stops_it() -> None:
    made = services(retriever=ScriptedRetriever(always=[AIR]))
    found = await plain(made, Context(limits=Limits(tokens=1))).ask(EXAMPLE)
    assert (found["outcome"], found["stop_reason"], found["error"]) == ("stopped", "limit_tokens", None)
    assert (len(found["seen"]), read_by(found)) == (1, [])


async def test_a_search_that_hangs_is_stopped() -> None:
    class Hangs(ScriptedRetriever):
        async def ainvoke(self, input: str, *, k: int) -> list[object]:  # type: ignore[override]  # noqa: A002
            await asyncio.sleep(60)
            return []

    found = await plain(services(retriever=Hangs()), Context(limits=Limits(seconds=0.05))).ask(EXAMPLE)
    assert (found["outcome"], found["stop_reason"]) == ("stopped", "limit_seconds")


def test_a_fingerprint_depends_on_what_the_system_uses() -> None:
    made = services()
    assert plain(made, Context()).fingerprint == plain(made, Context(mode="always")).fingerprint
    assert plain(made, Context()).fingerprint != plain(made, Context(k=8)).fingerprint
    assert plain(made, Context()).fingerprint != plain(made, Context(temperature=0.7)).fingerprint
    assert closed_book(made, Context()).fingerprint == closed_book(made, Context(k=8)).fingerprint
    assert closed_book(made, Context()).fingerprint != plain(made, Context()).fingerprint


async def test_plain_has_the_length_and_the_temperature_of_the_context() -> None:
    generator = ScriptedGenerator(drafts=["Blue."] * 2)
    made = services(generator, retriever=ScriptedRetriever(always=[AIR]))
    for context in (Context(answer_tokens=50, temperature=0.7), Context()):
        await plain(made, context).ask(EXAMPLE)
    assert generator.bounds == [(50, 0.7), (400, None)]
