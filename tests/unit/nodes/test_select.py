import random
from copy import deepcopy
from typing import Any

import pytest

from graph.edges import after_select
from nodes.select import select
from run.candidates import candidate, rank, supported
from run.context import Thresholds, Weights
from tests.scripted import candidate_of, claim, draft, run_node, state, verdict

GOOD = candidate_of(draft("Good.", ["a"]), [claim("Good.")])
USELESS = candidate_of(draft("So what.", ["a"]), [claim("So what.")], use="1", score=9)
HALF = candidate_of(draft("Half.", ["a"]), [claim("Half."), claim("Bad.", "no support")], score=9)
BAD = candidate_of(draft("Bad.", ["a"]), [claim("Bad.", "no support")], score=9)
NOT_CHECKED = candidate_of(draft("New.", ["a"]), [], score=9)
TIERS = {"fully supported": 2, "partially supported": 1, "no support": 0}
DECLINES = candidate_of(draft("I don't know.", ["a"], declined=True), [], score=9)


def a_round(text: str, label: str, use: str, **changes: Any) -> dict[str, Any]:
    return {"drafts": [draft(text, ["a"])], "claims": [[claim(text, label)]], "uses": [verdict(use)], **changes}


def shares(dice: random.Random, number: int) -> list[float]:
    parts = [dice.random() for _ in range(number)]
    return [part / sum(parts) for part in parts]


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


async def test_a_draft_of_which_nothing_was_checked_is_not_accepted() -> None:
    update = await run_node(select, state(drafts=[draft("New.", ["a"])]))
    assert not update["accepted"]
    assert update["best"]["support"] == 0
    assert not supported(update["best"])


async def test_a_direct_answer_has_nothing_to_support() -> None:
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
    claims = [claim("a"), claim("b", "partially supported"), claim("c", "no support"), claim("d", "unknown")]
    made = candidate(draft("It.", ["a"], relevance=0.8), claims, verdict("4"), Weights())
    assert made["support"] == pytest.approx(1.5 / 4)
    assert made["usefulness"] == 0.5
    assert made["score"] == pytest.approx(0.8 + 1.5 / 4 + 0.5 * 0.5)


async def test_the_score_follows_the_formula_for_any_probabilities_and_weights() -> None:
    dice = random.Random(7)
    for _ in range(200):
        rel, sup, use = (dice.random() * 3 for _ in range(3))
        relevant = dice.random()
        full, partial, none_ = shares(dice, 3)
        ratings = shares(dice, 5)
        supported_ = verdict(
            "fully supported", {"fully supported": full, "partially supported": partial, "no support": none_}
        )
        made = candidate(
            draft("It.", ["a"], relevance=relevant),
            [{"text": "It.", "verdict": supported_, "quote": None}],
            verdict("5", dict(zip("12345", ratings, strict=True))),
            Weights(relevance=rel, support=sup, usefulness=use),
        )
        isuse = sum(weight * p for weight, p in zip((-1, -0.5, 0, 0.5, 1), ratings, strict=True))
        assert made["score"] == pytest.approx(rel * relevant + sup * (full + 0.5 * partial) + use * isuse)


async def test_of_candidates_that_may_claim_as_much_the_best_score_wins() -> None:
    dice = random.Random(11)
    for _ in range(100):
        number = dice.randint(2, 6)
        drafts = [draft(f"It {i}.", [f"p{i}"], relevance=dice.random()) for i in range(number)]
        labels = [dice.choice(("fully supported", "partially supported", "no support")) for _ in drafts]
        claims = [[claim(one["text"], label)] for one, label in zip(drafts, labels, strict=True)]
        uses = [verdict(dice.choice("12345")) for _ in drafts]
        weights = Weights(relevance=dice.random(), support=dice.random(), usefulness=dice.random())
        begun = state(drafts=drafts, claims=claims, uses=uses)
        update = await run_node(select, begun, strategy="per-passage", weights=weights)
        made = [candidate(*one, weights) for one in zip(drafts, claims, uses, strict=True)]
        most = max(TIERS[label] for label in labels)
        rivals = [one for one, label in zip(made, labels, strict=True) if TIERS[label] == most]
        assert update["best"]["score"] == max(one["score"] for one in rivals)
        assert TIERS[update["best"]["claims"][0]["verdict"]["label"]] == most


async def test_no_sequence_of_redrafts_makes_the_answer_worse() -> None:
    dice = random.Random(13)
    for constraints in ("soft", "hard"):
        for _ in range(50):
            best: Any = None
            for turn in range(6):
                labels = dice.choices(("fully supported", "partially supported", "no support"), k=dice.randint(1, 3))
                written = draft(f"It {turn}.", ["a"], relevance=dice.random(), declined=dice.random() < 0.2)
                claims = [claim(f"It {turn}.", label) for label in labels]
                begun = state(best=best, drafts=[written], claims=[claims], uses=[verdict(dice.choice("12345"))])
                update = await run_node(select, begun, constraints=constraints)
                new = candidate(written, claims, begun["uses"][0], Weights())
                before = [best] if best else []
                assert rank(update["best"], constraints) == max(rank(one, constraints) for one in (new, *before))
                best = update["best"]


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
