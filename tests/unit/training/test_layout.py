from pathlib import Path
from typing import Any

import pytest

from training.layout import (
    DRAFTS,
    Layout,
    laid_out,
    packs,
    prefix_groups,
    relevance_examples,
    support_examples,
    with_drafts,
)
from training.rows import write

ROW: dict[str, Any] = {
    "id": "squad-1",
    "family": "squad",
    "kind": "right",
    "question": "When was it built?",
    "answers": ["1932"],
    "passages": [
        {"text": "Another was built in 1911.", "label": None},
        {"text": "It is of stone.", "label": 0},
        {"text": "It was built in 1932.", "label": 1},
    ],
    "claims": [
        {"text": "1932", "label": "full", "kind": "gold"},
        {"text": "in 1911", "label": "none", "kind": "swapped"},
    ],
}


def test_prompts_are_split_into_what_they_share_at_either_end_and_what_is_their_own() -> None:
    layout = laid_out([[1, 2, 10, 11, 8, 9], [1, 2, 12, 8, 9], [1, 2, 10, 13, 8, 9]])
    assert (layout.fixed, layout.ending) == ([1, 2], [8, 9])
    assert layout.middles == [[10, 11], [12], [10, 13]]


def test_prompts_that_begin_alike_are_read_as_branches_of_the_longest() -> None:
    text = list(range(100, 140))
    layout = Layout([1], [[*text, 5], [200], [*text, 6, 7]], [9])
    assert prefix_groups(layout) == [[0, 2], [1]]
    prompt = layout.group([0, 2])
    assert [[*prompt.prefix[:cut], *rest] for cut, rest in prompt.branches] == [layout.middles[0], layout.middles[2]]
    assert len(prompt) == 42 + 1 + 2


def test_every_length_is_in_one_pack_and_no_pack_is_too_long() -> None:
    lengths = [5, 9, 3, 2]
    found = packs(lengths, size=10)
    assert sorted(one for pack in found for one in pack) == [0, 1, 2, 3]
    assert all(sum(lengths[one] for one in pack) <= 10 for pack in found)
    assert len(found) == 2


def test_relevance_is_asked_of_what_holds_the_answer_and_of_the_best_that_does_not() -> None:
    asked = relevance_examples(ROW)
    assert [(one.inputs["passage"], one.reply, one.kind) for one in asked] == [
        ("It was built in 1932.", "yes", "right"),
        ("It is of stone.", "no", "near"),
    ]


def test_claims_are_asked_with_the_passage_that_holds_the_answer() -> None:
    asked = support_examples(ROW)
    assert [(one.inputs["claim"], one.reply) for one in asked] == [("1932", "yes"), ("in 1911", "no")]
    assert all("It was built in 1932." in one.inputs["passages"] for one in asked)


@pytest.mark.parametrize(
    ("text", "answers", "label"),
    [
        ("It was built in 1932.", ["1932"], "full"),
        ("It is of stone.", ["1932"], None),
        ("It was built in 1932.", [], "none"),
        ("The passages do not say when it was built.", [], None),
        ("It was built in 1932. It is of stone.", ["1932"], None),
        ("When was it built?", [], None),
    ],
)
def test_a_draft_is_a_claim_where_it_can_be_judged(
    text: str, answers: list[str], label: str | None, tmp_path: Path
) -> None:
    write(DRAFTS, [{"id": ROW["id"], "text": text}], tmp_path)
    (row,) = with_drafts([{**ROW, "answers": answers, "claims": []}], tmp_path)
    assert row["claims"] == ([{"text": text, "label": label, "kind": "draft"}] if label else [])
