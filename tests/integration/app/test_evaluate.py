"""``eval``: what it writes, and that nothing is asked twice, whatever ended the run."""

import json
import shutil
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from evaluation.reporting import report
from tests.command_line import ROOT, Program
from tests.integration.openai_server import HANG, Asked, Fault, OpenAIServer

RENT = "When does the tenant pay the monthly rent?"
DOGS = "Are dogs allowed in the garden?"
RIVER = "What is the river of Paris?"
HARRY = "How did Harry beat Quirrell?"
PATIENCE = 300.0  # seconds for a process to load the models, on a machine that is busy
ROWS = [
    {"question": RENT, "route": "retrieve", "answer": "in advance", "source": "lease.md"},
    {"question": DOGS, "route": "retrieve", "answer": "in the garden", "source": "lease.md"},
    {"question": RIVER, "route": "retrieve", "answer": "the Seine", "source": "rivers.csv"},
    {"question": HARRY, "route": "retrieve", "answerable": False},
    {"question": "What is 2 + 2?", "route": "direct", "answer": "4"},
]


@pytest.fixture(autouse=True)
def bare_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report without its page, whose pictures take a second to draw; test_alone has it drawn."""
    monkeypatch.setattr(report, "evaluation_report", lambda *_: "a page")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "pets.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    return path


def records_of(program: Program, name: str = "pets") -> list[dict[str, Any]]:
    lines = (program.folder / "eval" / name / "records.jsonl").read_text().splitlines()
    return [json.loads(line)["record"] for line in lines]


def questions_of(asked: Asked) -> str:
    return str(asked.inputs.get("question"))


def test_what_is_printed_and_written(program: Program, questions: Path, docs: Path) -> None:
    ended = program(
        "eval", str(questions), "--docs", str(docs), "--systems", "self-rag,plain,closed-book", "--variant", "one:k=1"
    )
    assert ended.code == 0, ended.err
    assert "Traceback" not in ended.err
    assert "\x1b" not in ended.out + ended.err
    header = ended.out.splitlines()[0].split()
    assert header == ["self-rag", "plain", "closed-book", "one"]
    assert "self-rag: 5 of 5 questions routed as expected" in ended.out
    assert "20 of 20 answers · " in ended.err
    written = {path.name for path in (program.folder / "eval" / "pets").iterdir()}
    assert written >= {"records.jsonl", "records.csv", "report.html"}
    records = records_of(program)
    assert len(records) == 20
    assert {record["error"] for record in records} == {None}
    by_key = {(record["system"], record["question"]): record for record in records}
    assert by_key["self-rag", RENT]["answer"] == "The tenant pays the monthly rent in advance."
    assert by_key["self-rag", HARRY]["outcome"] == "abstained"
    assert by_key["self-rag", "What is 2 + 2?"]["route"] == "direct"
    assert len(by_key["plain", RIVER]["seen"]) == 2
    assert len(by_key["one", RIVER]["seen"]) == 1
    assert by_key["closed-book", RIVER]["answer"] == "The answer is 4."


def test_a_run_that_is_killed_and_then_interrupted_goes_on_without_asking_again(
    program: Program, questions: Path, docs: Path, server: OpenAIServer
) -> None:
    arrived = threading.Event()

    def hang(asked: Asked) -> Fault | None:
        if asked.kind != "draft" or questions_of(asked) != RIVER:
            return None
        arrived.set()
        return HANG

    def ended_by(how: signal.Signals) -> tuple[int, str]:
        arrived.clear()
        with program.start(*words) as process:
            assert arrived.wait(PATIENCE)
            process.send_signal(how)
            _, err = process.communicate(timeout=60)
        return process.returncode, err

    server.always = hang
    words = ("eval", str(questions), "--docs", str(docs), "--concurrency", "1")
    ended_by(signal.SIGKILL)
    finished = {(record["system"], record["question"]) for record in records_of(program)}
    assert {(system, question) for system in ("self-rag", "plain") for question in (RENT, DOGS)} <= finished
    before = len(server.asked)
    code, err = ended_by(signal.SIGINT)
    assert code == 130
    assert "Traceback" not in err
    assert "4 of 10 answers are kept in eval/pets/records.jsonl" in " ".join(err.split())
    assert err.splitlines()[-1] == "Interrupted."
    server.always = lambda asked: None
    ended = program(*words)
    assert ended.code == 0, ended.err
    assert not {RENT, DOGS} & {questions_of(asked) for asked in server.asked[before:]}
    assert len(records_of(program)) == 10
    assert "4 kept from before" in ended.err


def test_the_samples_questions_are_asked_of_the_sample(small_sample: Program, docs: Path) -> None:
    path = Path(shutil.copy(ROOT / "data" / "questions.jsonl", docs.parent))
    ended = small_sample("eval", str(path), "--systems", "plain", "--most", "2", "--out", "here", "--quiet")
    assert (ended.code, ended.err) == (0, "")
    records = [json.loads(line) for line in (small_sample.folder / "here" / "records.jsonl").read_text().splitlines()]
    assert [{Path(seen["source"]).parent for seen in one["record"]["seen"]} for one in records] == [{docs}, {docs}]
    assert not (small_sample.folder / "eval").exists()
