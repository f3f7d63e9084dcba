"""``ask`` over documents and with a model server."""

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.command_line import Program
from tests.integration.app.contract import keep_to_the_contract
from tests.integration.langsmith_server import langsmith_of_this_machine
from tests.integration.openai_server import OpenAIServer

RENT = "When does the tenant pay the monthly rent?"
ANSWER = "The tenant pays the monthly rent in advance."


def test_an_answer_over_documents_is_alone_on_stdout(program: Program, docs: Path, server: OpenAIServer) -> None:
    ended = program(RENT, "--docs", str(docs))
    assert (ended.code, ended.out) == (0, ANSWER + "\n")
    assert "\x1b" not in ended.out + ended.err
    lines = ended.err.splitlines()
    assert lines[0] == "indexing: 0 of 2 files"
    assert lines[1].startswith("indexing: 2 of 2 files · 2 passages")
    assert lines[2] == "indexed: 2 added; 2 passages"
    nodes = [line.split()[0] for line in lines[3:11]]
    assert sorted(nodes) == sorted(
        ["decide", "retrieve", "grade_documents", "generate", "answer_check", "hallucination_check", "select", "finish"]
    )
    assert any("lease.md" in line and f"“{ANSWER}”" in line for line in lines)
    assert re.match(r"grounded · accepted · confidence 0\.\d\d · \d+ model calls · [\d,]+ tokens read", lines[-1])
    assert {one.key for one in server.asked} == {"right"}
    assert "retrieve" not in server.kinds(), "a passage is very near to the question"


def test_the_log_tells_nodes_and_neither_texts_nor_the_key(program: Program, docs: Path) -> None:
    """The question need not be quoted."""
    ended = program(*RENT.split(), "--docs", str(docs), "--debug", "--quiet")
    assert (ended.code, ended.out) == (0, ANSWER + "\n")
    log = [line for line in ended.err.splitlines() if line.startswith("DEBUG selfrag.")]
    assert any(line.startswith("DEBUG selfrag.graph: grade_documents took ") for line in log)
    assert any(line.startswith("DEBUG selfrag.library: synced: 2 added") for line in log)
    for text in ("rent", "Seine", "right", RENT):
        assert text not in "".join(log)


def test_the_run_is_drawn_beside_the_answer_and_its_cost_is_a_table_on_stderr(program: Program, docs: Path) -> None:
    ended = program(RENT, "--docs", str(docs), "--picture", "run.svg", "--costs")
    assert (ended.code, ended.out) == (0, ANSWER + "\n")
    *_, total, plain, drawn = ended.err.splitlines()
    assert f" {total.split()[1]} model calls" in ended.err
    assert plain.startswith("One plain call over the 2 passages first found would read about ")
    assert drawn == "drawn into run.svg"
    svg = (program.folder / "run.svg").read_text(encoding="utf-8")
    assert RENT in svg
    assert ANSWER in svg
    assert 'data-edge="generate answer_check" data-count="1"' in svg
    quiet = program(RENT, "--docs", str(docs), "--json", "--picture", "run.mmd")
    assert (quiet.code, quiet.err, json.loads(quiet.out)["outcome"]) == (0, "", "grounded")
    assert (program.folder / "run.mmd").read_text().startswith("graph TD;")


@pytest.mark.parametrize(
    ("question", "options", "outcome", "reason"),
    [
        ("What is 2 + 2?", (), "direct", "not_needed"),
        (RENT, ("--mode", "never"), "direct", "mode_never"),
        (RENT, (), "grounded", "accepted"),
        (RENT, ("--mode", "always"), "grounded", "accepted"),
        (RENT, ("--strategy", "per-passage"), "grounded", "accepted"),
        (RENT, ("--k", "1"), "grounded", "accepted"),
        (RENT, ("--explain",), "grounded", "accepted"),
        (RENT, ("--source", "lease*"), "grounded", "accepted"),
        (RENT, ("--source", "*.csv"), "abstained", "nothing_relevant"),
        ("How did Harry beat Quirrell?", (), "abstained", "nothing_relevant"),
        ("How did Harry beat Quirrell?", ("--fallback", "direct"), "direct", "fallback"),
    ],
)
def test_every_option_keeps_to_the_contract(
    program: Program, docs: Path, question: str, options: tuple[str, ...], outcome: str, reason: str
) -> None:
    ended = program("ask", question, "--docs", str(docs), "--json", *options)
    result = json.loads(ended.out)
    keep_to_the_contract(result)
    assert (ended.code, ended.err) == (0, "")
    assert (result["question"], result["outcome"], result["stop_reason"]) == (question, outcome, reason)
    if not options and outcome == "grounded":
        assert result["decision"]["reason"].startswith("A passage comes near to the question: cosine 0.")
        (citation,) = result["citations"]
        assert (result["answer"], citation["quote"]) == (ANSWER, ANSWER)
        assert Path(citation["source"]) == docs / "lease.md"
        assert result["claims"][0]["citations"] == [1]
    if "--k" in options:
        assert result["retrieved"] == 1
    if "--explain" in options:
        assert result["decision"]["reason"]
    if outcome == "abstained":
        assert len(result["queries"]) == 3


def test_on_a_terminal_the_trace_streams_and_citations_are_numbered(program: Program, docs: Path) -> None:
    controller, terminal = pty.openpty()
    environment = {**program.environment, "TERM": "xterm", "COLUMNS": "120"}
    command = [sys.executable, "-m", "app", RENT, "--docs", str(docs)]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    process = subprocess.Popen(command, cwd=program.folder, env=environment, **streams)
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # the terminal is gone with the program
        while piece := os.read(controller, 4096):
            shown += piece
    os.close(controller)
    assert process.wait(30) == 0
    text = shown.decode()
    assert "\x1b[" in text
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert plain.index("decide") < plain.index("finish") < plain.index(f"{ANSWER} [1]")
    assert re.search(r"\[1\] lease\.md · Lease +“The tenant pays", plain)
    assert "grounded · accepted" in plain


def test_another_model_may_judge(program: Program, docs: Path, server: OpenAIServer) -> None:
    server.models = ("gpt-4o-mini", "judge")
    program(RENT, "--docs", str(docs), environment={"SELFRAG_CRITIC_MODEL": "judge"})
    models = {one.kind: one.body["model"] for one in server.asked}
    assert models["draft"] == "gpt-4o-mini"
    assert {models[kind] for kind in ("relevance", "support", "usefulness")} == {"judge"}
    program("Hello there", "--docs", str(docs), environment={"SELFRAG_CRITIC_MODEL": "judge"})
    assert {one.body["model"] for one in server.asked if one.kind == "retrieve"} == {"judge"}


@pytest.mark.parametrize("tracing", ["off", "langsmith"])
def test_langsmith_is_sent_a_question_by_our_own_setting_alone(program: Program, docs: Path, tracing: str) -> None:
    with langsmith_of_this_machine() as langsmith:
        set_for_another = {"LANGSMITH_TRACING": str(tracing == "off").lower(), **langsmith.environment()}
        # In a process of its own, for LangSmith reads the environment once and uploads when the process ends.
        ended = program.process(RENT, "--docs", str(docs), environment={**set_for_another, "SELFRAG_TRACING": tracing})
        assert (ended.code, ended.out) == (0, ANSWER + "\n")
        assert (ANSWER in "".join(langsmith.uploads)) == (tracing == "langsmith")
        assert bool(langsmith.uploads) == (tracing == "langsmith")
