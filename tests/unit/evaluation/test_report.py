import json
import re
import unicodedata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from core.markup import Html
from evaluation.measures.joined_rows import rows_of
from evaluation.measures.metrics import summarise
from evaluation.records import Dataset, Example, Gold, Judgements, Record
from evaluation.reporting import charts
from evaluation.reporting.failure_page import failure_kinds, failures
from evaluation.reporting.report import evaluation_report, write_report
from tests.unit.evaluation.sample_records import compared, example, record, said, seen

EVIL = "<script>alert('x')</script>"
GOLD = (Gold(source="a.md", text="Turing"),)
LABELLED: dict[str, Any] = {"answerable": True, "references": ("Turing",), "gold": GOLD}
LONG = f"Alan Mathison Turing {EVIL}"
WRONG = example("1", f"Who {EVIL}?", **{**LABELLED, "references": ("Turing", LONG)}, route="retrieve")
ANSWERED = example("2", answerable=False, plausible=(EVIL,))
SHY = example("3", **LABELLED)
MISQUOTED = example("4", **LABELLED)
FINE = example("5", **LABELLED, route="retrieve")
HOPELESS = example("6", answerable=False)
EXAMPLES = [WRONG, ANSWERED, SHY, MISQUOTED, FINE, HOPELESS]
QUOTE = {"quote": EVIL, "source": EVIL, "page": 1, "row": None}


def records(system: str = "self-rag") -> list[Record]:
    passage = seen(f"Church wrote {EVIL} & more", 0.6, source=EVIL)
    right = {"quote": "by Turing", "source": "a.md"}
    return [
        record(
            "1",
            system,
            answer=f"Church {EVIL}",
            route="direct",
            route_score=0.4,
            seen=[passage],
            said=[said(f"Church {EVIL}", 0.6, quote=EVIL)],
            citations=[QUOTE],
            decisions=[{"node": EVIL, "seconds": 0.5, "draft": EVIL}],
            queries=[EVIL],
            stop_reason=EVIL,
        ),
        record("2", system, answer="Church", said=[said("Church", 0.9)], confidence=0.3),
        record("3", system, answer="", outcome="abstained", confidence=None),
        record("4", system, answer="Turing", citations=[QUOTE], seen=[seen("Turing", 0.8)]),
        record("5", system, answer="Turing", route_score=0.9, citations=[right], said=[said("Turing", 0.8)]),
        record("6", system, answer="", outcome="abstained", confidence=None),
    ]


def write(folder: Path) -> list[Path]:
    systems = "self-rag", f"plain {EVIL}"
    everything = [one for system in systems for one in records(system)]
    judged = Judgements(pairs=[compared("1", *systems, systems[0], systems[0])], agreement=0.9)
    summary = summarise(EXAMPLES, everything, judged)
    return write_report(folder, Dataset(f"set {EVIL}", tuple(EXAMPLES)), EXAMPLES, everything, summary, judged)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write(tmp_path_factory.mktemp("reports") / "new" / "report")


@pytest.fixture
def shown(written: list[Path]) -> str:
    return (written[0].parent / "report.html").read_text("utf-8")


@pytest.fixture
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pictures, which take a second to draw."""
    for picture in ("overview", "calibration_charts", "risk_coverage_charts", "cost_quality", "relevance"):
        monkeypatch.setattr(charts, picture, lambda *_: Html(""))


def test_the_page_runs_and_fetches_nothing(shown: str) -> None:
    tags = BeautifulSoup(shown, "html.parser").find_all(True)
    names = {tag.name for tag in tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "foreignobject"}
    attributes = [(name, value) for tag in tags for name, value in tag.attrs.items()]
    assert not any(name.startswith("on") for name, _ in attributes)
    links = [str(value) for name, value in attributes if name in ("src", "href", "xlink:href", "srcset", "data")]
    assert links
    assert all(link.startswith("#") for link in links)
    assert not re.search(r"@import|url\((?!#)", shown)
    assert "default-src &#x27;none&#x27;" in shown
    for name in names - {"meta", "br", "hr"}:
        closed = len(re.findall(rf"<{name}\b[^>]*/>", shown)) + shown.count(f"</{name}>")
        assert len(re.findall(rf"<{name}\b", shown)) == closed, name


def test_text_of_documents_is_shown_as_text(shown: str) -> None:
    assert "<script" not in shown
    # Title and heading, question, references, answers, claims, quotes, sources, queries, reasons and the trace.
    assert shown.count("&lt;script&gt;") >= 20


def test_ids_are_unique_and_references_lead_somewhere(shown: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', shown)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', shown)) <= set(ids)


def test_each_failure_is_named_once_under_its_kind_with_what_there_is_to_read() -> None:
    found = rows_of(EXAMPLES, records())["self-rag"]
    kinds = {key: kinds for key, row in found.items() if (kinds := failure_kinds(row))}
    assert kinds == {"1": ["wrong", "misrouted"], "2": ["answered"], "3": ["abstained"], "4": ["misquoted"]}
    content = failures(EXAMPLES, records())
    for expected in ("Wrong answer (1)", "judged relevant 0.60", "not gold", "draft", "<mark>", "P(retrieve) 0.40"):
        assert expected in content
    assert content.count(SHY.question) == 1
    assert FINE.question not in content


def test_of_many_failures_the_first_are_shown_and_the_rest_counted() -> None:
    many = [Example(id=str(number), question=f"Question {number}?", answerable=False) for number in range(70)]
    content = failures(many, [record(str(number), answer="x") for number in range(70)])
    assert content.count('class="case"') == 60
    assert "10 more are in the records." in content


def test_a_report_is_five_files_and_the_same_each_time(written: list[Path]) -> None:
    folder = written[0].parent
    names = ["metrics.csv", "overview.svg", "records.csv", "report.html", "summary.json"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in written) == names
    assert json.loads((folder / "summary.json").read_text("utf-8"))["examples"] == 6
    once = [path.read_bytes() for path in written]
    assert [path.read_bytes() for path in write(folder)] == once


def test_a_report_hides_nothing_whatever_it_is_of(tmp_path: Path) -> None:
    evil = "a\x00\x1b[2J\x9b\u202eb\u2066\u061c\u200b\u2028\U000e0041\ud800\ufffe"
    system, asked = f"self-rag {evil}", [example("1", evil, answerable=True, references=("Turing",))]
    passage, trace = seen(evil, 0.6, source=evil), [{"node": evil, "seconds": 0.5, "draft": evil}]
    made = [record("1", system, answer=evil, seen=[passage], said=[said(evil, 0.6, quote=evil)], decisions=trace)]
    summary = summarise(asked, made)
    for path in write_report(tmp_path, Dataset(evil, tuple(asked)), asked, made, summary):
        content = path.read_bytes().decode()
        hidden = {one for one in content if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
        assert hidden <= {"\n"}, path.name
        assert "\ufffe" not in content, path.name
    assert json.loads((tmp_path / "summary.json").read_text("utf-8"))["systems"][0]["name"] == system
    assert "draft&quot;: &quot;a\\u0000\\u001b[2J\\u009b\\u202eb" in (tmp_path / "report.html").read_text("utf-8")
    picture = (tmp_path / "overview.svg").read_text("utf-8")
    assert "self-rag ab" in " ".join(ElementTree.fromstring(picture).itertext())  # noqa: S314


@pytest.mark.parametrize("examples", [[], [Example(id="1", question="?")]])
def test_a_report_of_next_to_nothing_is_written(tmp_path: Path, examples: list[Example]) -> None:
    everything = [record("1")]
    assert write_report(tmp_path, Dataset("none", ()), examples, everything, summarise(examples, everything))
    assert write_report(tmp_path, Dataset("none", ()), examples, [], summarise(examples, []))


@pytest.mark.usefixtures("_undrawn")
def test_the_page_says_when_it_wins_if_plain_was_asked_too() -> None:
    examples = [example("a", references=("the Seine",)), example("b", answerable=False)]
    ours = [record("a", "self-rag", answer="the Seine"), record("b", "self-rag", outcome="abstained", answer="")]
    plain = [record("a", "plain", answer="the Seine"), record("b", "plain", answer="the Rhine")]
    shown = evaluation_report("rivers", examples, [*ours, *plain], summarise(examples, [*ours, *plain]))
    assert "both are right on 1, self-rag alone on 1, plain alone on 0, neither on 0" in shown
    assert "When it wins" not in evaluation_report("rivers", examples, ours, summarise(examples, ours))


@pytest.mark.usefixtures("_undrawn")
def test_the_page_has_the_rag_metrics_the_costs_and_what_the_judge_left_open() -> None:
    examples = [example("a", answerable=True, references=("the Seine",))]
    made = [record("a", system, read=[seen("Paris lies on the Seine.")]) for system in ("self-rag", "plain")]
    pair = compared("a", "self-rag", "plain", None, None)
    judged = Judgements(pairs=[pair], asked=11, unanswered=2, reason=EVIL)
    text = re.sub(
        r"<[^>]+>", " ", evaluation_report("rivers", examples, made, summarise(examples, made, judged), judged)
    )
    for expected in (
        "both read",
        "self-rag ÷ plain",
        "Of 1 pairs of answers the judge prefers self-rag on 0 and plain on 0, a share of – for self-rag",
        "It gave no verdict on 2 of 11 questions.",
    ):
        assert expected in text
