import json
import sys
from pathlib import Path

import pytest

from training import question_set
from training.rows import write


def row(number: int, answers: list[str]) -> dict[str, object]:
    passages = [{"text": f"Passage {number}.", "label": 1}, {"text": "A passage of both.", "label": 0}]
    return {"id": f"nq-{number}", "question": f"Question {number}?", "answers": answers, "passages": passages}


def test_half_of_a_familys_questions_have_an_answer_and_its_passages_are_the_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("nq", [row(number, ["Yes"] if number < 6 else []) for number in range(9)], tmp_path)
    monkeypatch.setattr(question_set, "ROWS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["", "--families", "nq", "--most", "4", "--out", str(tmp_path)])
    question_set.main()
    asked = [json.loads(line) for line in (tmp_path / "nq" / "questions.jsonl").read_text().splitlines()]
    assert [one["outcome"] for one in asked] == ["grounded", "abstained"] * 2
    assert all(("answer" in one) == (one["outcome"] == "grounded") for one in asked)
    texts = [file.read_text() for file in (tmp_path / "nq" / "documents").iterdir()]
    assert len(texts) == 10
    assert texts.count("A passage of both.") == 1
