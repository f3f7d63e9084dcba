from typing import Any

import pytest

from core.errors import ModelError
from models.failures import TransientModelError
from models.usage import LimitReachedError
from nodes.generate import MOST_COMPLAINTS, draft_changes, generate
from run.candidates import candidate, rank
from run.context import Limits
from tests.scripted import (
    ScriptedGenerator,
    claim,
    draft,
    passage,
    roomy_budget,
    run_node,
    runtime,
    services,
    state,
    verdict,
)

FOUND: dict[str, Any] = {
    "passages": [passage("a"), passage("b"), passage("c")],
    "relevant": ["a", "c"],
    "verdicts": {
        "a": verdict("relevant", {"relevant": 0.9, "irrelevant": 0.1}),
        "b": verdict("irrelevant"),
        "c": verdict("relevant", {"relevant": 0.7, "irrelevant": 0.3}),
    },
}


def one_round(text: str, *claims: Any, use: str = "5", left: int = 1, **changes: Any) -> dict[str, Any]:
    """The state after a round that wrote ``text``, best so far unless ``changes`` say otherwise."""
    from run.context import Weights

    written = draft(text, ["a", "c"])
    return {
        **FOUND,
        "drafts": [written],
        "drafted": [{"passages": ["a", "c"], "text": text}],
        "claims": [list(claims)],
        "uses": [verdict(use)],
        "best": candidate(written, list(claims), verdict(use), Weights()),
        "drafts_left": left,
        **changes,
    }


async def test_the_first_draft_reads_all_relevant_passages_and_only_those() -> None:
    generator = ScriptedGenerator(drafts=["It scatters."])
    update = await run_node(generate, state(**FOUND), generator=generator)
    (written,) = update["drafts"]
    assert written["text"] == "It scatters."
    assert [one["id"] for one in written["passages"]] == ["a", "c"]
    assert written["relevance"] == pytest.approx(0.8)
    assert (update["drafts_left"], update["claims"], update["uses"]) == (1, [], [])
    assert generator.inputs("draft") == [
        {
            "question": "Why is the sky blue?",
            "passages": '<passage id="1">\na\n</passage>\n<passage id="2">\nc\n</passage>',
        }
    ]


async def test_per_passage_writes_one_draft_for_each() -> None:
    update = await run_node(
        generate,
        state(**FOUND),
        generator=ScriptedGenerator(drafts=["From a.", "I don't know."]),
        strategy="per-passage",
    )
    assert [[one["id"] for one in written["passages"]] for written in update["drafts"]] == [["a"], ["c"]]
    assert [written["declined"] for written in update["drafts"]] == [False, True]
    assert [written["relevance"] for written in update["drafts"]] == [0.9, 0.7]
    assert update["decided"] == {
        "drafts": 2,
        "failed": 0,
        "redraft": False,
        "declined": False,
        "text": "From a.",
        "texts": ["From a.", "I don't know."],
        "changes": [],
    }


@pytest.mark.parametrize("error", [TransientModelError("It timed out."), ModelError("It is broken.")])
@pytest.mark.parametrize("broken", [0, 1])
async def test_a_draft_that_fails_leaves_its_siblings(error: ModelError, broken: int) -> None:
    said: list[Any] = ["From one.", "From one."]
    said[broken] = error
    update = await run_node(generate, state(**FOUND), generator=ScriptedGenerator(drafts=said), strategy="per-passage")
    (written,) = update["drafts"]
    assert [one["id"] for one in written["passages"]] == ["ca"[broken]]
    assert (update["decided"]["drafts"], update["decided"]["failed"], update["drafts_left"]) == (1, 1, 1)


@pytest.mark.parametrize("strategy", ["per-passage", "combined"])
async def test_when_all_drafts_fail_the_node_does(strategy: str) -> None:
    made = services(
        ScriptedGenerator(drafts=[TransientModelError("first"), ModelError("second")]), budget=roomy_budget()
    )
    with pytest.raises(TransientModelError, match="first"):
        await generate(state(**FOUND), made, runtime(strategy=strategy))


async def test_a_draft_that_the_budget_does_not_allow_leaves_the_others() -> None:
    update = await run_node(
        generate,
        state(**FOUND),
        generator=ScriptedGenerator(drafts=["From a.", "From c."]),
        calls=1,
        strategy="per-passage",
    )
    assert [one["text"] for one in update["drafts"]] == ["From a."]
    assert update["decided"]["failed"] == 1


async def test_where_the_budget_allows_no_draft_the_node_ends() -> None:
    made = services(ScriptedGenerator(), budget=roomy_budget(calls=0))
    with pytest.raises(LimitReachedError):
        await generate(state(**FOUND), made, runtime(strategy="per-passage"))


async def test_a_draft_that_declines_is_known_as_such() -> None:
    update = await run_node(generate, state(**FOUND), generator=ScriptedGenerator(drafts=["I don't know."]))
    assert update["drafts"][0]["declined"]
    assert update["decided"]["declined"]


async def test_a_redraft_is_told_which_claims_failed_and_why() -> None:
    generator = ScriptedGenerator(mended=["Better."])
    begun = one_round(
        "Good. Bad. Odd.",
        claim("Good."),
        claim("Bad.", "no support", reason="Nothing says bad."),
        claim("Odd.</claim>", "partially supported"),
    )
    update = await run_node(generate, state(**begun), generator=generator)
    assert update["drafts"][0]["text"] == "Better."
    (inputs,) = generator.inputs("mend")
    assert inputs["failed"] == "- Bad. (Nothing says bad.)\n- Odd.(/claim>"
    assert inputs["draft"] == "Good. Bad. Odd."
    assert update["decided"]["redraft"]


async def test_a_redraft_is_told_of_an_item_of_a_list_with_what_introduces_it() -> None:
    generator = ScriptedGenerator(mended=["Better."])
    failed = claim("fly", "no support", reason="<passage>No.")
    failed["context"] = "The tenant must:"
    await run_node(generate, state(**one_round("The tenant must:\n- fly", failed)), generator=generator)
    assert generator.inputs("mend")[0]["failed"] == "- The tenant must: fly ((passage>No.)"


async def test_a_redraft_is_told_of_no_more_claims_than_it_could_mend() -> None:
    generator = ScriptedGenerator(mended=["Better."])
    failed = [claim(f"Bad {n}.", "no support") for n in range(MOST_COMPLAINTS + 1)]
    begun = one_round(" ".join(one["text"] for one in failed), *failed)
    await run_node(generate, state(**begun), generator=generator)
    assert generator.inputs("mend")[0]["failed"].splitlines() == [f"- Bad {n}." for n in range(MOST_COMPLAINTS)]


async def test_a_supported_draft_that_is_not_useful_is_asked_to_be_fuller() -> None:
    generator = ScriptedGenerator(improved=["Fuller."])
    update = await run_node(generate, state(**one_round("Good.", claim("Good."), use="2")), generator=generator)
    assert update["drafts"][0]["text"] == "Fuller."
    generator.done()


async def test_a_redraft_that_says_the_same_is_dropped_and_ends_the_loop() -> None:
    generator = ScriptedGenerator(mended=["Bad."])
    begun = one_round("Bad.", claim("Bad.", "no support"), left=5)
    update = await run_node(generate, state(**begun), generator=generator)
    assert (update["drafts"], update["drafts_left"], update["decided"]["text"]) == ([], 0, None)


async def test_a_redraft_that_falls_back_to_the_best_draft_ends_the_loop() -> None:
    generator = ScriptedGenerator(mended=["Best."])
    begun = one_round("Worse.", claim("Worse.", "no support"))
    begun["best"] = one_round("Best.", claim("Best.", "partially supported"))["best"]
    begun["drafted"].append({"passages": ["a", "c"], "text": "Best."})
    assert rank(begun["best"]) > rank(one_round("Worse.", claim("Worse.", "no support"))["best"])
    update = await run_node(generate, state(**begun), generator=generator)
    assert (update["drafts"], update["drafts_left"]) == ([], 0)


async def test_a_redraft_mends_the_last_round_so_that_it_is_never_asked_for_the_same_twice() -> None:
    generator = ScriptedGenerator(mended=["Third."])
    begun = one_round("Worse.", claim("Worse.", "no support", reason="It is worse."))
    begun["best"] = one_round("Best.", claim("Best.", "partially supported"))["best"]
    await run_node(generate, state(**begun), generator=generator, limits=Limits(drafts=3))
    assert generator.inputs("mend")[0]["failed"] == "- Worse. (It is worse.)"


async def test_a_redraft_for_a_later_query_mends_what_that_query_gave() -> None:
    """Though the best so far was written from an earlier query's passages."""
    generator = ScriptedGenerator(mended=["Mended."])
    begun = one_round("Second.", claim("Second.", "no support"))
    best = one_round("First.", claim("First.", "partially supported"))["best"]
    best["draft"]["passages"] = [passage("gone")]
    begun["best"] = best
    assert (await run_node(generate, state(**begun), generator=generator))["decided"]["redraft"]
    assert generator.inputs("mend")[0]["draft"] == "Second."


async def test_of_several_drafts_the_best_is_mended() -> None:
    generator = ScriptedGenerator(mended=["Mended."])
    begun = one_round("Bad.", claim("Bad.", "no support"))
    begun["drafts"] = [draft("Bad.", ["a"]), draft("Half.", ["c"])]
    begun["claims"] = [[claim("Bad.", "no support")], [claim("Half.", "partially supported")]]
    begun["uses"] = [verdict("5"), verdict("1")]
    update = await run_node(generate, state(**begun), generator=generator, strategy="per-passage")
    assert generator.inputs("mend")[0]["draft"] == "Half."
    assert [one["id"] for one in update["drafts"][0]["passages"]] == ["c"]


async def test_drafts_have_the_length_and_the_temperature_of_the_context() -> None:
    generator = ScriptedGenerator(drafts=["It scatters."], mended=["Air scatters."])
    made = services(generator, budget=roomy_budget())
    await generate(state(**FOUND), made, runtime(answer_tokens=50, temperature=0.7))
    await generate(state(**one_round("It scatters.", claim("It scatters.", "no support"))), made, runtime())
    assert generator.bounds == [(50, 0.7), (400, None)]


async def test_a_redraft_tells_what_it_changed() -> None:
    made = services(ScriptedGenerator(mended=["It scatters red light."]), budget=roomy_budget())
    before = one_round("It scatters blue light.", claim("It scatters blue light.", "no support"))
    update = await generate(state(**before), made, runtime())
    assert update["decided"]["changes"] == [{"removed": "blue", "added": "red"}]


def test_a_redraft_is_told_by_what_it_replaced_left_out_and_added() -> None:
    before = "The museum opened in 1912 and is large. It has four lanes."
    after = "The museum opened in 1911 and is large. Why not?"
    assert draft_changes(before, after) == [
        {"removed": "1912", "added": "1911"},
        {"removed": "It has four lanes.", "added": "Why not?"},
    ]
    assert draft_changes("a b", "a") == [{"removed": "b", "added": ""}]
    assert draft_changes("a", "a") == []
