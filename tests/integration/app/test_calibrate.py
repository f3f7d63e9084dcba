"""``calibrate``: what it asks and keeps, that it is used with the same models alone, and that nothing is lost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evaluation import calibrating, written_labels
from models.calibration import expit
from tests.command_line import Program
from tests.integration.openai_server import Inputs, OpenAIServer, Policy, say, status

TOWNS = [f"{a}{b}" for a in ("Al", "Be", "Co", "Da", "El", "Fa") for b in ("ham", "ville", "stad", "mouth", "ford")]
AS_JSON = ("--json", "--mode", "always")
WRONG = frozenset(TOWNS[::3])  # of whose ferries the question set says that nothing is stated


class Sure(Policy):
    """Surer of right answers than of wrong ones, and far too sure of both."""

    def sureness(self, kind: str, inputs: Inputs) -> float:
        if kind != "support":
            return 0.9
        return 0.97 if any(town in inputs["claim"] for town in WRONG) else 0.995


class Writer(Policy):
    """Writes a question about each ferry, and one about a ferry that nobody has; surer of what it can know."""

    def text(self, kind: str, inputs: Inputs) -> str:
        if kind == "question":
            town, crowns = re.findall(r"ferry of (\w+) costs (\d+ crowns)", inputs["passage"])[0]
            return f"Question: How many crowns does the ferry of {town} cost?\nAnswer: {crowns}"
        if kind == "changed":
            return "How many crowns does the ferry of Nowhere cost?"
        return super().text(kind, inputs)

    def sureness(self, kind: str, inputs: Inputs) -> float:
        known = kind != "support" or re.findall(r"ferry of \w+", inputs["question"])[0] in inputs["claim"]
        return 0.995 if known else 0.9


@pytest.fixture
def labels(tmp_path: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Thirty questions about as many documents, on twelve of which the answer is wrong."""
    server.policy = Sure()
    monkeypatch.setattr(calibrating, "CUTS", tuple(map(expit, (-1.0, 1.0, 5.0))))
    folder = tmp_path / "towns"
    folder.mkdir()
    for number, town in enumerate(TOWNS):
        (folder / f"{town}.md").write_text(f"The ferry of {town} costs {number + 10} crowns.\n")
    rows = [
        {"question": question_about(town), "source": f"{town}.md"}
        | ({"answerable": False} if town in WRONG else {"answer": f"{number + 10} crowns"})
        for number, town in enumerate(TOWNS)
    ]
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def calibrate(program: Program, labels: Path, *words: str) -> tuple[int, str, str]:
    ended = program("calibrate", str(labels), "--docs", str(labels.with_name("towns")), *words)
    return ended.code, ended.out, ended.err


def question_about(town: str) -> str:
    return f"What does the ferry of {town} cost?"


def ask(program: Program, labels: Path, town: str) -> dict[str, object]:
    ended = program(question_about(town), "--docs", str(labels.with_name("towns")), *AS_JSON)
    return {"err": ended.err, **json.loads(ended.out)}


def test_what_is_fitted_is_used_from_then_on_by_the_same_models_and_taken_back(
    program: Program, labels: Path, server: OpenAIServer, tmp_path: Path
) -> None:
    wrong, right, docs = TOWNS[0], TOWNS[1], str(labels.with_name("towns"))
    text = tmp_path / "text.txt"
    text.write_text(f"The ferry of {right} costs 11 crowns.")

    def calls_of_a_check() -> int:
        before = len(server.asked)
        assert program("check", str(text), "--docs", docs).code == 0
        return len(server.asked) - before

    assert ask(program, labels, wrong)["outcome"] == "grounded"
    assert calls_of_a_check() > 0
    assert calls_of_a_check() == 0
    page = tmp_path / "calibration.html"
    code, out, err = calibrate(program, labels, "--yes", "--output", str(page))
    assert code == 0, err
    assert "30 questions: about 210 calls" in err
    assert "20 of 30 questions are answered, 0 of them wrongly" in out
    assert "<svg" in page.read_text()
    assert ask(program, labels, wrong)["outcome"] == "abstained"
    kept = ask(program, labels, right)
    assert kept["outcome"] == "grounded"
    assert str(kept["calibration"]).startswith("library-")
    assert calls_of_a_check() > 0, "a text is checked again with a new calibration"
    status = program("calibrate", "--status", "--docs", docs).out
    assert "library-" in status
    assert "since then in threads: 0 answers; judged: 0, not right 0" in status

    server.models = ("gpt-4o-mini", "other")
    other = {"SELFRAG_CHAT_MODEL": "other"}
    found = json.loads(program(question_about(wrong), "--docs", docs, *AS_JSON, environment=other).out)
    assert (found["outcome"], found["calibration"]) == ("grounded", None)
    told = program("calibrate", "--status", "--docs", docs, environment=other)
    assert "calibration is not used, as it was made before a change of the chat model and the critic" in told.err

    refused = program("calibrate", "--status", "--docs", docs, "--output", str(tmp_path / "status.html"))
    assert (refused.code, "leave it out of --status and --reset" in refused.err) == (2, True)
    assert "is gone" in program("calibrate", "--reset", "--docs", docs).out
    assert json.loads(program("calibrate", "--reset", "--docs", docs, "--json").out) == {"reset": False}
    assert ask(program, labels, wrong)["outcome"] == "grounded"


def test_nothing_is_asked_twice_after_a_failure_midway_or_a_budget_that_ends(
    program: Program, labels: Path, server: OpenAIServer
) -> None:
    code, _, err = calibrate(program, labels, "--yes", "--budget", "100")
    assert code == 2
    assert "budget of 100 calls is used up" in err
    assert len(server.asked) == 100
    server.always = lambda asked: status(401) if TOWNS[20] in str(asked.inputs) else None
    code, _, err = calibrate(program, labels, "--yes")
    assert code == 3
    assert "the same command goes on from there" in err
    server.always = lambda asked: None
    assert calibrate(program, labels, "--yes")[0] == 0
    paid = [json.dumps(one.body, sort_keys=True) for one in server.asked if TOWNS[20] not in str(one.inputs)]
    assert len(paid) == len(set(paid)) > 100


def test_a_draft_without_text_is_asked_for_again(program: Program, labels: Path, server: OpenAIServer) -> None:
    server.always = lambda asked: say("") if asked.kind == "draft" and TOWNS[20] in str(asked.inputs) else None
    code, _, err = calibrate(program, labels, "--yes")
    assert (code, "gave an empty answer" in err) == (3, True)
    server.always = lambda asked: None
    assert calibrate(program, labels, "--yes")[0] == 0


def test_without_labels_the_model_writes_them_and_nothing_is_guaranteed(
    program: Program, labels: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.policy = Writer()
    monkeypatch.setattr(written_labels, "SHORTEST", 10)
    monkeypatch.setattr(written_labels, "PASSAGES", 16)
    command = ("calibrate", "--docs", str(labels.with_name("towns")), "--yes", "--risk", "0.2")
    ended = program(*command, "--output", str(tmp_path / "page.html"))
    assert ended.code == 0, ended.err
    assert "16 of 32 questions are answered, 0 of them wrongly" in ended.out
    assert "Estimated from the model's own questions, not guaranteed" in ended.out
    kept = re.search(r"questions are in (\S+): correct them", ended.err)
    assert kept
    written = [json.loads(line) for line in Path(kept[1]).read_text().splitlines()]
    assert [row for row in written if row.get("answer")]
    assert {row["question"] for row in written if not row.get("answer")} == {
        "How many crowns does the ferry of Nowhere cost?"
    }
    asked = len(server.asked)
    again = program(*command, "--json")
    assert json.loads(again.out)["estimated"] is True
    assert len(server.asked) == asked, "no call is paid twice"
    Path(kept[1]).write_text(corrections := Path(kept[1]).read_text().replace("cost?", "charge?"))
    assert program(*command).code == 0
    beside = {path.read_text() for path in Path(kept[1]).parent.glob("*.labels.*jsonl")}
    assert corrections in beside, "what a person corrected is not lost"
    corrected = program("calibrate", kept[1], *command[1:])
    assert corrected.err.startswith(f"note: {len(written)} questions"), "they are labels"


def test_nothing_is_asked_without_labels_in_the_file_or_a_yes_to_what_it_costs(
    program: Program, labels: Path, server: OpenAIServer
) -> None:
    code, _, err = calibrate(program, labels)
    assert (code, "add --yes" in err) == (2, True)
    labels.write_text('{"question": "What?"}')
    code, _, err = calibrate(program, labels, "--yes")
    assert (code, "says of no question what is right" in err) == (2, True)
    assert not server.asked


def test_a_model_without_probabilities_is_calibrated_by_its_labels(
    program: Program, labels: Path, server: OpenAIServer
) -> None:
    server.logprobs = "refuse"
    code, out, err = calibrate(program, labels, "--yes", "--json")
    assert code == 0, err
    made = json.loads(out)
    assert made["after"]["log_loss"]["value"] < made["before"]["log_loss"]["value"]
