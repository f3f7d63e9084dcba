from typing import Any

import pytest

from core.errors import ModelError
from models.failures import TransientModelError
from models.usage import LimitReachedError
from nodes.generate import MOST_CELLS, MOST_COMPLAINTS, draft_changes, generate
from run.candidates import candidate, rank
from run.context import Limits, Thresholds, Weights
from tests.scripted import ScriptedGenerator, claim, draft, passage, run_node, state, verdict

FOUND: dict[str, Any] = {
    "passages": [passage("a"), passage("b"), passage("c")],
    "relevant": ["a", "c"],
    "verdicts": {
        "a": verdict("relevant", {"relevant": 0.9, "irrelevant": 0.1}),
        "b": verdict("irrelevant"),
        "c": verdict("relevant", {"relevant": 0.7, "irrelevant": 0.3}),
    },
}


def one_round(text: str, *claims: Any, use: str = "5", left: int = 1) -> dict[str, Any]:
    """The state after a round that wrote ``text``, best so far."""
    written, claims = draft(text, ["a", "c"]), claims or (claim(text, "no support"),)
    return {
        **FOUND,
        "drafts": [written],
        "drafted": [{"passages": ["a", "c"], "text": text}],
        "claims": [list(claims)],
        "uses": [verdict(use)],
        "best": candidate(written, list(claims), verdict(use), Weights()),
        "drafts_left": left,
    }


def best_of(text: str) -> Any:
    return one_round(text, claim(text, "partially supported"))["best"]


async def wrote(begun: dict[str, Any], generator: ScriptedGenerator, **settings: Any) -> Any:
    return await run_node(generate, state(**begun), generator, **settings)


async def mended(begun: dict[str, Any], text: str = "Better.", **settings: Any) -> tuple[Any, dict[str, Any]]:
    """The update after a redraft, and what was asked for it."""
    generator = ScriptedGenerator(mended=[text])
    update = await wrote(begun, generator, **settings)
    return update, generator.inputs("mend")[0]


async def test_the_first_draft_reads_all_relevant_passages_and_only_those() -> None:
    generator = ScriptedGenerator(drafts=["It scatters."])
    update = await wrote(FOUND, generator)
    assert update["drafts"] == [draft("It scatters.", ["a", "c"], relevance=pytest.approx(0.8))]  # type: ignore[arg-type]
    assert (update["drafts_left"], update["claims"], update["uses"]) == (1, [], [])
    read = '<passage id="1">\na\n</passage>\n<passage id="2">\nc\n</passage>'
    assert generator.inputs("draft") == [{"question": "Why is the sky blue?", "language": "", "passages": read}]


@pytest.mark.parametrize(
    ("question", "language"),
    [("Wie lange gilt die Garantie der Pumpe?", " in German"), ("天空为什么是蓝色的？", " in Chinese"), ("Why?", "")],
)
async def test_the_draft_is_asked_for_in_the_language_of_the_question(question: str, language: str) -> None:
    generator = ScriptedGenerator(drafts=["It scatters."])
    await wrote({**FOUND, "question": question}, generator)
    assert generator.inputs("draft")[0]["language"] == language


@pytest.mark.parametrize(
    ("strategy", "relevant", "read"),
    [
        ("combined", ["a", "c"], [["n", "a", "c"]]),
        ("per-passage", ["a", "c"], [["n", "a"], ["n", "c"]]),
        ("per-passage", ["n"], [["n"]]),
        ("combined", ["n", "a"], [["n", "a"]]),
    ],
)
async def test_each_draft_reads_the_passage_that_names_what_the_question_describes(
    strategy: str, relevant: list[str], read: list[list[str]]
) -> None:
    generator = ScriptedGenerator(drafts=["It is 9.", "It is 10."])
    subject = {"passage": passage("n", similarity=0.5), "question": "How old is Runa Tveit?"}
    begun = {"passages": [*map(passage, "anc")], "relevant": relevant, "subject": subject}
    grades = {"verdicts": {one: verdict("relevant") for one in relevant}}
    update = await wrote({**begun, **grades}, generator, strategy=strategy)
    assert [[one["id"] for one in each["passages"]] for each in update["drafts"]] == read
    assert generator.inputs("draft")[0]["question"] == "How old is Runa Tveit?"


async def test_only_what_was_judged_for_the_question_with_the_name_is_drafted_from_where_nothing_is_relevant() -> None:
    subject = {"passage": passage("n"), "question": "How old is Runa Tveit?"}
    begun = {"passages": [passage("b")], "found": [passage("a"), passage("b")], "subject": subject}
    generator = ScriptedGenerator(drafts=["It is 9."])
    update = await wrote({**begun, "verdicts": {"b": verdict("irrelevant")}}, generator, fallback="passages")
    assert [one["id"] for one in update["drafts"][0]["passages"]] == ["n", "b"]


async def test_per_passage_writes_one_draft_for_each_and_one_that_declines_is_known() -> None:
    update = await wrote(FOUND, ScriptedGenerator(drafts=["From a.", "I don't know."]), strategy="per-passage")
    assert [[one["id"] for one in written["passages"]] for written in update["drafts"]] == [["a"], ["c"]]
    assert [written["declined"] for written in update["drafts"]] == [False, True]
    assert [written["relevance"] for written in update["drafts"]] == [0.9, 0.7]
    said = {"text": "From a.", "texts": ["From a.", "I don't know."], "changes": []}
    assert update["decided"] == {"drafts": 2, "failed": 0, "redraft": False, "declined": False, **said}
    assert (await wrote(FOUND, ScriptedGenerator(drafts=["I don't know."])))["decided"]["declined"]


@pytest.mark.parametrize("error", [TransientModelError("It timed out."), ModelError("It is broken.")])
@pytest.mark.parametrize("broken", [0, 1])
async def test_a_draft_that_fails_leaves_its_siblings(error: ModelError, broken: int) -> None:
    said: list[Any] = ["From one.", "From one."]
    said[broken] = error
    update = await wrote(FOUND, ScriptedGenerator(drafts=said), strategy="per-passage")
    assert [one["id"] for written in update["drafts"] for one in written["passages"]] == ["ca"[broken]]
    assert (update["decided"]["drafts"], update["decided"]["failed"], update["drafts_left"]) == (1, 1, 1)


@pytest.mark.parametrize("strategy", ["per-passage", "combined"])
async def test_when_all_drafts_fail_the_node_does(strategy: str) -> None:
    failing = ScriptedGenerator(drafts=[TransientModelError("first"), ModelError("second")])
    with pytest.raises(TransientModelError, match="first"):
        await wrote(FOUND, failing, strategy=strategy)


async def test_a_draft_that_the_budget_does_not_allow_leaves_the_others_and_none_ends_the_node() -> None:
    update = await wrote(FOUND, ScriptedGenerator(drafts=["From a.", "From c."]), calls=1, strategy="per-passage")
    assert ([one["text"] for one in update["drafts"]], update["decided"]["failed"]) == (["From a."], 1)
    with pytest.raises(LimitReachedError):
        await wrote(FOUND, ScriptedGenerator(), calls=0, strategy="per-passage")


async def test_a_redraft_is_told_which_claims_failed_why_and_with_what_introduces_them() -> None:
    listed = claim("fly", "no support", reason="<passage>No.")
    listed["context"] = "The tenant must:"
    odd = claim("Odd.</claim>", "partially supported")
    unknown = claim("Lost.", "unknown", reason="HTTP 500")
    bad = claim("Bad.", "no support", reason="No.")
    begun = one_round("Good. Bad. Odd.", claim("Good."), bad, odd, listed, unknown)
    update, asked = await mended(begun)
    assert (update["drafts"][0]["text"], update["decided"]["redraft"]) == ("Better.", True)
    assert asked["failed"] == "- Bad. (No.)\n- Odd.(/claim>\n- The tenant must: fly ((passage>No.)\n- Lost."
    assert asked["draft"] == "Good. Bad. Odd."


async def test_a_redraft_is_told_of_no_more_claims_than_it_could_mend() -> None:
    failed = [claim(f"Bad {n}.", "no support") for n in range(MOST_COMPLAINTS + 1)]
    _, asked = await mended(one_round("Bad.", *failed))
    assert asked["failed"].splitlines() == [f"- Bad {n}." for n in range(MOST_COMPLAINTS)]


async def test_a_supported_draft_that_is_not_useful_is_asked_to_be_fuller() -> None:
    update = await wrote(one_round("Good.", claim("Good."), use="2"), ScriptedGenerator(improved=["Fuller."]))
    assert update["drafts"][0]["text"] == "Fuller."


@pytest.mark.parametrize(("said", "p", "redraft"), [("Yes.", 0.1, "no"), ("no", 0.1, "yes"), ("yes", 0.2, "Better.")])
async def test_a_bare_yes_whose_opposite_is_sure_becomes_that_without_a_call(said: str, p: float, redraft: str) -> None:
    unlikely = {**claim(said), "verdict": verdict("no support", {"fully supported": p, "no support": 1 - p})}
    generator = ScriptedGenerator(mended=["Better."])
    update = await wrote(one_round(said, unlikely), generator, thresholds=Thresholds(supported=0.3, yes_or_no=0.85))
    assert (update["drafts"][0]["text"], update["decided"]["redraft"]) == (redraft, True)
    assert len(generator.inputs("mend")) == (redraft == "Better.")


async def test_a_doubtful_draft_that_leaves_out_a_condition_is_drafted_from_that_alone() -> None:
    rule, exception = "§ 3 Tenants give six weeks' notice.", "The notice of § 3 is fourteen weeks with a shed."
    said = {**claim("six weeks", "no support"), "quote": {"passage": rule, "start": 0, "end": len(rule)}}
    begun = one_round("six weeks", said, left=3)
    begun["drafts"] = [draft("six weeks", [rule])]
    begun |= {"passages": [passage(rule), passage(exception), passage("c")], "verdicts": {rule: verdict("relevant")}}
    generator = ScriptedGenerator(["fourteen weeks"])
    update = await wrote(begun, generator)
    (asked,) = generator.inputs("draft")
    assert exception in asked["passages"]
    assert rule not in asked["passages"]
    assert [one["id"] for one in update["drafts"][0]["passages"]] == [rule, exception], "both are evidence"
    assert update["drafts_left"] == 0, "a redraft by what failed would repeat the rule"


@pytest.mark.parametrize(("p", "read"), [(0.8, ["c"]), (0.95, ["a", "c"])])
async def test_a_row_that_the_question_names_is_drafted_from_alone_if_no_passage_is_better(
    p: float, read: list[str]
) -> None:
    found = [passage("a"), passage("b"), passage("c", left_out=[])]
    verdicts = {**FOUND["verdicts"], "a": verdict("relevant", {"relevant": p, "irrelevant": 1 - p})}
    verdicts["c"] = verdict("relevant", {"relevant": 0.9, "irrelevant": 0.1})
    update = await wrote({**FOUND, "passages": found, "verdicts": verdicts}, ScriptedGenerator(drafts=["12"]))
    assert [one["id"] for one in update["drafts"][0]["passages"]] == read


CUT: dict[str, Any] = {"left_out": []}
ROW = "Country: Sweden | Catch: 3,147,000 | Boats: 12"


def miscopied(text: str, row: str) -> dict[str, Any]:
    """The state after a draft that failed, from a passage of which another row is left out."""
    read = passage(f"{row}\nOther: 9 | Row: 8", left_out=[(len(row) + 1, len(row) + 18)])
    begun = one_round(text, left=3)
    begun["drafts"] = [{**draft(text), "passages": [passage("Prose."), read]}]
    return {**begun, "passages": [read], "drafted": [], "verdicts": {read["id"]: verdict("relevant")}}


async def test_a_figure_of_a_row_is_drafted_with_its_unit() -> None:
    named, other = (passage("Land: Sweden | Catch: 7", heading="Landed (in thousands)", **left) for left in (CUT, {}))
    for read in (named, other):
        begun = {"passages": [read], "relevant": [read["id"]], "verdicts": {read["id"]: verdict("relevant")}}
        update = await wrote(begun, ScriptedGenerator(drafts=["7"]))
        assert update["drafts"][0]["text"] == "7 (in thousands)"
    last = {**one_round("Bad.", left=3), "passages": [named]}
    last["drafts"] = [{**draft("Bad."), "passages": [named]}]
    assert [one["text"] for one in (await wrote(last, ScriptedGenerator()))["drafts"]] == ["7 (in thousands)"]


async def test_the_cells_of_the_row_that_the_question_names_are_the_next_drafts_without_a_call() -> None:
    update = await wrote(miscopied("3,147", ROW), ScriptedGenerator())
    assert [one["text"] for one in update["drafts"]] == ["3,147,000", "12"]
    assert all(one["passages"][0] == passage("Prose.") for one in update["drafts"])
    assert update["drafts_left"] == 0
    again = await wrote(miscopied("12", ROW), ScriptedGenerator())
    assert [one["text"] for one in again["drafts"]] == ["3,147,000"], "the other has failed"


@pytest.mark.parametrize(
    "row", [" | ".join(f"{n}: {n}" for n in range(MOST_CELLS + 3)), "Sweden caught 3,147,000.", "Country: Sweden"]
)
async def test_many_cells_or_none_are_no_drafts(row: str) -> None:
    generator = ScriptedGenerator(mended=["Better."])
    update = await wrote(miscopied("3,147", row), generator)
    assert [one["text"] for one in update["drafts"]] == ["Better."]
    assert update["drafts_left"] == 2


async def test_a_redraft_that_says_the_same_is_dropped_and_ends_the_loop() -> None:
    update, _ = await mended(one_round("Bad.", left=5), "Bad.")
    assert (update["drafts"], update["drafts_left"], update["decided"]["text"]) == ([], 0, None)


async def test_a_redraft_that_falls_back_to_the_best_draft_ends_the_loop() -> None:
    begun = one_round("Worse.") | {"best": best_of("Best.")}
    begun["drafted"].append({"passages": ["a", "c"], "text": "Best."})
    assert rank(begun["best"]) > rank(one_round("Worse.")["best"])
    update, _ = await mended(begun, "Best.")
    assert (update["drafts"], update["drafts_left"]) == ([], 0)


@pytest.mark.parametrize("passages", ["ac", ["gone"]])
async def test_a_redraft_mends_the_last_round_so_that_it_is_never_asked_for_the_same_twice(passages: Any) -> None:
    """Also where the best so far was written from an earlier query's passages."""
    begun = one_round("Worse.", claim("Worse.", "no support", reason="It is worse.")) | {"best": best_of("Best.")}
    begun["best"]["draft"]["passages"] = [passage(one) for one in passages]
    update, asked = await mended(begun, limits=Limits(drafts=3))
    assert (asked["draft"], asked["failed"]) == ("Worse.", "- Worse. (It is worse.)")
    assert update["decided"]["redraft"]


async def test_of_several_drafts_the_best_is_mended() -> None:
    begun = one_round("Bad.") | {"drafts": [draft("Bad.", ["a"]), draft("Half.", ["c"])]}
    begun["claims"] = [[claim("Bad.", "no support")], [claim("Half.", "partially supported")]]
    begun["uses"] = [verdict("5"), verdict("1")]
    update, asked = await mended(begun, strategy="per-passage")
    assert (asked["draft"], [one["id"] for one in update["drafts"][0]["passages"]]) == ("Half.", ["c"])


async def test_drafts_have_the_length_and_the_temperature_of_the_context() -> None:
    generator = ScriptedGenerator(drafts=["It scatters."], mended=["Air scatters."])
    await wrote(FOUND, generator, answer_tokens=50, temperature=0.7)
    await wrote(one_round("It scatters."), generator)
    assert generator.bounds == [(50, 0.7), (400, None)]


async def test_a_redraft_is_told_by_what_it_replaced_left_out_and_added() -> None:
    update, _ = await mended(one_round("It scatters blue light."), "It scatters red light.")
    assert update["decided"]["changes"] == [{"removed": "blue", "added": "red"}]
    before = "The museum opened in 1912 and is large. It has four lanes."
    after = "The museum opened in 1911 and is large. Why not?"
    assert draft_changes(before, after) == [
        {"removed": "1912", "added": "1911"},
        {"removed": "It has four lanes.", "added": "Why not?"},
    ]
    assert draft_changes("a b", "a") == [{"removed": "b", "added": ""}]
    assert draft_changes("a", "a") == []
