import csv
import io
import json

import pytest

from evaluation.measures.metrics import summarise
from evaluation.measures.summary import RAG
from evaluation.records import Judgements
from evaluation.reporting.tables import (
    escape_formula,
    format_value,
    metrics_csv,
    p_shown,
    rag_rows,
    records_csv,
    table_rows,
    tables_of,
)
from tests.unit.evaluation.sample_records import cost, example, record, seen

LABELLED = [example(str(number), answerable=True, references=("Turing",)) for number in (1, 2)]
READ = [
    record("1", "self-rag", answer="Turing", read=[seen("Turing")], cost=cost(4, 200)),
    record("2", "self-rag", answer="", outcome="abstained", read=[], cost=cost(2, 200)),
    record("1", "plain", read=[seen("Church"), seen("Turing")], cost=cost(1, 100)),
    record("2", "plain", read=[seen("Turing")], cost=cost(1, 100)),
]
JUDGED = Judgements(faithfulness={("self-rag", "1"): 1.0, ("plain", "1"): 0.5, ("plain", "2"): 0.0})


def test_values_have_the_digits_of_their_unit_and_differences_a_sign() -> None:
    assert format_value(0.12345, "share") == "0.12"
    assert format_value(12.345, "seconds") == "12.3"
    assert [format_value(value, "count") for value in (0, 5.25, 1234.5)] == ["0", "5.2", "1,234"]
    assert [format_value(value, "total") for value in (0, 12.0, 1234.0)] == ["0", "12", "1,234"]
    assert format_value(None, "share") == "–"
    assert [format_value(gap, "share", sign=True) for gap in (0.123, -0.123, -0.001)] == ["+0.12", "−0.12", "0.00"]
    assert [p_shown(p) for p in (None, 0.0001, 0.04567)] == ["–", "< 0.001", "0.046"]


def test_the_table_has_a_row_for_each_telling_metric_that_is_known() -> None:
    rows = table_rows(summarise(LABELLED, READ))
    assert rows[0] == ["", "self-rag", "plain"]
    assert {len(row) for row in rows} == {3}
    found = {row[0]: row[1:] for row in rows}
    assert found["F1"] == ["0.50 [0.00, 1.00]", "0.00 [0.00, 0.00]"]
    assert not {"Routing accuracy", "Failed"} & set(found)


def test_the_rag_metrics_have_a_column_for_the_paired_difference_and_its_number() -> None:
    rows = rag_rows(summarise(LABELLED, READ, JUDGED))
    assert rows[0] == ["RAG metrics", "self-rag", "plain", "self-rag − plain", "both read"]
    found = {row[0]: row[1:] for row in rows[1:]}
    assert len(found) == 5
    assert found["Context precision, as read"][2:] == ["+0.50 [+0.50, +0.50]", "1"]
    assert [cell.split(" ", 1)[0] for cell in found["Context precision, as read"][:2]] == ["1.00", "0.75"]
    assert [cell.rsplit(" n ")[-1] for cell in found["Faithfulness, judge"][:2]] == ["1", "2"]
    assert found["Answer relevancy, judge"] == ["–", "–", "–", "0"]


def test_without_labels_and_a_judge_there_are_no_rag_metrics() -> None:
    bare = [example("1"), example("2")]
    assert rag_rows(summarise(bare, READ)) == []
    assert [rows[0][0] for rows in tables_of(summarise(bare, READ))] == ["", "Cost, total"]


def test_a_row_of_the_records_has_what_was_read_and_every_rag_metric() -> None:
    asked = [example("1", answerable=True, references=("Turing",)), example("2", answerable=True, references=("x",))]
    texts = ["=Turing \u202e", 'Church, "1936"']
    made = [record("1", "plain", read=[seen(text) for text in texts]), record("2", "plain")]
    judged = Judgements(faithfulness={("plain", "1"): 0.5}, useful={("plain", "1"): [False, True]})
    one, two = csv.DictReader(io.StringIO(records_csv(asked, made, judged)))
    assert json.loads(one["contexts_read"]) == texts
    assert "\u202e" not in one["contexts_read"]
    assert {key: one[key] for key in RAG} == {
        "read_precision": "1.0",
        "read_precision_judge": "0.5",
        "read_gold": "0.5",
        "read_recall": "1.0",
        "read_recall_judge": "",
        "faithfulness": "0.5",
        "relevancy": "",
    }
    assert (two["contexts_read"], {two[key] for key in RAG}) == ("[]", {""})


def test_totals_and_ratios_are_in_the_file_of_metrics() -> None:
    rows = list(csv.DictReader(io.StringIO(metrics_csv(summarise(LABELLED, READ)))))
    found = {(row["system"], row["against"], row["metric"]): row for row in rows}
    assert found["self-rag", "", "input_tokens_total"]["value"] == "400.0"
    ratio = found["self-rag", "plain", "input_tokens_ratio"]
    assert (ratio["title"], ratio["value"], ratio["low"], ratio["n"]) == ("Input tokens, ratio", "2.0", "2.0", "2")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "\r=1", "＝1", "\n=1"])
def test_text_that_a_spreadsheet_would_run_is_guarded_and_other_cells_stay(text: str) -> None:
    assert escape_formula(text) == "'" + text
    for cell in (f"a{text}", "", -1.5, 3, None):
        assert escape_formula(cell) == cell


def test_the_files_hide_nothing_and_their_formulas_are_guarded_behind_what_is_hidden() -> None:
    asked = [example("1", "\u200b=1+1?\x1b[2J", answerable=True), example("2", answerable=False)]
    said = [
        record("1", "a\u202eb\n| c |", answer="\ufeff@SUM(A1)\x9b2J"),
        record("2", "a\u202eb\n| c |", answer="\x00-1"),
    ]
    summary = summarise(asked, said)
    (one, two) = csv.DictReader(io.StringIO(records_csv(asked, said)))
    assert (one["question"], one["answer"], two["answer"]) == ("'=1+1?", "'@SUM(A1)2J", "'-1")
    assert not set("\u200b\u202e\ufeff\x00\x1b\x9b") & set(metrics_csv(summary))


def test_there_is_a_row_for_each_system_and_example() -> None:
    rows = list(csv.DictReader(io.StringIO(records_csv(LABELLED, READ))))
    assert [(row["system"], row["example"]) for row in rows] == [(one["system"], one["example"]) for one in READ]
    assert (rows[0]["right"], rows[0]["f1"], rows[0]["abstained"]) == ("true", "1.0", "false")
    assert (rows[1]["f1"], rows[1]["abstained"], rows[1]["uncached_input_tokens"]) == ("0.0", "true", "160")
