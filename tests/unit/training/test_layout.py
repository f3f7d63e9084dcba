from pathlib import Path
from typing import Any

import pytest

from training.layout import DRAFTS, relevance_examples, support_examples, with_drafts
from training.prepare import invoked_at
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


def test_an_adapter_works_from_the_token_before_the_last_words_that_invoke_it() -> None:
    assert invoked_at([1, 7, 8, 2, 3, 7, 8, 4], [7, 8]) == 4


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


def test_a_statement_is_asked_about_by_itself_and_no_passage_is_relevant_to_it() -> None:
    alone = {"text": "It was built in 1932.", "label": "full", "kind": "alone-true"}
    row = {**ROW, "question": "", "claims": [alone]}
    assert [one.inputs["question"] for one in support_examples(row)] == ["Is it true that it was built in 1932?"]
    assert relevance_examples(row) == []


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
    write(DRAFTS, [{"id": ROW["id"], "text": text}] * 2, tmp_path)
    (row,) = with_drafts([{**ROW, "answers": answers, "claims": []}], tmp_path)
    assert row["claims"] == ([{"text": text, "label": label, "kind": "draft"}] if label else [])
