from copy import deepcopy
from typing import Any

import pytest

from graph.edges import after_select
from nodes.select import select
from run.candidates import candidate, fully_supported, rank
from run.context import Thresholds, Weights
from tests.scripted import candidate_of, claim, draft, passage, run_node, state, verdict

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
    update = await run_node(select, state(**a_round("It.", label, use)))
    assert update["accepted"] == accepted
    assert update["best"]["draft"]["text"] == "It."


@pytest.mark.parametrize(("p", "left", "accepted"), [(0.7, 1, False), (0.7, 0, True), (0.9, 1, True)])
async def test_an_answer_that_is_not_sure_beside_a_condition_is_accepted_once_no_draft_is_left(
    p: float, left: int, accepted: bool
) -> None:
    text = "Tenants give six weeks' notice. However, with a shed it is fourteen weeks."
    unsure = verdict("fully supported", {"fully supported": p, "no support": 1 - p})
    said = {**claim("six weeks"), "verdict": unsure, "quote": {"passage": text, "start": 0, "end": 31}}
    begun = state(passages=[passage(text)], drafts=[draft("six weeks", [text])], claims=[[said]], drafts_left=left)
    update = await run_node(select, begun, thresholds=Thresholds(unconditional=0.8))
    assert update["accepted"] == accepted


async def test_usefulness_is_weighed_by_its_probabilities() -> None:
    begun = a_round("It.", "fully supported", "3")
    begun["uses"] = [verdict("3", {"1": 0.3, "2": 0.1, "3": 0.4, "4": 0.1, "5": 0.1})]
    update = await run_node(select, state(**begun))
    assert update["best"]["usefulness"] == pytest.approx(-0.2)
    assert update["accepted"], "of more than two labels the most probable wins, and 3 is enough"
    begun["uses"] = [verdict("2", {"1": 0.1, "2": 0.4, "3": 0.1, "4": 0.1, "5": 0.3})]
    update = await run_node(select, state(**begun))
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
    update = await run_node(select, state(**a_round("New.", label, "5", best=before)))
    assert update["best"]["draft"]["text"] == kept


async def test_a_draft_of_which_nothing_was_checked_is_accepted_only_as_a_direct_answer() -> None:
    update = await run_node(select, state(drafts=[draft("New.", ["a"])]))
    assert not update["accepted"]
    assert update["best"]["support"] == 0
    assert not fully_supported(update["best"])
    assert (await run_node(select, state(drafts=[draft("4")], uses=[verdict("5")])))["accepted"]


async def test_the_best_of_an_older_versions_checkpoint_is_listed_with_the_new_draft() -> None:
    begun = state(**a_round("New.", "fully supported", "5", best=HALF))
    del begun["candidates"]
    update = await run_node(select, begun)
    assert [one["text"] for one in update["candidates"]] == ["Half.", "New."]


async def test_no_draft_leaves_the_best_as_it_is() -> None:
    update = await run_node(select, state(best=HALF))
    assert update["best"] == HALF
    update = await run_node(select, state())
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
    assert (await run_node(select, state(drafts=drafts, drafts_left=1)))["drafts_left"] == left


def test_the_score_is_the_papers() -> None:
    sure = {"fully supported": 0.5, "partially supported": 0.4, "no support": 0.1}
    claims: Any = [claim("a"), claim("b", "unknown"), {**claim("c"), "verdict": verdict("fully supported", sure)}]
    rated = verdict("5", {"1": 0.1, "2": 0.1, "3": 0.2, "4": 0.2, "5": 0.4})
    weights = Weights(relevance=2, support=3, usefulness=0.25)
    made = candidate(draft("It.", ["a"], relevance=0.8), claims, rated, weights)
    assert (made["support"], made["usefulness"]) == (pytest.approx(1.7 / 3), pytest.approx(0.35))
    assert made["score"] == pytest.approx(2 * 0.8 + 3 * 1.7 / 3 + 0.25 * 0.35)


async def test_of_two_drafts_that_may_claim_as_much_the_worse_does_not_replace_the_better() -> None:
    begun = a_round("New.", "fully supported", "2")
    before = deepcopy((await run_node(select, state(**begun)))["best"])
    for more, kept in ((0.01, "Old."), (0, "Old."), (-0.01, "New.")):
        old = {**deepcopy(before), "score": before["score"] + more, "draft": draft("Old.", ["a"])}
        assert (await run_node(select, state(**begun, best=old)))["best"]["draft"]["text"] == kept


@pytest.mark.parametrize(("constraints", "kept"), [("soft", "So what."), ("hard", "Good.")])
async def test_with_hard_constraints_one_that_may_be_given_outranks_a_better_score(constraints: str, kept: str) -> None:
    begun = state(
        drafts=[draft("So what.", ["a"], relevance=1.0), draft("Good.", ["b"], relevance=0.1)],
        claims=[[claim("So what.")], [claim("Good.")]],
        uses=[verdict("2", {"1": 0.0, "2": 0.51, "3": 0.0, "4": 0.0, "5": 0.49}), verdict("3")],
    )
    update = await run_node(select, begun, constraints=constraints)
    assert update["best"]["draft"]["text"] == kept
    assert update["accepted"] == (kept == "Good.")


USELESS_DIRECT = {"route": "direct", "drafts": [draft("I cannot say.")], "uses": [verdict("1")], "drafts_left": 0}


async def test_a_direct_answer_that_is_no_good_leads_to_one_search_and_stays_until_that_does_better() -> None:
    begun = state(**USELESS_DIRECT, rewrites_left=2)
    update = await run_node(select, begun)
    assert after_select({**begun, **update, "searched": 0}) == "retrieve"  # type: ignore[typeddict-item]
    assert (update["drafts_left"], update["rewrites_left"]) == (2, 0)
    assert update["drafts"] == update["claims"] == update["uses"] == []
    direct = update["best"]
    for label, kept in (("fully supported", "From the documents."), ("no support", "I cannot say.")):
        found = a_round("From the documents.", label, "5", best=direct, searched=1)
        assert (await run_node(select, state(**found)))["best"]["draft"]["text"] == kept


@pytest.mark.parametrize(
    ("changes", "context"),
    [({"uses": [verdict("4")]}, {}), ({}, {"mode": "never"}), ({"route": "fallback"}, {}), ({"drafts": []}, {})],
)
async def test_no_other_direct_answer_leads_to_a_search(changes: dict[str, Any], context: dict[str, Any]) -> None:
    begun = state(**{**USELESS_DIRECT, **changes})
    update = await run_node(select, begun, **context)
    assert "route" not in update
    assert after_select({**begun, **update}) == "finish"  # type: ignore[typeddict-item]


async def test_a_long_answer_of_which_nothing_is_sure_is_the_best_draft() -> None:
    unsure = {**claim("It."), "verdict": verdict("fully supported", {"fully supported": 0.7, "no support": 0.3})}
    begun = a_round("It.", "fully supported", "5", length="long", searched=1, relevant=["a"])
    update = await run_node(select, state(**begun | {"claims": [[unsure]]}), thresholds=Thresholds(segment=0.8))
    assert (update["segments"], update["best"]["draft"]["text"]) == ([], "It.")
