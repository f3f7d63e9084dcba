"""Both loops: each turn changes something, each ends, and the best candidate is kept."""

import pytest

from app.results.result import result_of
from run.context import Limits
from tests.integration.graph.sky import AIR, BAD, GOOD, QUESTION, SALT, SEA, Fresh, ask, critic, nodes_of, writes_on
from tests.scripted import ScriptedGenerator, ScriptedRetriever, document


async def test_the_query_changes_at_every_turn_until_something_is_relevant() -> None:
    generator = ScriptedGenerator(queries=["blue air", "light"], drafts=[GOOD])
    retriever = ScriptedRetriever({QUESTION: [SALT], "blue air": [SALT, SEA], "light": [AIR, SALT]})
    judge = critic()
    final = await ask(generator, judge, retriever)
    assert final["outcome"] == "grounded"
    assert retriever.queries == final["queries"] == [QUESTION, "blue air", "light"]
    assert [inputs["tried"] for inputs in generator.inputs("query")] == [f"- {QUESTION}", f"- {QUESTION}\n- blue air"]
    graded = [subject for kind, subject in judge.asked if kind == "relevance"]
    assert sorted(graded) == sorted([SALT, SEA, AIR]), "a passage is graded once"
    assert {inputs["question"] for inputs in judge.inputs if "question" in inputs} == {QUESTION}


async def test_an_answer_that_only_repeats_the_question_is_redrafted_with_that_said_and_then_withheld() -> None:
    question, said = "Which of the clubs moved in May?", "The club moved in May."
    generator = ScriptedGenerator(drafts=[said], mended=["A club moved in May."])
    retriever = ScriptedRetriever({question: [said]})
    final = await ask(generator, critic({said: "relevant"}), retriever, question=question, limits=Limits(rewrites=0))
    assert (final["outcome"], final["stop_reason"]) == ("abstained", "claims_unsupported")
    assert generator.inputs("mend")[0]["failed"] == f"- {said} (It only repeats the question.)"
    generator.done()


@pytest.mark.parametrize(("drafts", "rewrites"), [(1, 0), (2, 1), (4, 3), (5, 7)])
async def test_both_loops_end_when_nothing_is_ever_good_enough(drafts: int, rewrites: int) -> None:
    """With the most of both, the longest run fits in the recursion limit."""
    generator = writes_on()
    limits = Limits(rewrites=rewrites, drafts=drafts, model_calls=10_000, tokens=10**7)
    final = await ask(generator, critic(support="no support"), Fresh(), limits=limits)
    assert (final["outcome"], final["stop_reason"]) == ("abstained", "claims_unsupported")
    assert nodes_of(final).count("generate") == drafts * (rewrites + 1)
    assert nodes_of(final).count("retrieve") == rewrites + 1
    assert len(final["queries"]) == rewrites + 1
    asked = [tuple(sorted(inputs.items())) for name, inputs in generator.asked if name == "mend"]
    assert len(set(asked)) == len(asked), "no redraft is asked for the same twice"


async def test_the_same_passages_are_not_drafted_from_again() -> None:
    generator = ScriptedGenerator(
        [BAD, "The sea looks red."], mended=[f"{BAD} It is red.", "The sea looks redder."], queries=["light", "sea"]
    )
    retriever = ScriptedRetriever({QUESTION: [AIR, SALT], "light": [SALT, AIR], "sea": [SEA, AIR]})
    final = await ask(generator, critic({SEA: "relevant"}, support="no support"), retriever)
    assert [inputs["passages"].count("<passage") for inputs in generator.inputs("draft")] == [1, 2]
    assert final["outcome"] == "abstained"
    generator.done()


async def test_an_answer_rests_on_two_places_and_cites_both() -> None:
    """A name that only the two passages share links them."""
    question = "Where did the Skarvik harbour survey leader study?"
    survey = document("The survey of Skarvik harbour was led by Runa Tveit.", source="survey.md")
    tveit = document("Runa Tveit studied hydrography in Plymouth.", source="staff.md")
    retriever = ScriptedRetriever({question: [survey, tveit]})
    both = survey.page_content, tveit.page_content
    judge = critic(relevance=lambda text: "relevant" if all(one in text for one in both) else "irrelevant")
    answer = "Runa Tveit, the leader of the Skarvik harbour survey, studied in Plymouth."
    generator = ScriptedGenerator(drafts=[answer], brief={both[0]: "none", both[1]: "Plymouth"})
    final = await ask(generator, judge, retriever, question=question)
    assert (final["outcome"], final["answer"]) == ("grounded", answer)
    assert {one["source"] for one in final["citations"]} == {"survey.md", "staff.md"}
    assert result_of(final).claims[0].citations == [1, 2]
    retriever.done()
