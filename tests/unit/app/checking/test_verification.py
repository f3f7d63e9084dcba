import pytest

from app.checking.verification import passages_for, require_claim, verify_sentence
from core.errors import ModelError, RequestError
from grounding.checkable import Checkable
from grounding.claims import LONGEST_CLAIM, Statement
from nodes.hallucination_check import hallucination_check
from run.context import Context, Limits, Thresholds
from tests.scripted import ScriptedCritic, ScriptedRetriever, draft, roomy_budget, runtime, services, state, verdict

RENT = "The rent is 900 euros a month."
SEINE = "The Seine flows through Paris."
DOGS = "Dogs are allowed in the garden."


def sentence(text: str, *, subject: str = "", no_claim: str = "", context: str = "") -> Checkable:
    return Checkable(Statement(text, context, 0), subject, no_claim)


async def test_a_fact_that_stands_nowhere_costs_no_call_and_cites_nothing() -> None:
    bound = services(retriever=ScriptedRetriever(always=[SEINE]))
    found, spent = await verify_sentence(sentence("The museum opened in 1999."), bound, Context())
    assert (found.label, found.citations, spent["model_calls"]) == ("no support", [], 0)
    assert found.reason == "1999 stands in no passage."


@pytest.mark.parametrize(("least", "label"), [(0.6, "no support"), (0.4, "partially supported")])
@pytest.mark.parametrize("question", [None, "Where are dogs allowed?"])
async def test_a_sentence_has_its_own_threshold_and_an_answer_that_of_the_graph(
    least: float, label: str, question: str | None
) -> None:
    probable = verdict("partially supported", {"fully supported": 0.1, "partially supported": 0.4, "no support": 0.5})
    critic = ScriptedCritic({DOGS: "relevant", "In the garden.": probable})
    thresholds = Thresholds(supported=least if question else 1 - least, verified=1 - least if question else least)
    bound = services(critic=critic, retriever=ScriptedRetriever(always=[DOGS]), thresholds=thresholds)
    found, _ = await verify_sentence(sentence("In the garden."), bound, Context(), question)
    assert found.label == label


async def test_a_date_of_another_sentence_does_not_carry_the_claim() -> None:
    lease = "The tenant paid in May 2029. The lease ends in 2040. The rent is reviewed on 1 April 2030."
    critic = ScriptedCritic(otherwise={"support": "fully supported"})
    bound = services(critic=critic, retriever=ScriptedRetriever(always=[lease]))
    found, _ = await verify_sentence(sentence("The rent is reviewed on 1 April 2029."), bound, Context())
    assert found.label == "contradicted"
    assert [one["quote"] for one in found.citations] == ["The rent is reviewed on 1 April 2030."]
    right, _ = await verify_sentence(sentence("The rent is reviewed on 1 April 2030."), bound, Context())
    assert right.label == "fully supported"


async def test_a_question_is_no_claim_and_is_not_searched_for() -> None:
    retriever = ScriptedRetriever()
    found, spent = await verify_sentence(
        sentence("Why?", no_claim="It is a question."), services(retriever=retriever), Context()
    )
    assert (found.label, found.reason, spent["model_calls"]) == ("no claim", "It is a question.", 0)
    assert retriever.queries == []


async def test_the_sentence_is_searched_for_by_itself_and_with_its_subject() -> None:
    retriever = ScriptedRetriever({"It is 900.": [SEINE, DOGS], "Rent: It is 900.": [RENT, DOGS]})
    passages = await passages_for(sentence("It is 900.", subject="Rent"), services(retriever=retriever), Context(k=3))
    assert [one["text"] for one in passages] == [DOGS, SEINE, RENT]  # found twice; then the sentence's own search
    few = await passages_for(sentence("It is 900.", subject="Rent"), services(retriever=retriever), Context(k=1))
    assert [one["text"] for one in few] == [DOGS]


async def test_the_sentence_that_a_pronoun_refers_to_is_searched_for_too() -> None:
    retriever = ScriptedRetriever({"The rent is due. It is 900 euros.": [RENT]})
    one = sentence("It is 900 euros.", context="The rent is due.")
    assert [found["text"] for found in await passages_for(one, services(retriever=retriever), Context())] == [RENT]


async def test_the_critic_reads_the_passage_that_shares_most_words_as_an_answer_to_a_question() -> None:
    critic = ScriptedCritic({"Dogs may go into the garden.": "fully supported"})
    others = [f"Number {number} is odd." for number in ("seven", "nine", "eleven")]
    bound = services(critic=critic, retriever=ScriptedRetriever(always=[*others, DOGS]))
    await verify_sentence(sentence("Dogs may go into the garden."), bound, Context())
    (read,) = critic.inputs
    assert DOGS in read["passages"]
    assert read["passages"].count("<passage") == 1
    assert read["question"] == "Is it true that Dogs may go into the garden?"


async def test_an_answer_is_judged_as_the_graph_judges_it() -> None:
    question, answer = "Where are dogs allowed?", "In the garden."
    script = {DOGS: "relevant", SEINE: "irrelevant", answer: "fully supported"}
    by_graph, by_verify = ScriptedCritic(script), ScriptedCritic(script)
    retriever = ScriptedRetriever({answer: [SEINE], question: [DOGS]})
    found, spent = await verify_sentence(
        sentence(answer), services(critic=by_verify, retriever=retriever), Context(), question
    )
    begun = state(question, drafts=[draft(answer, [DOGS])], drafts_left=0)
    update = await hallucination_check(begun, services(critic=by_graph, budget=roomy_budget()), runtime())
    assert by_verify.inputs[-1] == by_graph.inputs[-1]
    assert (found.label, found.question) == (update["claims"][0][0]["verdict"]["label"], question)
    assert [one["quote"] for one in found.citations] == [DOGS]
    assert spent["model_calls"] == 3


async def test_a_wrong_answer_is_contradicted_and_one_without_relevant_passages_reads_all() -> None:
    critic = ScriptedCritic(otherwise={"relevance": "irrelevant", "support": "no support"})
    bound = services(critic=critic, retriever=ScriptedRetriever(always=[SEINE, RENT]))
    wrong, _ = await verify_sentence(sentence("The rent is 950 euros a month."), bound, Context(), "What is the rent?")
    assert (wrong.label, [one["quote"] for one in wrong.citations]) == ("contradicted", [RENT])
    await verify_sentence(sentence("The rent is due each month."), bound, Context(), "When is the rent due?")
    assert critic.inputs[-1]["passages"].count("<passage") == 2


async def test_a_limit_is_an_error_and_no_verdict() -> None:
    bound = services(retriever=ScriptedRetriever(always=[DOGS]))
    with pytest.raises(ModelError, match="could not be checked within SELFRAG_LIMIT_TOKENS"):
        await verify_sentence(sentence("Dogs may go into the garden."), bound, Context(limits=Limits(tokens=5)))


@pytest.mark.parametrize(("claim", "said"), [(" \u200b\n", "is empty"), ("a" * (LONGEST_CLAIM + 1), "is longer than")])
def test_a_claim_that_is_none_is_refused(claim: str, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        require_claim(claim)
