"""``eval`` in this process, over scripted models."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app import compose, libraries
from app.cli import parse
from app.evaluate import add_options, evaluate
from errors import ModelError, RequestError
from evaluation import judge, metrics
from evaluation.judgements import Judgements
from evaluation.records import Record, System
from graph.context import Context, Services
from tests.scripted import ScriptedCritic, ScriptedGenerator, services
from tests.unit.evaluation.records import Scripted
from tests.unit.retrieval.fakes import BagOfWords

ROWS = [
    {"id": "alpha", "question": "Is alpha a letter?", "answer": "Alpha is a letter."},
    {"id": "omega", "question": "Is omega a dog?", "answerable": False},
]


@pytest.fixture
def writer() -> ScriptedGenerator:
    return ScriptedGenerator(forever=lambda name, turn: "Alpha is a letter.")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: ScriptedGenerator) -> Path:
    """A working folder with a document and questions; models that say one thing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SELFRAG_CHAT_MODEL", "scripted")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "letters.txt").write_text("Alpha is a letter.")
    (tmp_path / "letters.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    critic = ScriptedCritic(
        otherwise={"retrieve": "retrieve", "relevance": "relevant", "support": "fully supported", "usefulness": "5"}
    )
    monkeypatch.setattr(libraries, "embeddings_of", lambda *_: (BagOfWords(), "words"))
    monkeypatch.setattr(
        compose, "services_of", lambda settings, retriever, progress: services(writer, critic, retriever)
    )
    return tmp_path


def options(*words: str) -> argparse.Namespace:
    return parse(["eval", "letters.jsonl", "--docs", "docs", *words])


def written(name: str = "letters") -> list[Record]:
    lines = (Path("eval") / name / "records.jsonl").read_text().splitlines()
    return [json.loads(line)["record"] for line in lines]


def test_the_defaults() -> None:
    given = parse(["eval", "letters.jsonl"])
    assert (given.command, given.dataset, given.systems) == ("eval", Path("letters.jsonl"), ("self-rag", "plain"))
    assert (given.docs, given.variant, given.paragraphs, given.most, given.seed) == (None, [], None, None, None)
    assert (given.balanced, given.judge, given.out, given.concurrency) == (False, False, None, None)


def test_every_option() -> None:
    words = "s.json --docs a --docs b --systems plain,closed-book --variant w:k=8 --variant x:k=1 --paragraphs 25-48"
    more = "--most 9 --balanced --seed 3 --out here --concurrency 2 --judge --quiet"
    given = parse(["eval", *words.split(), *more.split()])
    assert given.docs == [Path("a"), Path("b")]
    assert (given.systems, given.variant) == (("plain", "closed-book"), ["w:k=8", "x:k=1"])
    assert (given.paragraphs, given.most, given.seed, given.concurrency) == ((25, 48), 9, 3, 2)
    assert (given.balanced, given.judge, given.out, given.quiet) == (True, True, Path("here"), True)


def test_the_options_serve_other_commands() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    assert parser.parse_args(["letters.jsonl", "--paragraphs", "7"]).paragraphs == (7, 7)


def test_the_table_goes_to_stdout_and_all_else_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate(options()) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split() == ["self-rag", "plain"]
    assert "4 of 4 answers" in err
    assert "written into eval/letters: records.jsonl, report.html" in err
    assert sorted(record["system"] for record in written()) == ["plain", "plain", "self-rag", "self-rag"]
    assert all((Path("eval") / "letters" / name).is_file() for name in ("report.html", "records.csv", "metrics.csv"))


def test_extra_systems_are_compared_too(capsys: pytest.CaptureFixture[str]) -> None:
    given: list[tuple[Services, Context]] = []
    peer = Scripted("peer")

    def extra(made: Services, context: Context) -> list[System]:
        given.append((made, context))
        return [peer]

    assert evaluate(options("--systems", "plain"), extra) == 0
    assert given[0][1] == Context()
    assert capsys.readouterr().out.splitlines()[0].split() == ["plain", "peer"]
    evaluate(options("--systems", "plain"), extra)
    assert peer.asked == ["alpha", "omega"]
    (Path("docs") / "more.txt").write_text("Beta is a letter.")
    evaluate(options("--systems", "plain"), extra)
    assert peer.asked == ["alpha", "omega"] * 2


def test_an_extra_system_has_its_own_name() -> None:
    with pytest.raises(RequestError, match="Two systems are named plain"):
        evaluate(options(), lambda *_: [Scripted("plain")])


@pytest.mark.parametrize("setting", ["SELFRAG_CHAT_MODEL", "SELFRAG_CRITIC_MODEL"])
def test_another_model_is_asked_anew(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SELFRAG_CRITIC_MODEL", "critic")
    evaluate(options("--systems", "plain"))
    monkeypatch.setenv(setting, "other")
    evaluate(options("--systems", "plain"))
    evaluate(options("--systems", "plain"))
    assert len(written()) == 4


def test_a_draw_and_another_folder(folder: Path) -> None:
    evaluate(options("--systems", "plain", "--most", "1", "--out", "here"))
    assert len((folder / "here" / "records.jsonl").read_text().splitlines()) == 1
    assert not (folder / "eval").exists()


def test_the_judge_reads_the_records_and_its_judgements_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []
    judged = Judgements(faithfulness={("plain", "alpha"): 0.5})

    async def judge_records(
        made: Services, embed: Any, examples: Any, records: Any, path: Path, tell: Any, **_: Any
    ) -> Any:
        heard.append((embed(["alpha"]), [example.id for example in examples], len(records), path))
        tell(1, 1)
        return judged

    summarise = metrics.summarise

    def summarised(*given: Any, judgements: Judgements | None) -> Any:
        heard.append(judgements)
        return summarise(*given, judgements=judgements)

    monkeypatch.setattr(judge, "judge_records", judge_records)
    monkeypatch.setattr(metrics, "summarise", summarised)
    evaluate(options("--judge"))
    assert heard[0] == (
        BagOfWords().embed_documents(["alpha"]),
        ["alpha", "omega"],
        4,
        Path("eval/letters/judgements.jsonl"),
    )
    assert heard[1] is judged
    evaluate(options())
    assert heard[2] is None


def test_a_model_that_is_gone_is_one_sentence(writer: ScriptedGenerator, capsys: pytest.CaptureFixture[str]) -> None:
    writer.drafts = [ModelError("Gone.")] * 4
    with pytest.raises(ModelError, match=r"^(No question was answered: )?Gone\.$"):
        evaluate(options("--concurrency", "1"))
    assert capsys.readouterr().out == ""
    writer.drafts = []
    assert evaluate(options()) == 0


def test_wrong_variants_are_refused_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "services_of", None)
    monkeypatch.setattr(libraries, "embeddings_of", None)
    with pytest.raises(RequestError, match="wide sets heat"):
        evaluate(options("--variant", "wide:heat=1"))


def test_damaged_lines_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(options("--systems", "plain"))
    path = Path("eval/letters/records.jsonl")
    path.write_text("oops\n" + path.read_text())
    capsys.readouterr()
    evaluate(options("--systems", "plain"))
    assert "1 damaged lines" in capsys.readouterr().err.replace("\n", " ")


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; from app.cli import main; main(['eval', '--help']); print(*sys.modules)"
    root = Path(__file__).resolve().parents[3]
    ended = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    loaded = set(ended.stdout.splitlines()[-1].split())
    assert not loaded & {"langgraph", "langchain_core", "openai", "pydantic", "numpy", "faiss", "rich", "asyncio"}
