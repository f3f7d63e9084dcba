import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from app.drawing.picture import SUFFIXES, Picture, graph_picture
from app.drawing.visits import Visits, wrapped
from app.options import require_output
from app.results.result import Result, ResultUsage
from core.errors import RequestError
from graph.builder import build_graph
from tests.scripted import services, verdict

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</svg><script>alert(1)</script>\x00\x1b[31m\u202e & ]]> \ud800"
Step = dict[str, Any]


def sure(label: str, probability: float | None) -> Any:
    return verdict(label, None if probability is None else {label: probability})


def step(node: str, **decided: Any) -> Step:
    return {"node": node, "seconds": 1.25, **decided}


def decide(**more: Any) -> Step:
    return step("decide", route="retrieve", verdict=sure("retrieve", 0.9), **more)


def retrieve(query: str = "Why?") -> Step:
    return step("retrieve", query=query, retrieved=2)


def grade(*labels: tuple[str, float | None]) -> Step:
    grades = [{"source": "a.txt", "page": None, "row": None, "verdict": sure(*label)} for label in labels]
    return step("grade_documents", relevant=1, grades=grades)


def generate(text: str = "A draft.") -> Step:
    return step("generate", drafts=1, failed=0, redraft=False, declined=False, text=text)


def check(*labels: tuple[str, float | None], text: str = "A claim.") -> Step:
    return step("hallucination_check", claims=[{"text": text, "verdict": sure(*label)} for label in labels])


USE, SELECT = step("answer_check", usefulness=[sure("4", 0.56)]), step("select", accepted=True)
FINISH = step("finish", outcome="grounded", stop_reason="accepted")
NO = ("irrelevant", 0.98)
REQUERY = [retrieve(), grade(NO), step("rewrite_query", query="Why not?")]
DRAFT = [generate(), check(("fully supported", 0.97)), USE, SELECT]
STRAIGHT = [decide(), retrieve(), grade(("relevant", 0.94), NO, ("irrelevant", 0.91)), *DRAFT, FINISH]
BOTH = [decide(), *REQUERY, retrieve(), grade(("relevant", 0.9)), *DRAFT, *DRAFT, FINISH]


def run(path: list[Step], question: str = "Why?", answer: str = "Because.", outcome: Any = "grounded") -> Result:
    usage = ResultUsage(
        model_calls=7, input_tokens=4124, cached_input_tokens=0, output_tokens=27, estimated=False, seconds=19.0
    )
    return Result.model_construct(
        question=question, answer=answer, outcome=outcome, stop_reason="accepted", path=path, usage=usage
    )


def parsed(picture: Picture) -> ElementTree.Element:
    return ElementTree.fromstring(picture.svg)  # noqa: S314 - our own


def groups(picture: Picture, attribute: str) -> dict[str, ElementTree.Element]:
    found = [element for element in parsed(picture).iter(f"{SVG}g") if attribute in element.attrib]
    assert len({element.attrib[attribute] for element in found}) == len(found)
    return {element.attrib[attribute]: element for element in found}


def shown_in(picture: Picture, node: str) -> list[str]:
    return [text.text or "" for text in groups(picture, "data-node")[node].iter(f"{SVG}text")]


def is_pale(element: ElementTree.Element) -> bool:
    return "pale" in "".join(part.attrib.get("class", "") for part in element)


@pytest.mark.parametrize("picture", [graph_picture(), run(BOTH).picture(), run([]).picture()])
def test_every_node_and_edge_of_the_compiled_graph_is_drawn_and_no_other(picture: Picture) -> None:
    compiled = build_graph(services()).get_graph()
    assert set(groups(picture, "data-node")) == set(compiled.nodes)
    assert set(groups(picture, "data-edge")) == {f"{edge.source} {edge.target}" for edge in compiled.edges}


@pytest.mark.parametrize("first", [0, 1])
def test_the_checks_of_a_draft_ran_side_by_side_whichever_ended_first(first: int) -> None:
    checks = [check(("no support", 0.9)), USE]
    edges = Visits.of([generate(), checks[first], checks[1 - first], SELECT]).edges
    assert edges == Counter(
        (one, other)
        for one, other in (
            ("generate", "hallucination_check"),
            ("generate", "answer_check"),
            ("hallucination_check", "select"),
            ("answer_check", "select"),
        )
    )


def test_both_loops_are_counted() -> None:
    path = [decide(), *REQUERY * 20, retrieve(), grade(("relevant", 0.9)), *DRAFT * 20, FINISH]
    picture = run(path).picture()
    edges = {name: element.attrib["data-count"] for name, element in groups(picture, "data-edge").items()}
    loops = ("rewrite_query retrieve", "select generate", "select rewrite_query")
    assert [edges[name] for name in loops] == ["20", "19", "0"]
    assert "20 times" in picture.svg
    assert "19 times" in picture.svg
    assert shown_in(picture, "rewrite_query")[:3] == ["rewrite_query ×20", "25.0 s", "… 18 earlier"]
    assert len(shown_in(picture, "rewrite_query")) <= 6


def test_a_node_has_its_verdicts_with_their_probabilities_its_seconds_and_its_cost() -> None:
    cost = {"model_calls": 3, "input_tokens": 1200, "cached_input_tokens": 900, "output_tokens": 4}
    path = [decide(**cost), retrieve(), grade(("relevant", 0.94), NO, ("irrelevant", None)), *DRAFT, FINISH]
    picture = run(path).picture()
    assert shown_in(picture, "decide") == ["decide", "1.2 s", "retrieve 0.90", "3 calls · 1,200 tokens read, 4 written"]
    assert shown_in(picture, "grade_documents")[2:] == ["relevant 0.94; irrelevant ×2"]
    assert shown_in(picture, "hallucination_check")[2:] == ["fully 0.97"]
    assert shown_in(picture, "answer_check")[2:] == ["usefulness 4 0.56"]
    assert "7 model calls · 4,124 tokens read, 27 written · 19.0 s" in picture.svg
    assert picture._repr_svg_() == picture.svg, "for notebooks"


def test_a_run_that_stopped_at_its_first_node_is_drawn() -> None:
    first = step("decide", stop="model_failed", failure=HOSTILE)
    picture = run([first, step("finish", outcome="stopped", stop_reason="model_failed")], outcome="stopped").picture()
    taken = {name for name, element in groups(picture, "data-edge").items() if not is_pale(element)}
    assert taken == {"__start__ decide", "decide finish", "finish __end__"}
    visited = {name for name, element in groups(picture, "data-node").items() if not is_pale(element)}
    assert visited == {"__start__", "decide", "finish", "__end__"}
    assert not any(is_pale(element) for element in groups(graph_picture(), "data-node").values())
    assert " ".join(shown_in(picture, "decide")[2:]).startswith("stopped: model_failed: </svg>")


def test_hostile_texts_stay_texts() -> None:
    path = [decide(), retrieve(HOSTILE), grade(NO), step("rewrite_query", query=HOSTILE), generate(HOSTILE)]
    path.append(check(("no support", 0.9), text=HOSTILE))
    picture = run(path, question=HOSTILE, answer=HOSTILE * 500).picture()
    assert {element.tag for element in parsed(picture).iter()} == {
        f"{SVG}{name}" for name in ("svg", "title", "style", "rect", "g", "path", "text")
    }
    assert not re.search("[\x00-\x08\x0e-\x1f\u202e\ud800]", picture.svg)
    assert "script" not in picture.mermaid
    assert picture.data(".png").startswith(b"\x89PNG")


@pytest.mark.parametrize("question", ["word " * 1600, "x" * 8000, "漢" * 8000])
def test_a_long_question_takes_two_lines(question: str) -> None:
    picture = run(STRAIGHT, question=question).picture()
    short = run(STRAIGHT).picture()
    assert len(picture.svg) < len(short.svg) + 1000
    lines = [text.text or "" for text in parsed(picture).iter(f"{SVG}text") if "question" in text.attrib["class"]]
    assert len(lines) == 2
    assert lines[1].endswith("…")
    assert wrapped("one two three", 60, 10, 2) == ["one two", "three"]


def test_a_picture_is_readable_on_light_and_dark_and_needs_nothing_else() -> None:
    for picture in (graph_picture(), run(BOTH).picture()):
        assert "prefers-color-scheme:dark" in picture.svg
        assert not re.search(r"url\(|href|@import|https?://(?!www\.w3\.org/2000/svg)", picture.svg)


def test_mermaid_of_a_run_has_the_counts_and_the_visited_nodes() -> None:
    lines = run(BOTH).picture().mermaid.splitlines()
    assert "\tselect == 1 ==> generate;" in lines
    assert "\tretrieve == 2 ==> grade_documents;" in lines
    assert "\tdecide -.-> finish;" in lines
    assert re.fullmatch(r"\tclass __start__,decide,.*,finish,__end__ visited;", lines[-1])
    assert "direct_generate" not in lines[-1]


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.mmd", b"graph TD;")])
def test_a_picture_of_a_run_is_private(tmp_path: Path, name: str, start: bytes) -> None:
    run(STRAIGHT).picture().save(tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link.svg").symlink_to("other.svg")
    (tmp_path / "folder.svg").mkdir()
    picture = graph_picture()
    for name in ("no folder/a.svg", "link.svg", "folder.svg", "a.gif"):
        for refuse in (picture.save, lambda path: require_output(path, *SUFFIXES)):
            with pytest.raises(RequestError, match=name.rpartition("/")[2]):
                refuse(tmp_path / name)
    require_output(tmp_path / "a.svg", *SUFFIXES)
    assert not (tmp_path / "a.svg").exists()
