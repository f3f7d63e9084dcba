"""Whatever others write, by whatever way it is printed: no line is forged, and nothing hidden reaches a terminal."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from app import cli
from app.cli import main
from app.commands import ask as ask_module
from app.commands.index import listing, sync_and_report, verify_library
from app.libraries import report_sync
from app.results.events import DraftToken, Finished, NodeFinished
from app.results.result import result_of
from app.terminal.inventory import left_out_lines
from app.terminal.progress import print_table
from app.terminal.screen import Screen, print_error
from app.terminal.show import show
from app.terminal.trace import Trace
from core.errors import ModelError, RequestError
from core.step_wording import describe
from nodes.finish import disagreement
from retrieval.filters import Filter
from retrieval.sync_report import Advance, Failure, Skipped, Source, SyncReport, VerifyReport
from tests.scripted import verdict
from tests.unit.app.commands.test_index import Shelf
from tests.unit.app.terminal.screens import screen_of
from tests.unit.app.terminal.test_screen import code

FORGED = "[2] real.pdf “forged”"
BREAKS = (
    "\n  ",
    "\r\n  ",
    "\r",
    "\x0b",
    "\x0c",
    "\x1e",
    "\x85",
    "\u2028",
    "\u2029",
    *(200 * one for one in " \t\u2800"),
)
HOSTILE = [
    *(f"a.txt{between}{FORGED}" for between in BREAKS),
    "a\x1b[2Jb\x1b]0;title\x07\x1b]8;;http://other.example\x1b\\link",
    "a\x9b2Jb\x9d0;title\x9c",
    "a\x00\x07\x08\x7fb",
    "a\u202etxt.exe\u202c \u2066b\u2069 \u061c\u200e\u200f",
    "a\u200b\u2060\ufeff\xad\U000e0041b",
    "a\udc9b2Jb\udcffc",
]
HARMLESS = "harmless.txt"
SHOWN_AS_IS = ":smile: [bold]a [link=http:other.example]b"


def shelf_of(said: str) -> Shelf:
    """A library whose every word is hostile."""
    path = Path("/d") / said.replace("\x00", "").replace("/", ":")
    left = [Skipped(path, said)]
    return Shelf(
        held=[Source(path, "indexed", 3, ""), Source(path, "failed", 0, said, said)],
        left=left,
        report=SyncReport(failed=[Failure(path, said)], skipped=left, notes=[said]),
        found=VerifyReport(3, 2, repairs=[said], problems=[said]),
        elsewhere={path: said},
        patterns={said: 0},
        path=path,
    )


def decided(*, explain: bool = False, **what: Any) -> Callable[[str], None]:
    """Print the trace of a node whose decision holds the hostile text wherever ``HARMLESS`` stands."""

    def way(said: str) -> None:
        node = what["node"]
        filled = json.loads(json.dumps(what["decided"]).replace(json.dumps(HARMLESS)[1:-1], json.dumps(said)[1:-1]))
        within = Filter(sources=(said,)) if node == "retrieve" else None
        with Trace(Screen(), within, explain=explain) as trace:
            trace.show(NodeFinished(node, 0.1, filled))

    return way


def ended(**changes: Callable[[str], Any]) -> Callable[[str], None]:
    return lambda said: show(
        {**code(), "answer": "Blue.", **{key: made(said) for key, made in changes.items()}}, Screen()
    )


def cited(said: str, **changes: Any) -> list[dict[str, Any]]:
    return [{**code()["citations"][0], **changes}]


def conflicting(said: str) -> None:
    """Show an answer with what another document says."""
    conflicts: Any = [{"answer": said, "citations": [1]}]
    Screen().text(disagreement(conflicts, cast("Any", cited(said, source=f"/docs/{said}")), numbers=True))


def failing(error: Callable[[str], Exception]) -> Callable[[str], None]:
    """Run a command that fails so."""

    def way(said: str) -> None:
        def fail(_: object) -> int:
            raise error(said)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cli, "_command", lambda name: fail)
            assert main(["why"]) in (1, 2, 3)

    return way


def shelved(told: Callable[[Any, Screen], object]) -> Callable[[str], None]:
    return lambda said: (told(shelf_of(said), Screen()), None)[1]


def refused(*words: str) -> Callable[[str], None]:
    """Run the words, in which ``HARMLESS`` becomes the hostile text; one with a space would be no option."""

    def way(said: str) -> None:
        said = said.replace("\x00", "").replace(" ", "_")
        assert main([word.replace(HARMLESS, said) for word in words]) == 2

    return way


def downloading(said: str, screen: Screen) -> None:
    with screen.downloads() as progress:
        progress(said, 1, 10)


VERDICT = verdict("relevant", {"relevant": 0.9, "irrelevant": 0.1}, HARMLESS)
WAYS: dict[str, Callable[[str], None]] = {
    "source of a citation": ended(citations=lambda said: cited(said, source=f"/docs/{said}")),
    "quote of a citation": ended(citations=lambda said: cited(said, quote=said)),
    "heading of a citation": ended(citations=lambda said: cited(said, heading=said)),
    "conflict": conflicting,
    "outcome": ended(outcome=lambda said: said),
    "reason for stopping": ended(stop_reason=lambda said: said),
    "route": decided(node="decide", decided={"route": HARMLESS, "verdict": VERDICT}),
    "reason of a claim": decided(
        explain=True, node="hallucination_check", decided={"claims": [{"text": HARMLESS, "verdict": VERDICT}]}
    ),
    "grade": decided(
        node="grade_documents",
        decided={"relevant": 1, "grades": [{"source": HARMLESS, "page": 3, "row": None, "verdict": VERDICT}]},
    ),
    "query": decided(node="retrieve", decided={"retrieved": 3, "query": HARMLESS}),
    "draft": decided(node="generate", decided={"declined": False, "redraft": False, "text": HARMLESS}),
    "claim": decided(node="hallucination_check", decided={"claims": [{"text": HARMLESS, "verdict": VERDICT}]}),
    "server's error": decided(node="generate", decided={"stop": "model_failed", "failure": HARMLESS}),
    "note": lambda said: Screen().note(said),
    "remark": lambda said: Screen().remark(said, indent="  "),
    "line": lambda said: Screen().line(said, ("{:>8}", said, "bold")),
    "result": lambda said: Screen().result(said),
    "error": print_error,
    "wrong request": failing(RequestError),
    "failed model": failing(ModelError),
    "bug": failing(LookupError),
    "download": lambda said: downloading(said, Screen()),
    "sync": shelved(sync_and_report),
    "list": shelved(listing),
    "verification": shelved(verify_library),
    "notes of a sync": shelved(lambda shelf, screen: report_sync(shelf.report, screen)),
    "what was left out": shelved(
        lambda shelf, screen: [screen.remark(line) for line in left_out_lines(shelf.held, shelf.left)]
    ),
    "table": lambda said: print_table([["", said], [said, "0.5"]], Screen()),
    "unknown option": refused("why", f"--{HARMLESS}"),
    "unknown value": refused("why", "--mode", HARMLESS),
    "documents": refused("why", "--docs", HARMLESS),
    "picture": refused("graph", "--output", HARMLESS),
}


def hidden(text: str) -> list[str]:
    """Its characters that have no shape, but for the ends of lines."""
    return [one for one in text if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") and one != "\n"]


@pytest.mark.parametrize("way", WAYS)
def test_nobody_elses_words_forge_a_line_or_steer_the_terminal(
    way: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    WAYS[way](HARMLESS)
    lines = len("".join(capsys.readouterr()).splitlines())
    for said in HOSTILE:
        WAYS[way](said)
        printed = "".join(capsys.readouterr())
        assert len(printed.splitlines()) == lines, printed
        assert hidden(printed) == []
        # After so many spaces the rest of the line would stand at the beginning of the next.
        assert not re.search(f"a.txt {{3,}}{re.escape(FORGED)}", printed)
    WAYS[way](SHOWN_AS_IS)
    printed = "".join(capsys.readouterr())
    assert SHOWN_AS_IS in printed.replace("_", " ")
    assert "\x1b" not in printed


def indexing(said: str, screen: Screen) -> None:
    with screen.working("indexing", "files") as advance:
        advance(Advance(3, 10, 4, 1.0, shelf_of(said).path, 2.0))


def tracing(said: str, screen: Screen) -> None:
    with Trace(screen, explain=True) as trace:
        trace.show(NodeFinished("generate", 0.1, {"declined": False, "redraft": False, "text": said}))
        trace.show(NodeFinished("answer_check", 0.1, {"usefulness": [verdict("5", None, said)]}))


def writing(said: str, screen: Screen) -> None:
    with Trace(screen) as trace:
        for part in (said[:7], said[7:]):
            trace.show(DraftToken(part))


ON_TERMINAL: dict[str, Callable[[str, Screen], object]] = {
    "bar of an indexing": indexing,
    "bar of a download": downloading,
    "trace below a spinner": tracing,
    "draft as it is written": writing,
    "framed table": lambda said, screen: print_table([["", said], [said, "0.5"]], screen),
    "citation": lambda said, screen: show({**code(), "citations": cited(said, source=said)}, screen),
    "note": lambda said, screen: screen.note(said),
}


@pytest.mark.parametrize("way", ON_TERMINAL)
def test_nor_do_they_on_a_terminal(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(said: str) -> str:
        ON_TERMINAL[way](said, screen_of())
        shown = "".join(capsys.readouterr())
        # What rich itself says to a terminal; none of the hostile texts hides among it.
        assert not re.search(r"\x1b\[2J|\x1b\]|\x07", shown)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r", "")

    lines = len(printed(HARMLESS).splitlines())
    for said in HOSTILE:
        shown = printed(said)
        assert len(shown.splitlines()) == lines, shown
        assert hidden(shown) == []
    assert SHOWN_AS_IS in printed(SHOWN_AS_IS)


@pytest.mark.parametrize("said", HOSTILE)
def test_an_answer_has_its_lines_and_nothing_hidden(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = f"One:\n\t{said}"
    show({**code(), "answer": answer}, Screen(quiet=True))
    out = capsys.readouterr().out
    assert out.startswith("One:\n\ta")
    assert set(hidden(out)) <= {"\t"}


@pytest.mark.parametrize("said", HOSTILE)
def test_a_traceback_steers_no_terminal(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "_command", lambda name: lambda options: (_ for _ in ()).throw(RequestError(said)))
        assert main(["why", "--debug"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert set(hidden(err)) <= {"\t"}


@pytest.mark.parametrize("said", HOSTILE)
def test_what_a_node_decided_is_one_line_for_whoever_prints_it(said: str) -> None:
    words = describe("decide", {"route": "retrieve", "verdict": verdict("retrieve", None, said)})
    assert len(words.splitlines()) == 1
    assert hidden(words) == []


@pytest.mark.parametrize("said", [*HOSTILE, "half \ud800"])
def test_json_escapes_what_is_hidden_and_parses_to_the_very_same(
    said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = {**code(source=said), "answer": said, "question": said, "outcome": "grounded"}
    place = {"passage": f"{said}. alpha", "quote": said, "start": 0, "end": len(said)}
    state["citations"] = [{**state["citations"][0], **place}]
    finished = Finished(result_of(state), state)  # type: ignore[arg-type]
    monkeypatch.setattr(ask_module, "answer", lambda *_: finished)
    assert main(["why", "--json"]) == 0
    out = capsys.readouterr().out
    assert hidden(out) == []
    result = json.loads(out)
    assert result == json.loads(json.dumps(finished.result.model_dump(mode="json")))
    assert result["answer"] == said
    (citation,) = result["citations"]
    assert citation["passage"][citation["start"] : citation["end"]] == citation["quote"] == said
