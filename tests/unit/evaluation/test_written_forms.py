import csv
import io
import json
from typing import Any

import pytest

from core.text import as_json
from evaluation.comparison.compared_set import ComparedSet
from evaluation.comparison.comparison import Comparison
from evaluation.comparison.written_forms import FORMS, as_csv, as_markdown
from evaluation.records import Example, Pair
from tests.unit.evaluation.sample_comparisons import comparison, opinions
from tests.unit.evaluation.sample_records import seen

HOSTILE = "</svg></script><script>alert(1)</script>\x1b[31m\u202eB ![x](http://e.vil) | `c`\n# Head\n- item"


def compared(*comparisons: Comparison, name: str | None = "colours", summed_up: Pair | None = None) -> ComparedSet:
    return ComparedSet(name, "gpt", comparisons, summed_up)


def hostile() -> ComparedSet:
    example = Example(id="e1", question=HOSTILE, references=(HOSTILE,))
    judged = opinions("plain", "plain", reason=HOSTILE)
    one = comparison(HOSTILE, HOSTILE + "!", example=example, judged=judged, seen=[seen(HOSTILE, 0.9, HOSTILE)])
    return compared(one, name=HOSTILE, summed_up=judged)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_holds_both_answers_the_passages_and_the_preference(form: str) -> None:
    text = FORMS[form](compared(comparison(judged=opinions("plain", "plain"))))
    for part in ("Why is the sky blue?", "air scatters light", "Air scatters light.", "Light is blue.", "Whales sing."):
        assert part in text
    assert "plain" in text
    assert "It says more." in text


@pytest.mark.parametrize("form", FORMS)
def test_no_form_runs_or_controls_anything(form: str) -> None:
    text = FORMS[form](hostile())
    assert "\x1b" not in text
    assert "\u202e" not in text
    if form != ".csv":
        assert "<script" not in text
        assert "</svg>" not in text


def test_markdown_has_no_heading_image_or_cell_of_an_answer() -> None:
    text = as_markdown(hostile())
    lines = text.splitlines()
    assert not any(line.startswith(("# Head", "- item")) for line in lines)
    assert "![x]" not in text
    assert next(line for line in lines if line.startswith("| Answer")).replace("\\|", "").count("|") == 4


def test_csv_has_a_row_for_each_question_and_no_formula() -> None:
    one = comparison("=HYPERLINK(1)", judged=opinions("self-rag", "plain"))
    rows = list(csv.DictReader(io.StringIO(as_csv(compared(one, comparison())))))
    assert len(rows) == 2
    assert rows[0]["self_rag_answer"] == "'=HYPERLINK(1)"
    assert rows[0]["plain_contexts"] == "Air scatters blue light.\n\nWhales sing."
    assert (rows[0]["preference"], rows[0]["reasons"]) == ("orders_disagree", "")
    assert (rows[0]["references"], rows[0]["self_rag_model_calls"]) == ("air scatters light", "2")


def test_json_holds_every_part() -> None:
    found = compared(comparison(judged=opinions("self-rag", "self-rag")), summed_up=opinions("self-rag", "plain"))
    data: dict[str, Any] = json.loads(as_json(found.as_json()))
    assert set(data) == {"set", "judge", "questions", "overall"}
    one = data["questions"][0]
    assert set(one) == {"id", "question", "references", "systems", "judged"}
    assert [side["system"] for side in one["systems"]] == ["self-rag", "plain"]
    ours = one["systems"][0]
    assert (ours["right"], ours["path"]) == (True, "decide→retrieve → grade 1/2 → generate")
    assert [passage["relevant"] for passage in ours["passages"]] == [True, False]
    assert one["judged"]["preference"] == one["judged"]["criteria"]["accuracy"] == "self-rag"
    assert len(one["judged"]["orders"]) == 2
    assert data["overall"]["model"]["text"] is None
    assert "its conclusion changed" in data["overall"]["model"]["left_out"]
    assert {figure["name"] for figure in data["overall"]["figures"]} >= {"Questions", "Answered", "Model calls"}
