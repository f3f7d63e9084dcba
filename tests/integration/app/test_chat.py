"""``chat`` and ``threads`` over documents and with a model server."""

import json
import os
import pty
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from app.conversations.store import Threads
from app.conversations.thread import Thread, ThreadTurn
from tests.command_line import Program
from tests.integration.app.contract import keep_to_the_contract
from tests.integration.openai_server import HANG, Fault, OpenAIServer, status

RENT = "When does the tenant pay the monthly rent?"
ANSWER = "The tenant pays the monthly rent in advance."
DOGS = "Are dogs allowed in the garden?"
ALLOWED = "Dogs are allowed in the garden."
PATIENCE = 300.0  # seconds for a process to load the models, on a machine that is busy
FOLLOW_UP = "And the dogs in the garden?"


@pytest.fixture
def kept(program: Program) -> Iterator[Threads]:
    threads = Threads(Path(program.environment["SELFRAG_HOME"]) / "threads")
    yield threads
    threads.close()


def only(kept: Threads) -> Thread:
    (thread,) = kept.list()
    return thread


def turns(kept: Threads) -> list[ThreadTurn]:
    return kept.turns(only(kept).id)


def hang(server: OpenAIServer, kind: str) -> None:
    server.always = lambda asked: HANG if asked.kind == kind else None


def mend(server: OpenAIServer) -> None:
    server.always = lambda asked: None


@contextmanager
def at_a_terminal(program: Program, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Callable[[str], None]]]:
    """Start the command with a terminal as its standard input, and the function that writes a line to it."""
    ours, theirs = pty.openpty()
    with program.start(*arguments, stdin=theirs) as process:
        try:
            yield process, lambda line: os.write(ours, f"{line}\n".encode()) and None
        finally:
            process.kill()
    os.close(ours)
    os.close(theirs)


def until(process: subprocess.Popen[str], said: str) -> str:
    """Read what the process says on stderr, to a text that it says."""
    read = ""
    while not read.endswith(said):
        one = process.stderr.read(1)
        assert one, f"it ended without {said!r}: {read}"
        read += one
    return read


def test_piped_lines_are_answered_one_after_another_as_ask_does(program: Program, docs: Path, kept: Threads) -> None:
    ended = program("chat", "--docs", str(docs), given=f"{RENT}\n\n  {FOLLOW_UP}\n")
    assert (ended.code, ended.out) == (0, f"{ANSWER}\n{ANSWER}\n")
    assert f"“{ANSWER}”" in ended.err
    understood = f"understood as: {RENT} {FOLLOW_UP}"
    assert ended.err.count("understood as: ") == ended.err.count(understood) == 1
    assert ended.err.index("select ", ended.err.index(FOLLOW_UP)) < ended.err.index(understood)
    assert ended.err.rstrip().endswith(f"go on with: python -m app chat --thread {only(kept).id}")
    assert (only(kept).title, [turn.state for turn in turns(kept)]) == (RENT, ["finished"] * 2)


def test_json_is_a_line_of_the_contract_for_each_question(program: Program, docs: Path) -> None:
    ended = program("chat", "--docs", str(docs), "--json", given=f"{RENT}\n/help\n{FOLLOW_UP}\n")
    results: list[Any] = [json.loads(line) for line in ended.out.splitlines()]
    for result in results:
        keep_to_the_contract(result)
    assert (ended.code, ended.err) == (0, "")
    meant = [(one["question"], one["standalone"]) for one in results]
    assert meant == [(RENT, RENT), (FOLLOW_UP, f"{RENT} {FOLLOW_UP}")]


@pytest.mark.parametrize(
    ("line", "fault", "code", "said"),
    [
        ("/bogus", None, 2, "There is no command /bogus: /help lists them."),
        ("/meant", None, 2, "/meant needs TEXT"),
        ("/right", None, 2, "This thread has no question yet: ask one first."),
        ("/open 7", None, 2, "There is no thread '7'"),
        (DOGS, status(401), 3, "key"),
    ],
)
def test_without_a_terminal_the_first_line_that_fails_ends_the_chat(
    program: Program, docs: Path, server: OpenAIServer, line: str, fault: Fault | None, code: int, said: str
) -> None:
    server.always = lambda asked: fault
    ended = program("chat", "--docs", str(docs), "--quiet", given=f"{line}\n{RENT}\n")
    assert ended.code == code
    assert ANSWER not in ended.out
    (error,) = ended.err.splitlines()
    assert error.startswith("error: ")
    assert said in error


def test_what_the_last_question_means_can_be_corrected(program: Program, docs: Path, kept: Threads) -> None:
    said = f"{RENT}\nWhat about dogs?\n/meant {DOGS}\n/again Where may the dogs be in the garden?\n"
    ended = program("chat", "--docs", str(docs), given=said)
    assert ended.code == 0
    assert [(turn.question, turn.replaced, turn.result and turn.result.standalone) for turn in turns(kept)[2:]] == [
        ("What about dogs?", True, DOGS),
        ("Where may the dogs be in the garden?", False, "Where may the dogs be in the garden?"),
    ]
    assert f"understood as: {DOGS}" in ended.err
    assert [turn["question"] for turn in kept.conversation(only(kept).id)] == [RENT, turns(kept)[-1].question]


def test_what_is_said_of_answers_becomes_labels(program: Program, docs: Path) -> None:
    ended = program("chat", "--docs", str(docs), given=f"{RENT}\n/right\n{FOLLOW_UP}\n/wrong They are allowed there.\n")
    assert ended.code == 0
    program("library", "export-labels", "labels.jsonl")
    rows = [json.loads(line) for line in (program.folder / "labels.jsonl").read_text().splitlines()]
    assert [(row["question"], row["feedback"], row["answer"]) for row in rows] == [
        (RENT, "right", ANSWER),
        (f"{RENT} {FOLLOW_UP}", "wrong", "They are allowed there."),
    ]


def test_a_chat_opens_names_exports_and_deletes_what_is_kept(program: Program, docs: Path, kept: Threads) -> None:
    program("chat", "--docs", str(docs), given=f"{DOGS}\n")
    said = f"{RENT}\n/rename The rent\n/threads\n/export rent.md\n/open 2\n/delete\nno\n/delete\nyes\n"
    ended = program("chat", "--docs", str(docs), given=said)
    assert ended.code == 0
    listed = [line for line in ended.out.splitlines() if line.lstrip().startswith(("1  ", "2  "))]
    assert [line.split("  ")[-1] for line in listed] == ["The rent", DOGS]
    assert ALLOWED in ended.err, "of the conversation that was opened"
    assert only(kept).title == "The rent"
    assert ANSWER in (program.folder / "rent.md").read_text()
    again = program("chat", "--docs", str(docs), "--last", given="/export rent.md\n")
    assert (again.code, "is there already: name a new file" in again.err) == (2, True)


def test_a_chat_without_a_question_keeps_nothing(program: Program, docs: Path, kept: Threads) -> None:
    ended = program("chat", "--docs", str(docs), given="/help\n/new\n")
    assert (ended.code, kept.list(), "go on with" in ended.err) == (0, [], False)
    assert program("chat", "--docs", str(docs), given="a" * 200_000).code == 2
    assert kept.list() == []


def test_a_thread_without_a_question_has_none_to_ask_again(program: Program, docs: Path, kept: Threads) -> None:
    empty = kept.create(title="Empty").id
    ended = program("chat", "--docs", str(docs), "--thread", empty, "--quiet", given="/again\n")
    assert (ended.code, ended.err) == (2, "error: This thread has no question yet: ask one first.\n")


def test_a_killed_chat_goes_on_and_pays_no_finished_node_again(
    program: Program, docs: Path, server: OpenAIServer, kept: Threads
) -> None:
    hang(server, "support")
    with program.start("chat", "--docs", str(docs), "--mode", "always", stdin=subprocess.PIPE) as process:
        process.stdin.write(f"{RENT}\n")
        process.stdin.flush()
        server.wait_for("support", PATIENCE)
        process.kill()
    (turn,) = turns(kept)
    assert (turn.state, turn.options) == ("unfinished", {"mode": "always"})
    paid = Counter(server.kinds())
    mend(server)
    ended = program("chat", "--docs", str(docs), "--thread", only(kept).id[:6], given="")
    assert (ended.code, ended.out) == (0, f"{ANSWER}\n")
    assert f"note: this question was cut off, and goes on: {RENT}" in ended.err
    more = Counter(server.kinds()) - paid
    assert (more["relevance"], more["draft"], more["support"]) == (0, 0, 1)
    assert [turn.state for turn in turns(kept)] == ["finished"]


def test_an_interrupt_on_a_terminal_ends_the_question_and_not_the_chat(
    program: Program, docs: Path, server: OpenAIServer, kept: Threads
) -> None:
    hang(server, "support")
    with at_a_terminal(program, "chat", "--docs", str(docs)) as (process, write):
        write(RENT)
        server.wait_for("support", PATIENCE)
        mend(server)
        process.send_signal(signal.SIGINT)
        said = until(process, "note: interrupted: /again asks the question again, /quit leaves.\n> ")
        assert "checkpoint" not in said, "of a node that was cancelled"
        write("/again")
        assert f"“{ANSWER}”" in until(process, "grounded · ")
        write("/quit")
        process.communicate()
    assert process.returncode == 0
    assert [(turn.state, turn.replaced) for turn in turns(kept)] == [("cancelled", True), ("finished", False)]


def test_the_command_lists_shows_names_exports_and_deletes(program: Program, docs: Path, kept: Threads) -> None:
    assert program("threads").out == "No thread is kept yet.\n"
    program("chat", "--docs", str(docs), given=f"{RENT}\n{FOLLOW_UP}\n/again {DOGS}\n")
    id_ = only(kept).id
    assert program("threads").out == program("threads", "list").out
    assert RENT in program("threads").out
    told = json.loads(program("threads", "--json").out)
    assert [(one["id"], one["turns"]) for one in told["threads"]] == [(id_, 2)]
    shown = program("threads", "show", id_[:5]).out
    assert f"1. {RENT}\n   {ANSWER} [1]\n  [1] lease.md · Lease  “{ANSWER}”\n2. {FOLLOW_UP} (corrected)\n" in shown
    whole = json.loads(program("threads", "show", id_, "--json").out)
    assert [turn["question"] for turn in whole["turns"]] == [RENT, FOLLOW_UP, DOGS]
    keep_to_the_contract(whole["turns"][0]["result"])
    assert program("threads", "rename", id_, "A", "lease").out == "renamed: A lease\n"
    for name in ("lease.md", "lease.json", "lease.html"):
        assert program("threads", "export", id_, name).code == 0
        assert ANSWER in (program.folder / name).read_text()
        assert (program.folder / name).stat().st_mode & 0o077 == 0
    for wrong, said in (("lease.md", "is there already"), ("lease.txt", "ends in .md, .json or .html")):
        refused = program("threads", "export", id_, wrong)
        assert (refused.code, said in refused.err) == (2, True)
    assert program("threads", "delete", id_).out == "deleted: A lease\n"
    assert kept.list() == []


def test_an_id_that_is_none_or_several_is_told(program: Program, kept: Threads) -> None:
    first = kept.create(title="One").id
    while not (second := kept.create(title="Two").id).startswith(first[0]):
        kept.delete(second)
    for word, said in ((first[0], "2 threads have an id that begins with"), ("", "no thread"), ("z", "no")):
        refused = program("threads", "show", word)
        assert (refused.code, said in refused.err) == (2, True)
    assert program("threads", "show", second).code == 0
