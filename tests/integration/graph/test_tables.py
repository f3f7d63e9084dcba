"""A question of a table is answered by a query over all of its rows, or not at all."""

from typing import Any

import pytest
from langchain_core.documents import Document

from run.state import SelfRAGState
from tests.integration.graph import sky
from tests.integration.graph.sky import nodes_of
from tests.scripted import ScriptedCritic, ScriptedGenerator
from tests.stations import MOST, ORDER, Library


class Searched(Library):
    """Finds other texts, then the first rows, whatever is asked."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.texts = [Document(text, id=text, metadata={"source": "a.txt"}) for text in texts]

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        return [*self.texts, *self.passages][:k]


async def ask(question: str, generator: ScriptedGenerator, *texts: str, **judged: Any) -> SelfRAGState:
    critic = ScriptedCritic(otherwise={"retrieve": "retrieve", "fits": "fits", **judged})
    return await sky.ask(generator, critic, Searched(*texts), question=question)


async def test_the_answer_ends_with_the_query_and_quotes_its_rows() -> None:
    final = await ask(MOST, ScriptedGenerator(selects=[ORDER]))
    assert (final["outcome"], final["stop_reason"]) == ("grounded", "accepted")
    assert nodes_of(final) == ["decide", "retrieve", "query_table", "select", "finish"]
    assert final["answer"].endswith(f"From all 33 rows of stations.csv: {ORDER}")
    assert [one["row"] for one in final["citations"]] == [2, 3]
    assert final["usage"]["model_calls"] == 3


async def test_what_no_column_says_is_not_answered_from_the_rows_that_were_found() -> None:
    final = await ask("Which station has the most visitors?", ScriptedGenerator(selects=["none"]))
    assert (final["outcome"], final["stop_reason"]) == ("abstained", "nothing_relevant")
    assert nodes_of(final) == ["decide", "retrieve", "query_table", "finish"]


@pytest.mark.parametrize(("select", "read"), [(ORDER, "query_table"), ("none", "generate")])
async def test_where_other_texts_come_first_they_are_read_without_the_rows_if_no_query_fits(
    select: str, read: str
) -> None:
    texts = ["The busiest station of all is Elm.", "Elm has the most platforms: 20."]
    generator = ScriptedGenerator(selects=[select], drafts=["Elm has the most platforms: 20."])
    judged = {"relevance": "relevant", "support": "fully supported", "usefulness": "5"}
    final = await ask(MOST, generator, *texts, **judged)
    assert final["outcome"] == "grounded"
    assert (read in nodes_of(final), [one["text"] for one in final["passages"]] == texts) == (True, select == "none")


@pytest.mark.parametrize(("select", "outcome"), [(ORDER, "grounded"), ("none", "abstained")])
async def test_where_no_text_before_its_rows_answers_a_table_is_asked(select: str, outcome: str) -> None:
    texts = ["The line is old.", "Its stations are of brick.", "All were built by Elm & Co."]
    generator = ScriptedGenerator(selects=[select], queries=[MOST])
    final = await ask(MOST, generator, *texts, relevance="irrelevant")
    read = ["decide", "retrieve", "grade_documents", "query_table"]
    assert nodes_of(final)[:4] == read
    assert final["outcome"] == outcome
    assert nodes_of(final)[-1] == "finish"


async def test_what_a_row_says_is_read_from_it_where_there_is_no_query() -> None:
    generator = ScriptedGenerator(selects=["none"], drafts=["Alder is on the Red line."])
    question = "On which line is Alder?"
    final = await ask(question, generator, relevance="relevant", support="fully supported", usefulness="5")
    assert final["outcome"] == "grounded"
    assert nodes_of(final)[2:5] == ["query_table", "grade_documents", "generate"]
    generator.done()


@pytest.mark.parametrize("question", ["Welche Station hat die meisten Bahnsteige?", "哪个车站的站台最多？"])
async def test_the_query_is_named_in_the_questions_language(question: str) -> None:
    final = await ask(question, ScriptedGenerator(selects=[ORDER]))
    assert "From all" not in final["answer"]
    assert final["answer"].endswith(ORDER)
