import stat
from pathlib import Path
from typing import Any, cast

import pytest

from app.conversations.feedback import Feedback, FeedbackFolder, Judgement, Label, examples_of
from app.results.result import Result, result_of
from core.errors import RequestError
from core.text import as_json
from evaluation.datasets.question_set import load
from grounding.follow_ups import join_follow_up
from tests.unit.app.results.test_result import DIRECT, MIXED, ended

PARTIAL = result_of(ended(MIXED, "partially_grounded", "claims_unsupported"))
ABSTAINED = result_of(ended(None, "abstained", "nothing_relevant"))
NOT_NEEDED = result_of(ended(DIRECT, "direct", "not_needed"))


@pytest.fixture
def folder(tmp_path: Path) -> FeedbackFolder:
    return FeedbackFolder(tmp_path / "feedback")


@pytest.mark.parametrize(
    ("judgement", "written", "result", "row"),
    [
        ("right", None, ABSTAINED, {"answerable": False, "outcome": "abstained"}),
        ("right", None, NOT_NEEDED, {"route": "direct", "outcome": "direct"}),
        ("wrong", None, PARTIAL, {}),
        ("wrong", None, ABSTAINED, {"answerable": True}),
        ("wrong", "It is blue.", PARTIAL, {"answerable": True, "answer": "It is blue."}),
        ("missing", None, PARTIAL, {"answerable": True}),
    ],
)
def test_a_row_says_only_what_is_known(
    folder: FeedbackFolder, judgement: str, written: str | None, result: Result, row: dict[str, Any]
) -> None:
    folder.add("", "r1", Feedback(judgement=cast("Judgement", judgement), answer=written), result)
    (example,) = examples_of(folder.labels())
    assert example == {"question": result.question, "id": "r1", "feedback": judgement, **row}


def test_the_question_of_a_follow_up_is_what_it_was_taken_to_mean_which_older_versions_did_not_keep(
    folder: FeedbackFolder,
) -> None:
    said, meant = "And the notice period?", join_follow_up("How long is the lease?", "And the notice period?")
    result = PARTIAL.model_copy(update={"question": said, "standalone": meant})
    folder.add("", "r1", Feedback(judgement="missing"), result)
    (label,) = folder.labels()
    older = Label.model_validate(label.model_dump(mode="json", exclude={"standalone"}))
    assert (older.example()["question"], older.example().get("follow_up")) == (said, None)
    (example,) = examples_of([label])
    assert example["question"] == "How long is the lease? And the notice period?"
    assert example["follow_up"] == "And the notice period?"


def test_a_right_answer_is_a_reference_with_its_quotes_that_eval_reads(folder: FeedbackFolder, tmp_path: Path) -> None:
    folder.add("", "r1", Feedback(judgement="right", comment="well said"), PARTIAL)
    folder.add("", "r2", Feedback(judgement="right"), ABSTAINED)
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(f"{as_json(row)}\n" for row in examples_of(folder.labels())))
    answered, unanswerable = load(path, tmp_path / "documents").examples
    assert (answered.id, answered.answerable, answered.references) == ("r1", True, (PARTIAL.answer,))
    assert [one.text for one in answered.gold] == [one["quote"] for one in PARTIAL.citations] != []
    assert unanswerable.answerable is False
    assert "well said" in path.read_text()


def test_the_last_word_on_a_run_counts_and_owners_have_their_own_files(folder: FeedbackFolder, tmp_path: Path) -> None:
    folder.add("ann", "r1", Feedback(judgement="right"), PARTIAL)
    folder.add("bob", "r2", Feedback(judgement="right"), PARTIAL)
    folder.add("ann", "r1", Feedback(judgement="wrong"), PARTIAL)
    assert [(one.run, one.feedback.judgement) for one in folder.labels()] == [("r2", "right"), ("r1", "wrong")]
    assert sorted(file.name for file in (tmp_path / "feedback").iterdir()) == ["ann.jsonl", "bob.jsonl"]
    assert stat.S_IMODE((tmp_path / "feedback" / "ann.jsonl").stat().st_mode) == 0o600


def test_a_line_torn_by_a_kill_is_cut_off_and_others_stay(folder: FeedbackFolder, tmp_path: Path) -> None:
    folder.add("", "r1", Feedback(judgement="right"), PARTIAL)
    file = tmp_path / "feedback" / "own.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole + b"not a label\n" + whole[:40])
    assert [one.run for one in folder.labels()] == ["r1"]
    folder.add("", "r2", Feedback(judgement="wrong"), PARTIAL)
    assert [one.run for one in folder.labels()] == ["r1", "r2"]
    assert len(file.read_bytes().splitlines()) == 3


def test_a_disk_that_refuses_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "feedback").write_text("a file in the way")
    with pytest.raises(RequestError, match="cannot be kept"):
        FeedbackFolder(tmp_path / "feedback").add("", "r1", Feedback(judgement="right"), PARTIAL)
