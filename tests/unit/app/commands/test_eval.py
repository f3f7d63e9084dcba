import argparse
import json
import os
import stat
from pathlib import Path

import pytest

from app import compose, libraries
from app.cli import main, parse_options
from app.commands.eval import evaluate
from app.results.stamp import HASH_LENGTH, bare_stamp
from app.settings import load_settings
from app.terminal.screen import Screen
from core.errors import RequestError
from evaluation.records import Record
from tests.scripted import ScriptedGenerator
from tests.unit.app.scripted_commands import enter_folder
from tests.unit.evaluation.sample_records import ScriptedSystem

ROWS = [
    {"id": "alpha", "question": "Is alpha a letter?", "answer": "Alpha is a letter."},
    {"id": "omega", "question": "Is omega a dog?", "answerable": False},
]


@pytest.fixture
def writer() -> ScriptedGenerator:
    return ScriptedGenerator(forever=lambda name, turn: "Alpha is a letter.")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: ScriptedGenerator) -> Path:
    """A working folder with a document and questions; models that say one thing; a report without its page."""
    enter_folder(tmp_path, monkeypatch, ROWS, writer, "fully supported")
    return tmp_path


def options(*words: str) -> argparse.Namespace:
    return parse_options(["eval", "letters.jsonl", "--docs", "docs", *words])


def written(name: str = "letters") -> list[Record]:
    lines = (Path("eval") / name / "records.jsonl").read_text().splitlines()
    return [json.loads(line)["record"] for line in lines]


def test_every_record_says_what_it_was_made_with(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluate(options())
    with libraries.open_docs([Path("docs")], load_settings(), Screen(quiet=True)) as library:
        library.sync()
        index = library.content_hash()[:HASH_LENGTH]
    named = {"chat_model": "scripted", "critic_model": "scripted", "embedding_model": "words", "index": index}
    for record in written():
        assert record["stamp"] == {**bare_stamp().model_dump(), **named}
        assert record["calibration"] is None
    monkeypatch.setenv("SELFRAG_CRITIC_MODEL", "embedded")
    monkeypatch.delenv("SELFRAG_MODEL_PATH", raising=False)
    evaluate(options("--systems", "plain", "--out", "other"))
    (line, _) = (Path("other") / "records.jsonl").read_text().splitlines()
    assert json.loads(line)["record"]["calibration"].startswith("embedded-")


def test_systems_are_refused_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RequestError, match="Two systems are named plain"):
        evaluate(options(), lambda *_: [ScriptedSystem("plain")])
    monkeypatch.setattr(libraries, "embeddings_of", None)
    for variant, said in (("wide:k=0", "The variant wide has a wrong k"), ("plain:k=1", "Two systems are named plain")):
        with pytest.raises(RequestError, match=said):
            evaluate(options("--variant", variant))


def test_another_model_server_search_or_document_is_asked_anew_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SELFRAG_CRITIC_MODEL", "critic")
    evaluate(options("--systems", "plain"))
    changes = {"SELFRAG_CHAT_MODEL": "other", "SELFRAG_CRITIC_MODEL": "other", "SELFRAG_SEARCH": "bm25"}
    for setting, value in {**changes, "OPENAI_BASE_URL": "http://me:secret-1@one/v1"}.items():
        monkeypatch.setenv(setting, value)
        evaluate(options("--systems", "plain"))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:secret-2@one/v1/")  # another password of the same server
    evaluate(options("--systems", "plain"))
    assert len(written()) == 10
    Path("docs/letters.txt").write_text("Alpha and omega are letters.")
    evaluate(options("--systems", "plain"))
    assert len(written()) == 12


def test_no_model_is_loaded_where_all_answers_are_there_and_damaged_lines_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate(options())
    first = capsys.readouterr().out
    path = Path("eval/letters/records.jsonl")
    path.write_text("oops\n" + path.read_text())
    monkeypatch.setattr(compose, "services_of", None)
    assert evaluate(options()) == 0
    out, err = capsys.readouterr()
    assert out == first
    assert "1 damaged lines" in err.replace("\n", " ")
    with pytest.raises(TypeError):
        evaluate(options("--variant", "one:k=1"))


def test_a_set_names_its_documents_and_docs_overrides_them(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "dogs.txt").write_text("Omega is a dog.")
    (folder / "sets").mkdir()
    (folder / "sets" / "own.jsonl").write_text(json.dumps({**ROWS[0], "docs": ["../docs"]}))
    for words, source in ([], "letters.txt"), (["--docs", "other"], "dogs.txt"):
        assert evaluate(parse_options(["eval", "sets/own.jsonl", "--systems", "plain", *words])) == 0
        assert [Path(seen["source"]).name for seen in written("own")[-1]["seen"]] == [source]


def test_a_set_that_names_missing_documents_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.jsonl").write_text(json.dumps({**ROWS[0], "docs": "none.pdf"}))
    assert main(["eval", "own.jsonl"]) == 2
    error = "error: none.pdf does not exist: check the documents that own.jsonl names, or give --docs.\n"
    assert capsys.readouterr().err == error


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def squad(folder: Path, paragraphs: int = 2) -> str:
    texts = [f"Letter {number} is a letter." for number in range(paragraphs)]
    question = {"question": "Is alpha a letter?", "id": "a", "answers": [{"text": "letter"}], "is_impossible": False}
    loaded = {"data": [{"paragraphs": [{"context": text, "qas": [question]} for text in texts]}]}
    (folder / "article.json").write_text(json.dumps(loaded))
    return "article.json"


def test_a_foreign_folder_is_refused_before_anything_is_loaded_and_left_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compose, "services_of", None)
    monkeypatch.setattr(libraries, "embeddings_of", None)
    foreign = folder / "foreign"
    (foreign / "documents").mkdir(parents=True)
    (foreign / "documents" / "paragraph-1.txt").write_text("Mine.")
    (foreign / "records.jsonl").write_text('{"question": "mine"}\na last line without an end')
    (foreign / "summary.json").symlink_to(folder / "docs" / "letters.txt")
    foreign.chmod(0o755)
    before = tree(folder)
    for words in (["letters.jsonl", "--docs", "docs"], [squad(folder)]):
        with pytest.raises(RequestError, match="foreign holds files that eval did not write: name a new folder"):
            evaluate(parse_options(["eval", *words, "--out", "foreign"]))
    (folder / "article.json").unlink()
    assert tree(folder) == before
    assert stat.S_IMODE(foreign.stat().st_mode) == 0o755


def test_results_are_not_written_among_the_documents_unless_they_are_left_out(folder: Path) -> None:
    assert main(["index", "."]) == 0
    for words in (["--docs", "."], []):
        with pytest.raises(RequestError, match=r"eval/letters lies in .*, whose files are documents: .*--out"):
            evaluate(parse_options(["eval", "letters.jsonl", *words]))
    assert not (folder / "eval").exists()
    assert main(["index", "--exclude", "eval"]) == 0
    assert evaluate(parse_options(["eval", "letters.jsonl", "--systems", "plain"])) == 0


def test_all_that_is_written_is_for_the_user_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        (folder / "eval" / "letters").mkdir(parents=True)
        evaluate(options("--systems", "plain"))
        (folder / "eval" / "letters" / "judgements.jsonl").touch()
        evaluate(options("--systems", "plain"))
        evaluate(parse_options(["eval", squad(folder), "--systems", "plain"]))
    finally:
        os.umask(before)
    written = list((folder / "eval").rglob("*"))
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in written} == {
        path.name: "0o700" if path.is_dir() else "0o600" for path in written
    }
    assert {"judgements.jsonl", "records.jsonl", "report.html", "paragraph-01.txt"} <= {path.name for path in written}


def test_a_set_with_a_strange_name_stays_below_eval(folder: Path) -> None:
    (folder / "work").mkdir()
    os.chdir(folder / "work")
    (folder / "...jsonl").write_text(json.dumps(ROWS[0]))
    assert evaluate(parse_options(["eval", "../...jsonl", "--docs", "../docs", "--systems", "plain"])) == 0
    assert [path.name for path in (folder / "work").iterdir()] == ["eval"]
    (results,) = (folder / "work" / "eval").iterdir()
    assert (results / "records.jsonl").is_file()


def test_a_wrong_set_leaves_no_folder(folder: Path) -> None:
    (folder / "bad.jsonl").write_text("{}")
    with pytest.raises(RequestError, match="question is missing"):
        evaluate(parse_options(["eval", "bad.jsonl", "--docs", "docs"]))
    with pytest.raises(RequestError, match="has no paragraphs to choose from"):
        evaluate(options("--paragraphs", "1-2"))
    assert not (folder / "eval").exists()


def test_a_set_whose_every_question_is_refused_is_a_wrong_request(folder: Path) -> None:
    (folder / "long.jsonl").write_text(json.dumps({"question": "x" * 9000}))
    with pytest.raises(RequestError, match=r"No question was answered: .*9,000 characters"):
        evaluate(parse_options(["eval", "long.jsonl", "--docs", "docs", "--systems", "self-rag"]))
