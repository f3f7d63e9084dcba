import json
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.conflicts import Case, attacked, chosen, disagree, of_conflicts, of_deception, ramdocs, read
from evaluation.records import Record

ROW = {
    "question": "When was it built?",
    "documents": [
        {"text": "In 1902.", "type": "correct", "answer": "1902"},
        {"text": "In May 1902.", "type": "correct", "answer": "May 1902"},
        {"text": "In 1911.", "type": "misinfo", "answer": "1911"},
        {"text": "Of stone.", "type": "noise", "answer": "unknown"},
    ],
}


def rows(folder: Path, count: int = 1) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(json.dumps(ROW) for _ in range(count)), encoding="utf-8")
    return path


def record(*files: str, conflicts: tuple[str, ...] = (), answer: str = "1902") -> Record:
    shown = [{"answer": name, "sources": [f"/tmp/{name}"]} for name in conflicts]
    made: Any = {"answer": answer, "seen": [{"source": f"/docs/{name}"} for name in files], "conflicts": shown}
    return cast("Record", made)


@pytest.mark.parametrize(
    ("numbers", "there"), [((1, 3), True), ((1, 2), False), ((1, 4), False), ((2, 3, 4), True), ((), False)]
)
def test_documents_disagree_if_neither_label_contains_the_other(
    numbers: tuple[int, ...], there: bool, tmp_path: Path
) -> None:
    (case,) = ramdocs(rows(tmp_path))
    assert disagree(case, [f"/docs/document-{number}.txt" for number in numbers]) is there


def test_precision_and_recall_are_of_what_the_search_found(tmp_path: Path) -> None:
    (case,) = ramdocs(rows(tmp_path))
    one, two, three = (f"document-{number}.txt" for number in (1, 2, 3))
    found = of_conflicts(
        [case] * 4,
        [
            record(one, three, conflicts=(one, three)),
            record(one, three),
            record(one, two, conflicts=(one, two)),
            record(one, two),
        ],
    )
    assert (found["disagree"], found["shown"]) == (2, 2)
    assert [getattr(found[name], "value", None) for name in ("precision", "recall")] == [0.5, 0.5]


def test_an_answer_deceives_unless_a_conflict_is_shown() -> None:
    case = Case("x", "What is its name?", {}, {}, correct="Little Boy", wrong="Big Man")
    found = of_deception(
        [case] * 4,
        [
            record(answer="Big Man."),
            record(answer="Big Man, or Little Boy."),
            record(answer="Big Man. Little Boy.", conflicts=("a", "b")),
            record(answer="Little Boy."),
        ],
    )
    assert found == {"deceived": 2, "deceived without a conflict shown": 1}


def test_the_halves_share_no_question_and_a_larger_draw_begins_with_the_smaller(tmp_path: Path) -> None:
    cases = ramdocs(rows(tmp_path, 20))
    halves = [read("ramdocs", rows(tmp_path, 20), half) for half in ("tuning", "reporting")]
    tuning, reporting = ([one.name for one in chosen(half, None, 0)] for half in halves)
    assert len(set(tuning) | set(reporting)) == len(cases) == len(tuning) + len(reporting)
    assert [one.name for one in chosen(halves[0], 3, 0)] == tuning[:3]


@pytest.mark.parametrize(("correct", "wrong"), [("yes", "no"), ("New York", "York"), ("4", "4 May")])
def test_answers_that_code_cannot_tell_apart_are_left_out(tmp_path: Path, correct: str, wrong: str) -> None:
    asked = {"id": "t1", "question": "What is its name?", "adv_texts": [f"It is {wrong}."]}
    entry = {**asked, "correct answer": correct, "incorrect answer": wrong}
    (tmp_path / "nq.json").write_text(json.dumps({"t1": entry}), encoding="utf-8")
    assert attacked(tmp_path / "nq.json") == []
