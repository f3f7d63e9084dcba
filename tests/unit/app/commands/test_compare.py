from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from core.errors import ModelError
from tests.unit.app.scripted_commands import enter_folder
from tests.unit.evaluation.sample_comparisons import Writer, reply

QUESTION = "Is alpha a letter?"
ROWS = [
    {"question": QUESTION, "route": "retrieve", "answer": "Alpha is a letter.", "docs": ["docs"]},
    {"question": "Is omega a dog?", "answerable": False, "docs": "docs"},
]
DRAFTS = {"Is alpha a letter?": "Alpha is a letter.", "Is omega a dog?": "Omega is a dog."}


def kind_of(inputs: dict[str, Any]) -> str:
    return "analyse" if "figures" in inputs else "compare" if "first" in inputs else "draft"


def says(inputs: dict[str, Any], **instead: str | Exception) -> str | Exception:
    """What the model says when it drafts, compares or writes about a set, but for what it says ``instead``."""
    usual = {"analyse": "Both do.\npreferred: neither", "compare": reply("tie"), "draft": ""}
    kind = kind_of(inputs)
    return instead.get(kind) or usual[kind] or DRAFTS[inputs["question"]]


@pytest.fixture
def model() -> Writer:
    return Writer(says)


def asked(model: Writer) -> list[str]:
    return [kind_of(inputs) for inputs in model.asked]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Writer) -> Path:
    """A working folder with a document and questions, and models that follow a script."""

    def support(claim: str) -> str:
        return "fully supported" if "Alpha" in claim else "no support"

    enter_folder(tmp_path, monkeypatch, ROWS, model, support)
    return tmp_path


def run(*words: str) -> int:
    return main(["compare", *words])


def test_one_question_side_by_side(capsys: pytest.CaptureFixture[str], model: Writer) -> None:
    assert run(QUESTION, "--docs", "docs", "--reference", "Alpha is a letter.") == 0
    out, err = capsys.readouterr()
    assert "Answer · self-rag\n  Alpha is a letter." in out
    assert "grounded (accepted) · right" in out
    assert "letters.txt · self-rag: relevant · plain: read" in out.replace(" 1.00", "")
    assert "Both answers are identical, so it was not asked." in out
    assert "Overall" not in out
    assert "analyse" not in asked(model)
    assert "2 of 2 answers" in err


def test_a_set_is_asked_of_its_own_documents_and_summed_up(capsys: pytest.CaptureFixture[str], model: Writer) -> None:
    assert run("--set", "letters.jsonl", "--quiet") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "Overall: letters" in out
    assert "plain's answer was wrong for 1 of them" in out
    assert out.index("What it cost") < out.index("Both do.")
    assert asked(model).count("compare") == asked(model).count("analyse") == 2


def test_nothing_is_asked_twice_and_what_eval_paid_for_is_used(
    model: Writer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "letters.jsonl"]) == 0
    paid = len(model.asked)
    assert paid
    assert run("--set", "letters.jsonl") == 0
    assert set(asked(model)[paid:]) == {"compare", "analyse"}
    everything = len(model.asked)
    capsys.readouterr()
    assert run("--set", "letters.jsonl") == 0
    assert len(model.asked) == everything
    assert "4 of 4 answers · 4 kept from before" in capsys.readouterr().err


def test_json_is_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--set", "letters.jsonl", "--json") == 0
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert err == ""
    assert data["set"] == "letters"
    assert [one["question"] for one in data["questions"]] == [row["question"] for row in ROWS]
    assert data["overall"]["model"]["preference"] == "tie"


def test_output_by_its_suffix(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--set", "letters.jsonl", "--output", "found.csv") == 0
    assert len(list(csv.DictReader(Path("found.csv").read_text().splitlines()))) == 2
    assert Path("found.csv").stat().st_mode & 0o777 == 0o600
    assert "written into found.csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "The question is empty"),
        ((QUESTION, "--set", "letters.jsonl"), "A question and --set are given"),
        (("--set", "letters.jsonl", "--reference", "x"), "--reference is for a single question"),
        (("--set", "none.jsonl"), "There is no file none.jsonl"),
        ((QUESTION, "--docs", "none"), "none does not exist: check the path given to --docs."),
        ((QUESTION, "--output", "found.pdf"), "name a file that ends in .md, .html or .csv"),
        ((QUESTION, "--output", "none/found.md"), "none/found.md cannot be written"),
        ((QUESTION, "--output", "docs.md"), "docs.md cannot be written"),
        ((QUESTION, "--concurrency", "0"), "'0' is no number from 1"),
        ((QUESTION, "--out", "docs"), "name a new folder, or an empty one, with --out"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_asked(
    words: tuple[str, ...], part: str, model: Writer, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("docs.md").mkdir()
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert (out, model.asked, len(err.splitlines())) == ("", [], 1)
    assert part in err


GONE = ModelError("The server is gone.")


def test_a_judge_that_is_gone_leaves_the_answers_and_ends_with_3(
    model: Writer, capsys: pytest.CaptureFixture[str]
) -> None:
    model.says = partial(says, compare=GONE)
    assert run("--set", "letters.jsonl") == 3
    out, err = capsys.readouterr()
    assert "Answer · self-rag" in out
    assert err.splitlines()[-1] == "error: The server is gone."


def test_a_writer_that_is_gone_ends_with_3(model: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    model.says = partial(says, draft=GONE)
    assert run(QUESTION, "--docs", "docs") == 3
    assert "error: There is nothing to compare" in capsys.readouterr().err
