import csv
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


def test_each_table_has_one_question_whose_answer_is_one_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = {
        "data/pristine-unseen-tables.tsv": "id\tutterance\tcontext\ttargetValue\n"
        "nu-0\twho won?\tcsv/203-csv/1.csv\tAnn\nnu-1\twho lost?\tcsv/203-csv/1.csv\tBo|Cy\n",
        "page/203-page/1.json": json.dumps({"title": "1908 Clásica/Cup"}),
        "csv/203-csv/1.tsv": "Name\tUCI\\nPoints\nAnn\t1,000\n",
    }
    monkeypatch.setattr(question_set, "READ", 0)
    monkeypatch.setattr(question_set.Sources, "stored", lambda _, __, path: stored[path])
    monkeypatch.setattr(sys, "argv", ["", "--tables", "report", "--out", str(tmp_path)])
    question_set.main()
    (asked,) = map(json.loads, (tmp_path / "tables" / "questions.jsonl").read_text().splitlines())
    assert (asked["question"], asked["answer"]) == ("who won?", ["Ann"])
    with (tmp_path / "tables" / asked["docs"]).open(newline="") as file:
        assert list(csv.reader(file)) == [["Name", "UCI\nPoints"], ["Ann", "1,000"]]
