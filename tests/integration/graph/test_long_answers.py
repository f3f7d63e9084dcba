"""Long answers, segment by segment, in the graph."""

from typing import Any, ClassVar

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.memory import InMemorySaver

from app.results.result import result_of
from app.terminal.show import numbered_answer
from core.errors import ModelError
from graph.builder import build_graph
from nodes.retrieve import retrieve
from prompts.generate import ANY_POINTS
from retrieval.filters import Filter
from run.context import Context, Limits, Thresholds
from run.state import SelfRAGState
from tests.integration.graph.sky import BROKEN, ask, asking, critic, nodes_of, thread
from tests.scripted import ScriptedGenerator, ScriptedRetriever, document, run_node, services, state, verdict

QUESTION = "Summarise the lease of the depot"
RENT, TERM, KEYS = "The rent is 900 euros.", "The lease runs for five years.", "Two keys are handed over."
ALL = ScriptedRetriever(always=[RENT, TERM, KEYS])
ONCE = Limits(rewrites=0)


async def asked(generator: ScriptedGenerator, judge: Any = None, **settings: Any) -> SelfRAGState:
    judge = judge or critic(relevance="relevant")
    given = {"retriever": ALL, "question": QUESTION, "limits": ONCE, **settings}
    return await ask(generator, judge, length="long", **given)


async def test_each_relevant_passage_gives_a_segment_two_at_a_time_which_are_told_when_they_are_accepted() -> None:
    generator = ScriptedGenerator(segments=[RENT, TERM, KEYS])
    retriever = ScriptedRetriever(always=[RENT, TERM, KEYS])
    final = await asked(generator, retriever=retriever)
    assert (final["outcome"], final["answer"]) == ("grounded", f"{RENT}\n\n{TERM}\n\n{KEYS}")
    told = [one for step in final["path"] if step["node"] == "select" for one in step["decided"]["segments"]]
    assert [one["text"] for one in told] == [RENT, TERM, KEYS]
    assert told[0]["quotes"] == [{"source": "notes.txt", "page": None, "row": None, "quote": RENT}]
    assert [inputs["passages"].count("<passage") for inputs in generator.inputs("segment")] == [1, 1, 1]
    assert nodes_of(final).count("generate") == 2
    assert [one["quote"] for one in final["citations"]] == [RENT, TERM, KEYS]
    assert [one["chosen"] for one in final["candidates"]] == [True] * 3
    assert retriever.queries == ["the lease of the depot"], "it is searched for what the summary is to be about"
    assert retriever.ks == [8]


async def test_it_is_long_where_the_question_asks_for_a_summary_and_short_where_a_caller_says_so() -> None:
    judge = critic(relevance="relevant")
    final = await ask(ScriptedGenerator(segments=[RENT, TERM, KEYS]), judge, ALL, question=QUESTION, limits=ONCE)
    assert (final["length"], result_of(final).length) == ("long", "long")
    short = await ask(ScriptedGenerator(drafts=[RENT]), judge, ALL, question=QUESTION, length="short")
    assert (short["length"], short["answer"]) == ("short", RENT)


async def test_what_it_may_cost_is_said_before_it_begins_and_is_more_than_a_short_answer_may() -> None:
    judge = critic(relevance="relevant")
    made = services(ScriptedGenerator(segments=[RENT, TERM, KEYS]), judge, ALL)
    own = Context(limits=Limits(model_calls=20, rewrites=0))
    first = (await build_graph(made).ainvoke(asking(QUESTION), context=own))["path"][0]["decided"]
    assert first["length"] == "long"
    assert first["limits"] == {"model_calls": 20, "tokens": 240_000, "seconds": 480}, "a caller's own limit holds"


async def test_what_fails_is_left_out_and_said_to_be() -> None:
    wrong = "The rent is paid in gold."
    generator = ScriptedGenerator(segments=[wrong, TERM, KEYS])
    judge = critic(relevance="relevant", support=lambda text: "no support" if "paid" in text else "fully supported")
    final = await asked(generator, judge)
    left_out = f"Left out, as not surely supported or no part of the answer: “{wrong}”"
    assert final["answer"] == f"{TERM}\n\n{KEYS}\n\n{left_out}"
    assert (final["outcome"], result_of(final).left_out) == ("grounded", [wrong])
    generator.done()


async def test_a_passage_that_says_nothing_new_adds_no_segment_and_no_check() -> None:
    judge = critic(relevance="relevant")
    final = await asked(ScriptedGenerator(segments=[RENT, "I don't know.", "Of rent, 900 euros."]), judge)
    assert final["answer"] == RENT
    assert [kind for kind, _ in judge.asked].count("support") == 1


async def test_another_search_brings_what_the_question_names_and_no_passage_has() -> None:
    question = "Summarise the rent and the deposit"
    deposit = "The deposit is 1,800 euros."
    generator = ScriptedGenerator(segments=[RENT, deposit], queries=["deposit amount"])
    retriever = ScriptedRetriever({"the rent and the deposit": [RENT], "deposit amount": [deposit]})
    final = await asked(generator, question=question, retriever=retriever, limits=Limits())
    assert final["answer"] == f"{RENT}\n\n{deposit}"
    assert nodes_of(final).count("retrieve") == 2
    retriever.done()


async def test_a_draft_that_fails_beside_others_is_written_again_and_named_missing_if_it_fails_for_good() -> None:
    final = await asked(ScriptedGenerator(segments=[BROKEN, TERM, RENT, KEYS]))
    assert (final["answer"], final["stop_reason"]) == (f"{TERM}\n\n{RENT}\n\n{KEYS}", "accepted")
    generator = ScriptedGenerator(summaries=[BROKEN, TERM, BROKEN, KEYS, BROKEN])
    final = await asked(generator, question="Summarise notes.txt", retriever=Reading(always=[KEYS]))
    said = "This is of 2 of the 3 passages of notes.txt: the others were not read."
    assert (final["answer"], final["stop_reason"]) == (f"{TERM}\n\n{KEYS}\n\n{said}", "model_failed")
    nothing = await asked(ScriptedGenerator(segments=[BROKEN, BROKEN]))
    assert (nothing["outcome"], nothing["stop_reason"]) == ("stopped", "model_failed")


@pytest.mark.parametrize("cut_before", ["generate", "hallucination_check", "select"])
async def test_a_run_that_is_cut_off_goes_on_after_its_accepted_segments(cut_before: str) -> None:
    judge, generator = critic(relevance="relevant"), ScriptedGenerator(segments=[RENT, TERM, KEYS])
    graph = build_graph(services(generator, judge, ALL, limits=Limits(rewrites=0)), InMemorySaver())
    config = thread("one")
    seen = 0
    async for mode, chunk in graph.astream(asking(QUESTION), config, stream_mode=["updates", "values"]):
        seen += mode == "updates" and "generate" in chunk
        if seen == 1 and mode == "updates" and "select" in chunk:
            break
    async for _ in graph.astream(None, config, stream_mode="values", interrupt_before=[cut_before]):
        pass
    final = await graph.ainvoke(None, config)
    assert final["answer"] == f"{RENT}\n\n{TERM}\n\n{KEYS}"
    assert len(generator.inputs("segment")) == 3, "nothing is paid for twice"


class Reading(ScriptedRetriever):
    """A retriever that reads a document whole, by its name."""

    async def document_named(self, name: str, k: int, filter: Any = None) -> Any:  # noqa: A002
        parts = [document(f"{number}. {text} " + "x" * 1_500) for number, text in enumerate((RENT, TERM, KEYS))]
        return parts if name == "notes.txt" else []


async def test_a_document_that_is_named_is_summarised_part_by_part_in_its_order() -> None:
    judge, generator = critic(), ScriptedGenerator(summaries=[RENT, TERM, KEYS])
    final = await asked(generator, judge, question="Summarise notes.txt", retriever=Reading(always=[KEYS]))
    assert final["answer"] == f"{RENT}\n\n{TERM}\n\n{KEYS}"
    assert [kind for kind, _ in judge.asked].count("relevance") == 0
    assert [one["id"][0] for one in final["passages"]] == ["0", "1", "2"]


class Unreading(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [document(RENT)]


@pytest.mark.parametrize(
    ("name", "retriever"),
    [
        ("other.txt", Reading(always=[RENT])),
        ("notes.txt", Unreading()),
        ("notes.txt", ScriptedRetriever(always=[RENT])),
    ],
)
async def test_a_name_that_no_document_has_or_that_cannot_be_read_is_searched_for_as_any_other_words(
    name: str, retriever: Any
) -> None:
    final = await asked(ScriptedGenerator(segments=[RENT]), question=f"Summarise {name}", retriever=retriever)
    assert (final["answer"], final["whole"]) == (RENT, None)


async def test_a_summary_that_a_limit_ends_says_how_far_it_came() -> None:
    generator = ScriptedGenerator(summaries=[RENT, TERM])
    made = services(generator, critic(), Reading(always=[KEYS]))
    context = Context(limits=Limits(model_calls=8), beam=1)
    final = await build_graph(made).ainvoke(asking("Summarise notes.txt"), context=context)
    said = "This is of 2 of the 3 passages of notes.txt: the others were not read."
    assert final["answer"] == f"{RENT}\n\n{TERM}\n\n{said}"


async def test_of_a_document_as_much_is_read_as_there_may_be_segments() -> None:
    class Book(ScriptedRetriever):
        async def document_named(self, *_: Any) -> Any:
            return [document(f"{page} " + "x" * 5_990, page=page) for page in range(1, 61)]

    found = await run_node(retrieve, state("Summarise notes.txt", length="long"), retriever=Book(always=[KEYS]))
    assert (len(found["passages"]), found["unread"]) == (50, 60)


HOUSE, SHED = "The house has a rent of 900 euros and two keys.", "The rent is 80 euros, and there are two keys."
COMPARED = ScriptedRetriever(
    {"house": [document(HOUSE, source="house.md")], "shed": [document(SHED, source="shed.md")]}
)
NONE = "I don't know."
TABLE = "|  | house | shed |\n| --- | --- | --- |\n"


async def compared(
    generator: ScriptedGenerator, judge: Any = None, retriever: Any = COMPARED, by: str = "", **settings: Any
) -> SelfRAGState:
    question = f"Compare the house and the shed{by}"
    return await asked(generator, judge, question=question, retriever=retriever, **settings)


async def test_a_comparison_is_a_table_whose_cells_are_checked_each_by_its_own_question_and_passages() -> None:
    of_house = "rent | 900 euros\nkeys | two keys\ngarden | -\nRent | 1 euro"
    of_shed = "Rent | 80 euros\nkeys | two keys\ngarden | a garden"
    judge = critic(support=lambda text: "no support" if "garden" in text else "fully supported")
    generator = ScriptedGenerator(comparisons=[of_house, of_shed], cells=[NONE, "a garden"])
    final = await compared(generator, judge)
    table = f"{TABLE}| rent | 900 euros | 80 euros |\n| keys | two keys | two keys |"
    left_out = "Left out, as not surely supported or no part of the answer: “shed, garden: a garden”"
    assert final["answer"] == f"{table}\n\n{left_out}"
    assert "\n| rent | 900 euros [1] | 80 euros [2] |\n" in numbered_answer(final)
    assert [one["quote"] for one in final["citations"]] == [HOUSE, SHED]
    asked_of = [(one["question"], one["passages"].count("<passage")) for one in judge.inputs if "claim" in one]
    assert asked_of[:2] == [("What is the rent of house?", 1), ("What is the rent of shed?", 1)]
    assert [kind for kind, _ in judge.asked].count("relevance") == 0
    assert nodes_of(final).count("generate") == 2


async def test_the_points_of_a_comparison_are_those_of_the_question_or_of_the_first_thing() -> None:
    generator = ScriptedGenerator(comparisons=["rent | 900 euros", "rent | 80 euros"])
    await compared(generator)
    assert [inputs["points"] for inputs in generator.inputs("comparison")] == [ANY_POINTS, "rent"]
    assert [inputs["passages"].count("<passage") for inputs in generator.inputs("comparison")] == [1, 1]
    retriever = ScriptedRetriever({"house rent": [HOUSE], "shed rent": [SHED]})
    generator = ScriptedGenerator(comparisons=["-", "rent | 80 euros"], cells=[NONE] * 2)
    await compared(generator, retriever=retriever, by=" by rent")
    assert [inputs["points"] for inputs in generator.inputs("comparison")] == ["rent", "rent"]


async def test_a_cell_that_is_empty_or_not_supported_is_asked_for_once_by_itself() -> None:
    refused = {"rent: 80 pounds", "keys: two keys of the gate"}
    judge = critic(support=lambda text: "no support" if text in refused else "fully supported")
    generator = ScriptedGenerator(
        comparisons=["rent | 900 euros\nkeys | -", "rent | 80 pounds\nkeys | two keys of the gate"],
        cells=["80 euros", "two\nkeys.", ModelError("It is broken."), NONE, "for a year"],
    )
    shed = document(SHED, source="shed.md")
    retriever = ScriptedRetriever({"house rent, keys and term": [HOUSE], "shed rent, keys and term": [shed]})
    final = await compared(generator, judge, retriever, " by rent, keys and term")
    by_itself = {inputs["question"]: inputs["passages"].count(HOUSE) for inputs in generator.inputs("cell")}
    assert by_itself == {
        "What is the rent of shed?": 0,
        "What is the keys of house?": 1,
        "What is the keys of shed?": 0,
        "What is the term of house?": 1,
        "What is the term of shed?": 0,
    }
    rows = f"{TABLE}| rent | 900 euros | 80 euros |\n| keys | two keys | – |\n\n"
    left_out = ["shed, keys: two keys of the gate", "shed, term: for a year"]
    assert (final["answer"].startswith(rows), final["left_out"]) == (True, left_out)
    assert [one["chosen"] for one in final["candidates"]] == [True, True]
    assert "| rent | 900 euros [1] | 80 euros [2] |" in numbered_answer(final)


async def test_a_cell_that_was_asked_for_by_itself_may_leave_out_no_condition() -> None:
    shed = document("The rent is 80 euros. However, it is 90 euros in winter.", source="shed.md")
    retriever = ScriptedRetriever({"house": [HOUSE], "shed": [shed]})
    generator = ScriptedGenerator(comparisons=["rent | 900 euros", "rent | 80 euros"])
    assert "| rent | 900 euros | 80 euros |" in (await compared(generator, retriever=retriever))["answer"]
    generator = ScriptedGenerator(comparisons=["rent | 900 euros", "-"], cells=["80 euros"])
    final = await compared(generator, retriever=retriever)
    assert final["left_out"] == ["shed, rent: 80 euros"]


async def test_a_column_that_fails_leaves_the_others() -> None:
    broken = ModelError("It is broken.")
    generator = ScriptedGenerator(comparisons=["rent | 900 euros", broken], cells=["80 euros"])
    assert (await compared(generator))["answer"] == f"{TABLE}| rent | 900 euros | 80 euros |"
    final = await compared(ScriptedGenerator(comparisons=[broken, broken]))
    assert (final["outcome"], final["stop_reason"]) == ("stopped", "model_failed")


async def test_a_comparison_without_a_sure_cell_is_no_answer() -> None:
    unsure = verdict("fully supported", {"fully supported": 0.4, "no support": 0.6})
    generator = ScriptedGenerator(comparisons=["rent | 900 euros", "-"], cells=[NONE, NONE])
    final = await compared(generator, critic(support=unsure), thresholds=Thresholds(segment=0.5))
    assert (final["outcome"], final["stop_reason"]) == ("abstained", "claims_unsupported")


async def test_what_is_found_in_the_document_of_another_thing_is_not_read_for_this_one() -> None:
    both = [document(HOUSE, source="house_lease.md"), document(SHED, source="2.md", title="Lease of the shed")]
    retriever = ScriptedRetriever({"house": both, "shed": both})
    generator = ScriptedGenerator(comparisons=["rent | 80 euros\nkeys | two keys", "rent | 80 euros"], cells=[NONE] * 2)
    final = await compared(generator, retriever=retriever)
    assert final["answer"].startswith(f"{TABLE}| rent | – | 80 euros |\n| keys | two keys | – |\n")


async def test_where_one_document_speaks_of_both_things_a_quote_names_its_own() -> None:
    rent = "The rent of the house is 900 euros, and the fee 70 euros."
    found = ScriptedRetriever({"house": [rent, KEYS], "shed": [rent, KEYS]})
    generator = ScriptedGenerator(
        comparisons=["rent | 900 euros\nkeys | two\nfee | 70 euros", "rent | 900 euros\nkeys | two"], cells=[NONE] * 4
    )
    final = await compared(generator, retriever=found)
    assert final["answer"].startswith(f"{TABLE}| rent | 900 euros | – |\n| fee | 70 euros | – |\n\nLeft out")
    assert final["left_out"] == ["shed, rent: 900 euros", "house, keys: two", "shed, keys: two"]


async def test_what_is_said_of_one_thing_supports_no_cell_of_another() -> None:
    generator = ScriptedGenerator(comparisons=["rent | 80 euros", "rent | 900 euros"], cells=[NONE] * 2)
    final = await compared(generator)
    assert final["outcome"] == "abstained"
    assert final["left_out"] == ["house, rent: 80 euros", "shed, rent: 900 euros"]


async def test_where_one_document_speaks_of_both_things_a_heading_may_name_them() -> None:
    found = [document(f"{RENT} {n}", heading=f"Prices > {name}") for n, name in ((1, "The house"), (2, "The shed"))]
    retriever = ScriptedRetriever({"house": found, "shed": found})
    generator = ScriptedGenerator(comparisons=["rent | 900 euros", "rent | -"], cells=[NONE])
    final = await compared(generator, retriever=retriever)
    assert final["answer"] == f"{TABLE}| rent | 900 euros | – |"


@pytest.mark.parametrize(
    ("titles", "things"), [(("House", "Shed", "Keys"), "House | Shed"), (("Offer", "Offer", "Offer"), "a.md | b.md")]
)
async def test_things_without_a_name_are_as_many_documents_of_what_is_found_as_are_asked_for(
    titles: tuple[str, ...], things: str
) -> None:
    files = zip((HOUSE, SHED, KEYS), titles, "abc", strict=True)
    found = [document(text, source=f"offers/{name}.md", title=title) for text, title, name in files]
    generator = ScriptedGenerator(comparisons=["rent | 900 euros", "rent | 80 euros"])
    final = await asked(generator, question="Compare the two offers", retriever=ScriptedRetriever(always=found))
    assert " | ".join(inputs["thing"] for inputs in generator.inputs("comparison")) == things
    assert final["answer"] == f"|  | {things} |\n| --- | --- | --- |\n| rent | 900 euros | 80 euros |"


async def test_a_file_that_is_compared_is_read_within_the_callers_filter() -> None:
    class Offers(ScriptedRetriever):
        within: ClassVar[list[Any]] = []

        async def document_named(self, name: str, k: int, filter: Any) -> Any:  # noqa: A002
            self.within.append(filter)
            return [document({"house.md": HOUSE, "shed.md": SHED}[name])]

        async def ainvoke(self, input: str, *, k: int, filter: Any = None) -> Any:  # noqa: A002
            self.within.append(filter)
            return [document(KEYS), document(HOUSE), document(SHED)]

    own = Filter(sources=("offers",))
    first = state("Compare house.md and shed.md", length="long")
    found = await run_node(retrieve, first, retriever=Offers(), filter=own)
    by_thing = [(one["thing"], one["passages"]) for one in found["compared"]]
    assert by_thing == [("house.md", [HOUSE]), ("shed.md", [SHED])]
    assert set(Offers.within) == {own}


async def test_a_comparison_of_what_nothing_is_found_of_is_searched_for_as_any_other_words() -> None:
    retriever = ScriptedRetriever({"house": [HOUSE], "moon": [], "the house and the moon": [HOUSE]})
    generator = ScriptedGenerator(segments=[HOUSE])
    final = await asked(generator, question="Compare the house and the moon", retriever=retriever)
    assert (final["answer"], final["compared"]) == (HOUSE, [])


async def test_a_list_has_the_headings_of_the_sections_that_its_lines_are_of() -> None:
    found = [
        document(RENT, heading="Lease > Money"),
        document(KEYS, heading="Lease > Handing over"),
        document(TERM, heading="Lease > Money"),
    ]
    settings: Any = {"question": "List what the lease says", "retriever": ScriptedRetriever(always=found)}
    final = await asked(ScriptedGenerator(segments=[RENT, KEYS, TERM]), **settings)
    assert final["answer"] == f"Money:\n- {RENT}\n- {TERM}\n\nHanding over:\n- {KEYS}"
    settings["retriever"] = ScriptedRetriever(always=[found[0], found[2]])
    final = await asked(ScriptedGenerator(segments=[RENT, TERM]), **settings)
    assert final["answer"] == f"- {RENT}\n- {TERM}"


async def test_a_comparison_in_a_language_that_the_program_does_not_speak_is_checked_in_english() -> None:
    retriever = ScriptedRetriever({"prezzo di Roma": [HOUSE], "il prezzo di Milano": [SHED]})
    generator = ScriptedGenerator(comparisons=["rent | 900 euros", "rent | 80 euros"], cells=[NONE] * 2)
    judge = critic()
    final = await asked(generator, judge, question="Compara prezzo di Roma y il prezzo di Milano", retriever=retriever)
    assert final["compared"]
    assert "What is the rent of prezzo di Roma?" in [one.get("question") for one in judge.inputs]
