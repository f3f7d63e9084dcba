"""``check`` through a model server: what it prints and writes, how it ends, and what it keeps."""

import io
import json
import sys
from pathlib import Path

import pytest

from app.checking.checked_text import CheckedText
from tests.command_line import Program
from tests.integration.openai_server import Asked, Fault, OpenAIServer, status
from tests.unit.retrieval.documents.pdfs import pdf

TRUE = "Dogs are allowed in the garden."
CHANGED = "The river of Paris is the Rhine."
DRAFT = f"# Notes\n\n{TRUE} {CHANGED} The roof is made of blue glass. Who pays?\n"


@pytest.fixture
def draft(program: Program) -> Path:
    path = program.folder / "draft.md"
    path.write_text(DRAFT)
    return path


def test_a_text_comes_back_with_its_marks(program: Program, docs: Path, draft: Path) -> None:
    ended = program("check", str(draft), "--docs", str(docs), "--output", "report.html")
    assert ended.code == 0
    assert f"{TRUE} [1] {CHANGED} [2] [contradicted by the documents] The roof" in ended.out
    assert "blue glass. [not supported by the documents] Who pays?" in ended.out
    assert "[2] rivers.csv row 1" in ended.out
    assert "3 claims: 1 fully supported, 1 no support, 1 contradicted, 1 no claim" in ended.err
    assert "<mark" in (program.folder / "report.html").read_text()


def test_json_is_the_checked_text(program: Program, docs: Path, draft: Path) -> None:
    ended = program("check", str(draft), "--docs", str(docs), "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert CheckedText.model_validate(found).model_dump(mode="json") == found
    true = found["claims"][0]
    assert (true["label"], found["citations"][true["citations"][0] - 1]["quote"]) == ("fully supported", TRUE)
    assert found["text"][true["start"] : true["end"]] == true["text"] == TRUE


@pytest.mark.parametrize(
    ("text", "code"), [(TRUE, 0), (f"{TRUE} {CHANGED}", 1), (f"{TRUE} The roof is made of blue glass.", 1), ("Why?", 0)]
)
def test_strict_fails_for_a_claim_that_does_not_hold(program: Program, docs: Path, text: str, code: int) -> None:
    (program.folder / "text.txt").write_text(text)
    assert program("check", "text.txt", "--docs", str(docs), "--strict").code == code


def test_what_was_checked_is_not_checked_again(program: Program, docs: Path, draft: Path, server: OpenAIServer) -> None:
    (draft).write_text(f"{TRUE} The tenant pays the monthly rent in advance.")

    def always(asked: Asked) -> Fault | None:
        return status(401, "no such key") if asked.kind == "support" and "rent" in asked.inputs["claim"] else None

    server.always = always
    failed = program("check", str(draft), "--docs", str(docs), "--concurrency", "1")
    assert failed.code == 3
    assert "1 of 2 claims are kept: the same command goes on from there." in failed.err
    server.always = lambda asked: None
    before = len(server.asked)
    assert program("check", str(draft), "--docs", str(docs)).code == 0
    assert [asked.inputs["claim"] for asked in server.asked[before:]] == [
        "The tenant pays the monthly rent in advance."
    ]
    again = program("check", str(draft), "--docs", str(docs))
    assert (again.code, len(server.asked)) == (0, before + 1)
    elsewhere = {"OPENAI_BASE_URL": server.base_url.replace("127.0.0.1", "localhost")}
    for changed in ({"SELFRAG_THRESHOLD_SUPPORTED": "0.99"}, {"SELFRAG_SEARCH": "bm25"}, elsewhere):
        before = len(server.asked)
        assert program("check", str(draft), "--docs", str(docs), environment=changed).code == 0
        assert len(server.asked) == before + 2, "another setting"
    (docs / "lease.md").write_text("Dogs are not allowed in the garden.")  # and now it must be checked anew
    assert "contradicted" in program("check", str(draft), "--docs", str(docs)).out


def test_a_claim_on_which_the_model_failed_is_checked_again(program: Program, docs: Path, server: OpenAIServer) -> None:
    (program.folder / "text.txt").write_text(TRUE)
    server.always = lambda asked: status(500, "overloaded") if asked.kind == "support" else None
    failed = program("check", "text.txt", "--docs", str(docs), "--strict")
    assert (failed.code, "[not checked against the documents]" in failed.out) == (1, True)
    server.always = lambda asked: None
    assert f"{TRUE} [1]" in program("check", "text.txt", "--docs", str(docs)).out


def test_a_pdf_and_standard_input(program: Program, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program.folder / "draft.pdf").write_bytes(pdf([TRUE]))
    assert f"{TRUE} [1]" in program("check", "draft.pdf", "--docs", str(docs)).out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{TRUE}\n".encode())))
    ended = program("check", "-", "--docs", str(docs))
    assert (ended.code, f"{TRUE} [1]" in ended.out) == (0, True), ended.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing.md",), "nothing.md does not exist: check the path of the text."),
        (("empty.md",), "is empty: put text into it"),
        (("draft.md", "--output", "report.pdf"), "name a file that ends in .html"),
        (("draft.md", "--output", "no/report.html"), "no/report.html cannot be written"),
        ((".",), "is not a regular file"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_a_sentence(
    program: Program, docs: Path, draft: Path, arguments: tuple[str, ...], said: str
) -> None:
    (program.folder / "empty.md").write_text("")
    ended = program("check", *arguments, "--docs", str(docs))
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1
