import threading
from collections.abc import Callable
from typing import Any

import pytest

from grounding.claims import LONGEST_CLAIM
from models.calibration import Fit, Fits, expit, logit
from models.chat import MAX_CHARACTERS_PER_TOKEN, Chat
from models.critic import Critic
from nodes import check_claim
from nodes import hallucination_check as node
from nodes.hallucination_check import MOST_CLAIMS, hallucination_check
from prompts.delimiters import delimited
from prompts.generate import MAX_TOKENS
from run.context import Thresholds
from tests.scripted import ScriptedChat, ScriptedCritic, draft, passage, reply, run_node, state, verdict

BLUE = "Air scatters blue light."
SKY = f"{BLUE} The sea is salt."
SEA = "The sea scatters blue light."


def judging(support: Any = "fully supported") -> ScriptedCritic:
    return ScriptedCritic(otherwise={"support": support})


async def checked(text: str, critic: Any = None, passages: Any = (SKY,), left: int = 0, **more: Any) -> Any:
    """The claims of a draft; ``left`` are the redrafts, ``more`` is of the state or the context."""
    begun = {key: more.pop(key) for key in ("question", "standalone") if key in more}
    before = state(drafts=[draft(text, passages)], drafts_left=left, **begun)
    (claims,) = (await run_node(hallucination_check, before, critic=critic, **more))["claims"]
    return claims


async def test_every_claim_gets_a_verdict_and_its_quote() -> None:
    critic = ScriptedCritic({"Air scatters light.": "fully supported", "The sea is salt water.": "partially supported"})
    one, other = await checked("Air scatters light. The sea is salt water.", critic)
    assert (one["text"], one["verdict"]["label"]) == ("Air scatters light.", "fully supported")
    assert (other["text"], other["verdict"]["label"]) == ("The sea is salt water.", "partially supported")
    quotes = [SKY[one["quote"]["start"] : one["quote"]["end"]] for one in (one, other)]
    assert quotes == [BLUE, "The sea is salt."]
    assert critic.explained == []


async def test_no_reason_is_asked_for_where_the_cells_of_a_row_are_the_next_drafts() -> None:
    row = "Country: Sweden | Boats: 12"
    for changes, explained in (({}, 1), ({"left_out": []}, 0)):
        read = [passage(row, **changes)]
        critic = judging("no support")
        before = state("How many boats has Sweden?", drafts=[{**draft("12"), "passages": read}], drafts_left=1)
        await run_node(hallucination_check, before, critic=critic)
        assert len(critic.explained) == explained


async def test_a_cell_that_is_tried_beside_others_must_be_as_sure_as_a_sentence_of_a_long_answer() -> None:
    unsure = verdict("fully supported", {"fully supported": 0.4, "partially supported": 0.0, "no support": 0.6})
    row = "Country: Sweden | Boats: 12"
    for copied, label in ((False, "fully supported"), (True, "no support")):
        before = state("How many boats has Sweden?", drafts=[{**draft("12", [row]), "copied": copied}], drafts_left=0)
        thresholds = Thresholds(supported=0.3, segment=0.5)
        update = await run_node(hallucination_check, before, critic=judging(unsure), thresholds=thresholds)
        assert update["claims"][0][0]["verdict"]["label"] == label


async def test_a_bare_yes_is_not_quoted_from_a_cell_that_says_yes() -> None:
    table = "Route: Lunden - Vik\nRuns on Sunday: yes"
    text = "Dogs travel free on the ferry."
    (claim,) = await checked("Yes.", judging(), passages=(table,), question="Do dogs pay on the ferry?")
    assert (claim["quote"], claim["verdict"]["label"]) == (None, "no support")
    (claim,) = await checked("Yes.", judging(), passages=(table, text), question="Do dogs travel on the ferry?")
    assert claim["quote"]["passage"] == text
    critic = ScriptedCritic({"ja": "fully supported", "nein": "no support"})
    (claim,) = await checked("Ja.", critic, passages=("Hunde fahren frei.",), question="Fahren Hunde frei?")
    assert claim["verdict"]["label"] == "fully supported"


@pytest.mark.parametrize(
    ("opposite", "threshold", "label"),
    [(0.9, 0.0, "no support"), (0.3, 0.0, "fully supported"), (0.3, 0.8, "no support"), (0.05, 0.8, "fully supported")],
)
async def test_a_bare_yes_must_be_surer_than_the_opposite_in_the_passage_of_its_quote(
    opposite: float, threshold: float, label: str
) -> None:
    yes, no = ({"fully supported": p, "no support": 1 - p} for p in (0.6, opposite))
    critic = ScriptedCritic({"yes": verdict("fully supported", yes), "no": verdict("no support", no)})
    thresholds, passages = Thresholds(supported=0.3, yes_or_no=threshold), ("Salt is mined here.", SKY)
    (claim,) = await checked("Yes.", critic, passages, question="Does air scatter light?", thresholds=thresholds)
    assert (claim["verdict"]["label"], claim["quote"]["passage"]) == (label, SKY)
    assert claim["verdict"]["probabilities"]["fully supported"] == pytest.approx(
        expit(logit(0.6) - logit(opposite)), abs=1e-6
    )
    assert [delimited([passage(SKY)])] * 2 == [one["passages"] for one in critic.inputs]


@pytest.mark.parametrize(
    ("opposite", "label"),
    [("no support", "fully supported"), ("fully supported", "no support"), ("unknown", "unknown")],
)
async def test_a_bare_no_whose_opposite_is_supported_too_is_not(opposite: str, label: str) -> None:
    said = {"no": verdict("fully supported", None), "yes": verdict(opposite, None)}
    (claim,) = await checked("No", ScriptedCritic(said), question="Is the sea sweet?")
    assert claim["verdict"]["label"] == label


@pytest.mark.parametrize(
    ("source", "label"),
    [("The fee is due when the lease begins.", "fully supported"), ("Die Kosten trägt der Mieter.", "no support")],
)
async def test_what_is_quoted_from_another_language_must_be_surer(source: str, label: str) -> None:
    critic = ScriptedCritic({source: verdict("fully supported", {"fully supported": 0.4, "no support": 0.6})})
    thresholds = Thresholds(supported=0.3, not_english=0.5)
    (claim,) = await checked(source, critic, (source,), question="Which?", thresholds=thresholds)
    assert claim["verdict"]["label"] == label


async def test_a_bare_yes_is_quoted_from_the_sentence_that_says_most_of_the_question() -> None:
    critic = ScriptedCritic({"no": "fully supported", "yes": "no support"})
    policy = "Fines are never paid. Costs of a companion are not reimbursed."
    (claim,) = await checked("no", critic, (policy,), question="Are the costs of my husband reimbursed if he comes?")
    assert policy[claim["quote"]["start"] : claim["quote"]["end"]] == "Costs of a companion are not reimbursed."


async def test_a_condition_that_is_said_as_a_fact_is_refused_without_a_call() -> None:
    critic = judging()
    (claim,) = await checked("The sea is very salt.", critic, passages=("Fish die if the sea is very salt.",))
    assert (claim["verdict"]["label"], critic.asked) == ("no support", [])


async def test_what_a_draft_says_beside_the_answer_is_judged_by_itself() -> None:
    critic = ScriptedCritic({BLUE: "fully supported", "The sea is salt.": ["no support", "fully supported"]})
    _, beside = await checked(SKY, critic, left=1, question="Why is the sky blue?")
    assert beside["verdict"]["label"] == "fully supported"
    assert [one["question"] for one in critic.inputs][2:] == ["Is it true that the sea is salt?"]
    assert critic.explained == [], "a reason is asked for only of what fails by itself too"


@pytest.mark.parametrize(
    ("whole", "asked"), [(False, "Why is the sky blue?"), (True, "Is it true that Air scatters blue light?")]
)
async def test_a_sentence_is_checked_as_a_part_of_a_long_answer_and_of_a_summary_by_itself(
    whole: bool, asked: str
) -> None:
    critic = judging()
    found = {"route": "retrieve", "searched": 1, "relevant": ["a"], "segments": []}
    before = state(drafts=[draft(BLUE, (SKY,))], length="long", whole=whole, **found)
    await run_node(hallucination_check, before, critic=critic)
    assert [one["question"] for one in critic.inputs] == [asked]


@pytest.mark.parametrize(("caution", "label"), [(None, "fully supported"), (0.8, "no support")])
async def test_what_stands_beside_the_answer_is_refused_below_the_caution_asked_for(
    caution: float | None, label: str
) -> None:
    def full(p: float) -> Any:
        return verdict("fully supported", {"fully supported": p, "partially supported": 0.0, "no support": 1 - p})

    critic = ScriptedCritic({BLUE: full(0.9), "The sea is salt.": [full(0.1), full(0.6)]})
    known = Thresholds(supported=0.5, verified=0.4)
    _, beside = await checked(SKY, critic, question="Why is the sky blue?", caution=caution, thresholds=known)
    assert beside["verdict"]["label"] == label


async def test_beside_no_answer_nothing_is_judged_by_itself() -> None:
    critic = judging("no support")
    found = await checked(SKY, critic, question="Why is the sky blue?")
    assert [one["verdict"]["label"] for one in found] == ["no support", "no support"]
    assert len(critic.asked) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Bees make honey.", "No passage says this."),
        ("Air scatters 90 blue light.", "90 stands in no passage."),
        ("Air scatters blue light, says Rayleigh.", "Rayleigh stands in no passage."),
        ("Air scatters blue light " * 200 + ".", "The statement is too long to check."),
    ],
)
async def test_a_claim_without_a_quote_or_with_a_fact_that_stands_nowhere_is_not_supported_unasked(
    text: str, reason: str
) -> None:
    (found,) = await checked(text)
    assert found["verdict"] == verdict("no support", reason=reason)
    assert (found["text"], found["context"]) == (text, "")
    if reason.startswith("No passage"):
        assert found["quote"] is None


@pytest.mark.parametrize(
    "question",
    ["Which club moved?", "How many clubs moved?", "When the hall closed, how many moved?", "Wo ist er?", "¿Qué es?"],
)
async def test_yes_answers_no_open_question(question: str) -> None:
    (found,) = await checked("Yes", None, ["It moved: yes."], question=question)
    reason = "It says yes or no, which the question does not ask."
    assert found["verdict"] == verdict("no support", reason=reason)


@pytest.mark.parametrize(
    "question", ["Did the club, which moved, pay?", "When he is late, may he stay?", "Was it late?"]
)
async def test_yes_is_judged_where_the_question_asks_whether(question: str) -> None:
    (found,) = await checked("Yes", judging(), ["The club moved and paid."], question=question)
    assert "which the question does not ask" not in found["verdict"]["reason"]


async def test_a_draft_that_only_repeats_the_question_supports_nothing() -> None:
    """A follow-up is compared with what was said alone: a name of the question before it may answer it."""
    text = "The club moved in May."
    (found,) = await checked(text, None, [text], question="Which of the clubs moved in May?")
    assert found["verdict"] == verdict("no support", reason="It only repeats the question.")
    text, asked = "Anna signed it.", "Who signed it?"
    joined = f"What did Anna do in May? {asked}"
    (found,) = await checked(text, judging(), [text], question=asked, standalone=joined)
    assert found["verdict"]["label"] == "fully supported"


@pytest.mark.parametrize(("meant", "label"), [("How cold is Skarvik?", "fully supported"), ("How cold?", "no support")])
async def test_a_name_of_what_is_meant_may_stand_in_a_claim(meant: str, label: str) -> None:
    text, said = "The harbour of Skarvik freezes over.", "And in winter?"
    known = {"question": said, "standalone": f"{meant} {said}"}
    (found,) = await checked(text, judging(), ["The harbour freezes over."], **known)
    assert found["verdict"]["label"] == label


@pytest.mark.parametrize(
    ("label", "left", "explain", "asked"),
    [
        ("no support", 1, False, True),
        ("partially supported", 1, False, True),
        ("unknown", 1, False, True),
        ("fully supported", 1, False, False),
        ("no support", 0, False, False),
        ("no support", 0, True, True),
    ],
)
async def test_a_reason_is_asked_for_where_a_claim_failed_and_is_to_be_redrafted(
    label: str, left: int, explain: bool, asked: bool
) -> None:
    critic = judging(label)
    (found,) = await checked(BLUE, critic, left=left, explain=explain)
    assert critic.explained == ([BLUE] if asked else [])
    assert (found["verdict"]["reason"] is not None) == asked


async def test_no_reason_is_asked_for_where_a_condition_is_drafted_from() -> None:
    critic = judging("no support")
    await checked(BLUE, critic, [f"{BLUE} However, at dusk it scatters red."], left=1)
    assert critic.explained == []


async def test_the_critic_reads_what_the_generator_read() -> None:
    critic, text = judging(), "word " * 2000 + BLUE
    await checked(BLUE, critic, [text, "Other."])
    (inputs,) = critic.inputs
    assert text in inputs["passages"]
    assert "Other." in inputs["passages"]
    assert (inputs["question"], inputs["claim"]) == ("Why is the sky blue?", BLUE)


async def test_a_pronouns_sentence_and_a_lists_head_are_shown_to_the_critic_with_the_claim() -> None:
    critic, red = judging(), "It scatters red light less."
    passages = ["Air scatters blue light, and scatters red light less. The sea is salt and blue."]
    claims = await checked(f"{BLUE} {red}\nThe sea is:\n- salt\n- blue", critic, passages)
    shown = [BLUE, f"{BLUE} {red}", "The sea is: salt", "The sea is: blue"]
    assert [inputs["claim"] for inputs in critic.inputs] == shown
    assert [claim["text"] for claim in claims] == [BLUE, red, "salt", "blue"]


LIKELY = verdict("fully supported", {"fully supported": 0.6, "partially supported": 0.2, "no support": 0.2})


@pytest.mark.parametrize(
    ("least", "intercept", "label"),
    [
        (0.0, None, "fully supported"),
        (0.8, None, "fully supported"),
        (0.81, None, "no support"),
        (0.5, 2.0, "fully supported"),
        (0.5, -2.0, "no support"),
    ],
)
async def test_a_claim_whose_support_as_calibrated_is_below_the_threshold_has_none(
    least: float, intercept: float | None, label: str
) -> None:
    fits = Fits(support=None if intercept is None else Fit(intercept=intercept, coefficients={"log_odds": 0.1}))
    (found,) = await checked(BLUE, judging(LIKELY), fits=fits, thresholds=Thresholds(supported=least))
    assert found["verdict"]["label"] == label


async def test_each_draft_has_its_own_claims_and_one_that_declines_none() -> None:
    begun = state(drafts=[draft("I don't know.", [SKY], declined=True), draft(BLUE, [SKY])])
    update = await run_node(hallucination_check, begun, critic=judging())
    assert [len(claims) for claims in update["claims"]] == [0, 1]


async def test_of_more_statements_than_a_draft_has_tokens_the_rest_is_not_supported() -> None:
    labels = [one["verdict"]["label"] for one in await checked(f"{BLUE} " * (MOST_CLAIMS + 5), judging())]
    assert labels == ["fully supported"] * MOST_CLAIMS + ["no support"] * 5


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["1", "60 of ", "Paris NATO 3 May 2021, ", "It is 5 so. ", "。"])
async def test_the_longest_draft_is_read_in_another_thread(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()

    def noted(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            threads.add(threading.get_ident())
            return work(*arguments)

        return run

    for module, name in ((node, "statements"), (check_claim, "quotes_or_reason")):
        monkeypatch.setattr(module, name, noted(getattr(module, name)))
    paragraph = (unit * LONGEST_CLAIM)[: LONGEST_CLAIM - 100]
    claims = await checked("\n\n".join([paragraph] * (MAX_TOKENS * MAX_CHARACTERS_PER_TOKEN // LONGEST_CLAIM)))
    assert {one["verdict"]["label"] for one in claims} == {"no support"}
    assert threads
    assert threading.get_ident() not in threads


RED = "Air scatters blue light more than red light."
QUOTED = "“Air scatters blue light. The sea is salt.”"


@pytest.mark.parametrize(
    ("text", "label", "said", "reason", "asked"),
    [
        (BLUE, "fully supported", "", f"A passage says: “{BLUE}”", False),
        (RED, "no support", "", "No passage contains “red”.", False),
        (RED, "partially supported", "", f"A passage says: “{BLUE}” No passage contains “red”.", False),
        (SEA, "no support", "The passages do not say so of the sea.", "The passages do not say so of the sea.", True),
        (SEA, "no support", "The passages fully support this.", f"The nearest that a passage says is: {QUOTED}", True),
        (SEA, "partially supported", "The passages fully support this.", f"A passage says only: {QUOTED}", True),
        (SEA, "unknown", "", "The critic gave no verdict.", False),
        ("Bees make honey.", None, "", "No passage says this.", False),
    ],
)
async def test_with_explain_the_reason_of_a_claim_is_what_the_passages_say_or_lack(
    text: str, label: str | None, said: str, reason: str, asked: bool
) -> None:
    """A reason that contradicts the verdict gives way to the quote."""
    critic = ScriptedCritic({text: label} if label else {}, reasons={text: said})
    (found,) = await checked(text, critic, left=1, explain=True)
    assert found["verdict"] == verdict(label or "no support", reason=reason)
    assert critic.explained == ([text] if asked else [])


@pytest.mark.parametrize(("explain", "asked"), [(False, "Why? Answer in one"), (True, "The verdict is: no support. ")])
async def test_the_critic_is_told_the_verdict_or_for_a_redraft_asked_what_is_wrong(explain: bool, asked: str) -> None:
    model = ScriptedChat(script=[reply("no", top=[("no", -0.1)]), "The sea is not named so."])
    (found,) = await checked(SEA, Critic(Chat(lambda: model, "scripted")), left=1, explain=explain)
    assert found["verdict"]["reason"] == "The sea is not named so."
    assert model.calls[1][0][-1].text.startswith(asked)
    model.done()


@pytest.mark.parametrize(
    ("label", "p", "kept"),
    [
        ("partially supported", 0.625, ("partially supported", 0.5)),
        ("fully supported", 0.62, ("no support", 0.496)),
        ("no support", 0.2, ("no support", 0.2)),
    ],
)
async def test_a_claim_about_what_a_passage_names_rests_on_its_quote_too_and_is_as_sure_as_both(
    label: str, p: float, kept: tuple[str, float]
) -> None:
    naming = "Runa Tveit led the survey."
    quote = {"passage": naming, "start": 0, "end": len(naming)}
    sure = verdict("fully supported", {"fully supported": 0.7, "partially supported": 0.1, "no support": 0.2})
    subject = {"question": "What does Runa Tveit keep?", "quote": quote, "verdict": sure}
    given = {"fully supported": p - 0.1, "partially supported": 0.1, "no support": 1 - p}
    before = state(drafts=[draft("Runa Tveit keeps bees.", [naming, "Runa Tveit keeps bees."])], subject=subject)
    ((claim,),) = (await run_node(hallucination_check, before, critic=judging(verdict(label, given))))["claims"]
    assert claim.get("second_quote") == (None if label == "no support" else quote)
    shares = claim["verdict"]["probabilities"]
    assert (claim["verdict"]["label"], 1 - shares["no support"]) == (kept[0], pytest.approx(kept[1]))
    assert sum(shares.values()) == pytest.approx(1)


async def test_a_claim_quoted_from_another_row_than_the_question_names_is_not_supported() -> None:
    rows = ["Country: Germany | Tested: 290\nCountry: Netherlands | Tested: 397"]
    (found,) = await checked("Tested: 290", None, rows, question="How many did the Netherlands test?")
    reason = "The row is of Germany, where the question names Netherlands."
    assert found["verdict"] == verdict("no support", reason=reason)
    (found,) = await checked("Tested: 397", judging(), rows, question="How many did the Netherlands test?")
    assert found["verdict"]["label"] == "fully supported"
    (found,) = await checked("Germany tested 290.", None, rows, question="Which country tested most?")
    assert found["verdict"]["reason"] == "One row does not tell which is the most."
    rows = ["Country: Germany | Tested: 290 | Tested by hand: 12"]
    (found,) = await checked("290", None, rows, question="How many were tested by hand in Germany?")
    assert found["verdict"]["reason"] == "It is Tested, where the question names Tested by hand."
