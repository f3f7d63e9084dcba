from __future__ import annotations

from typing import Any

from training.layout import relevance_examples
from training.row_variants import follow_ups, on_statements, with_orders


def row(number: int, answer: str, **more: Any) -> dict[str, Any]:
    claims = [{"text": answer, "label": "full" if more.get("kind", "right") == "right" else "none", "kind": "gold"}]
    passages = [{"text": "The mill has 12 sails. It stands in Tarn.", "label": 1}, {"text": "A barn.", "label": 0}]
    asked = {"id": f"q{number}", "question": f"Question {number}?", "answers": [answer], "kind": "right"}
    return {**asked, "family": "squad", "language": "en", "passages": passages, "claims": claims, **more}


def test_what_an_order_dictates_is_no_answer_and_what_stands_beside_it_still_is() -> None:
    made = list(with_orders([row(number, "Tarn") for number in range(60)]))
    assert len(made) == 60
    for one in made:
        labels = {claim["label"]: claim["text"] for claim in one["claims"]}
        texts = [passage["text"] for passage in one["passages"]]
        assert labels["full"] == "Tarn"
        assert any(labels["none"] in text for text in texts)
        assert labels["partial"].replace(labels["none"], "").strip() == "Tarn"
        assert all("Tarn" in passage["text"] for passage in one["passages"] if passage["label"] == 1)


def test_the_answer_to_an_earlier_question_is_none_to_both() -> None:
    (made,) = follow_ups([row(1, "Tarn"), row(2, "12", kind="twisted", answers=[])])
    assert made["question"].startswith("Question 1?")
    assert made["question"].endswith("Question 2?")
    assert [(one["text"], one["label"]) for one in made["claims"]] == [("12", "none"), ("Tarn", "none")]


def test_each_question_on_a_passage_has_a_row_of_its_own() -> None:
    asked = [
        {"question": "", "kind": "right", "others_irrelevant": False, "claims": []},
        {"question": "How many sails?", "kind": "right", "others_irrelevant": True, "claims": []},
        {"question": "How many doors?", "kind": "twisted", "others_irrelevant": True, "claims": []},
    ]
    passage = {"id": "s1", "language": "en", "passage": "The mill has 12 sails.", "others": ["A barn."], "asked": asked}
    rows = list(on_statements([passage]))
    assert [row["id"] for row in rows] == ["s1-0", "s1-1", "s1-2"]
    replies = [[(one.inputs["passage"], one.reply) for one in relevance_examples(row)] for row in rows]
    mill, barn = "The mill has 12 sails.", "A barn."
    assert replies == [[], [(mill, "yes"), (barn, "no")], [(mill, "no")]]
