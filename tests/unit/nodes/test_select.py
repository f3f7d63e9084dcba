from copy import deepcopy
from typing import Any

import pytest

from graph.context import Weights
from nodes.select import candidate, rank, select, supported
from tests.scripted import candidate_of, claim, draft, roomy_tab, runtime, services, state, verdict

GOOD = candidate_of(draft("Good.", ["a"]), [claim("Good.")])
USELESS = candidate_of(draft("So what.", ["a"]), [claim("So what.")], use="1", score=9)
HALF = candidate_of(draft("Half.", ["a"]), [claim("Half."), claim("Bad.", "no support")], score=9)
BAD = candidate_of(draft("Bad.", ["a"]), [claim("Bad.", "no support")], score=9)
NOT_CHECKED = candidate_of(draft("New.", ["a"]), [], score=9)
DECLINES = candidate_of(draft("I don't know.", ["a"], declined=True), [], score=9)


def a_round(text: str, label: str, use: str, **changes: Any) -> dict[str, Any]:
    return {"drafts": [draft(text, ["a"])], "claims": [[claim(text, label)]], "uses": [verdict(use)], **changes}


def test_what_may_be_claimed_outranks_the_score() -> None:
    order = [DECLINES, NOT_CHECKED, HALF, USELESS]
    assert sorted(order, key=rank) == order
    assert rank(BAD) == rank(NOT_CHECKED)
    assert rank(USELESS) > rank(GOOD)  # both are supported: the score decides


@pytest.mark.parametrize(
    ("label", "use", "accepted"),
    [
        ("fully supported", "5", True),
        ("fully supported", "3", True),
        ("fully supported", "unknown", True),
        ("fully supported", "2", False),
        ("partially supported", "5", False),
        ("no support", "5", False),
        ("unknown", "5", False),
    ],
)
async def test_an_answer_is_accepted_when_it_is_supported_and_useful(label: str, use: str, accepted: bool) -> None:
    update = await select(state(**a_round("It.", label, use)), services(tab=roomy_tab()), runtime())
    assert update["accepted"] == accepted
    assert update["best"]["draft"]["text"] == "It."


async def test_usefulness_is_weighed_by_its_probabilities() -> None:
    begun = a_round("It.", "fully supported", "3")
    begun["uses"] = [verdict("3", {"1": 0.3, "2": 0.1, "3": 0.4, "4": 0.1, "5": 0.1})]
    update = await select(state(**begun), services(tab=roomy_tab()), runtime())
    assert update["best"]["usefulness"] == pytest.approx(-0.2)
    assert update["accepted"], "of more than two labels the most probable wins, and 3 is enough"
    begun["uses"] = [verdict("2", {"1": 0.1, "2": 0.4, "3": 0.1, "4": 0.1, "5": 0.3})]
    update = await select(state(**begun), services(tab=roomy_tab()), runtime())
    assert update["best"]["usefulness"] > 0
    assert not update["accepted"]


@pytest.mark.parametrize(
    ("before", "label", "kept"),
    [
        (GOOD, "no support", "Good."),
        (GOOD, "partially supported", "Good."),
        (HALF, "fully supported", "New."),
        (BAD, "partially supported", "New."),
        (DECLINES, "no support", "New."),
        (None, "no support", "New."),
    ],
)
async def test_a_worse_redraft_does_not_replace_a_better_draft(before: Any, label: str, kept: str) -> None:
    begun = state(**a_round("New.", label, "5", best=before))
    update = await select(begun, services(tab=roomy_tab()), runtime())
    assert update["best"]["draft"]["text"] == kept


async def test_an_equal_redraft_does_not_either() -> None:
    begun = a_round("New.", "fully supported", "3")
    before = deepcopy((await select(state(**begun), services(tab=roomy_tab()), runtime()))["best"])
    before["draft"]["text"] = "Old."
    update = await select(state(**begun, best=before), services(tab=roomy_tab()), runtime())
    assert update["best"]["draft"]["text"] == "Old."


async def test_a_draft_of_which_nothing_was_checked_is_not_accepted() -> None:
    update = await select(state(drafts=[draft("New.", ["a"])]), services(tab=roomy_tab()), runtime())
    assert not update["accepted"]
    assert update["best"]["support"] == 0
    assert not supported(update["best"])


async def test_a_direct_answer_has_nothing_to_support() -> None:
    begun = state(drafts=[draft("4")], uses=[verdict("5")])
    update = await select(begun, services(tab=roomy_tab()), runtime())
    assert update["accepted"]


async def test_no_draft_leaves_the_best_as_it_is() -> None:
    update = await select(state(best=HALF), services(tab=roomy_tab()), runtime())
    assert update["best"] == HALF
    update = await select(state(), services(tab=roomy_tab()), runtime())
    assert (update["best"], update["accepted"]) == (None, False)


@pytest.mark.parametrize(
    ("drafts", "left"),
    [
        ([draft("I don't know.", ["a"], declined=True)], 0),
        ([draft("I don't know.", ["a"], declined=True), draft("It.", ["b"])], 1),
        ([], 1),
    ],
)
async def test_passages_that_all_drafts_decline_on_are_not_drafted_from_again(drafts: Any, left: int) -> None:
    begun = state(drafts=drafts, drafts_left=1)
    update = await select(begun, services(tab=roomy_tab()), runtime())
    assert update["drafts_left"] == left


def test_the_score_is_the_papers() -> None:
    claims = [claim("a"), claim("b", "partially supported"), claim("c", "no support"), claim("d", "unknown")]
    made = candidate(draft("It.", ["a"], relevance=0.8), claims, verdict("4"), Weights())
    assert made["support"] == pytest.approx(1.5 / 4)
    assert made["usefulness"] == 0.5
    assert made["score"] == pytest.approx(0.8 + 1.5 / 4 + 0.5 * 0.5)


async def test_the_weights_rank_the_candidates() -> None:
    drafts = [draft("Near.", ["a"], relevance=0.9), draft("Useful.", ["b"], relevance=0.6)]
    begun = state(
        drafts=drafts,
        claims=[[claim("Near.")], [claim("Useful.")]],
        uses=[verdict("3"), verdict("5")],
    )
    made = services(tab=roomy_tab())
    assert (await select(begun, made, runtime()))["best"]["draft"]["text"] == "Useful."
    update = await select(begun, made, runtime(weights=Weights(usefulness=0.1)))
    assert update["best"]["draft"]["text"] == "Near."
