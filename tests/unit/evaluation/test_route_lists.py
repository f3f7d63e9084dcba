from typing import Any

import pytest

from evaluation.reporting.routes import expected_routes, path_line, route_lists
from tests.unit.evaluation.sample_records import example, record

DECIDE = {"node": "decide", "route": "retrieve", "verdict": {"label": "retrieve"}}
GRADE = {"node": "grade_documents", "relevant": 2, "grades": [{}, {}, {}, {}]}


def claims(*labels: str) -> dict[str, Any]:
    return {"node": "hallucination_check", "claims": [{"verdict": {"label": label}} for label in labels]}


@pytest.mark.parametrize(
    ("decisions", "outcome", "line"),
    [
        (
            [DECIDE, {"node": "retrieve"}, GRADE, {"node": "generate"}, claims("fully supported"), {"node": "finish"}],
            "grounded",
            "decide→retrieve → grade 2/4 → generate → supported",
        ),
        ([{"node": "decide", "route": "direct"}, {"node": "direct_generate"}], "direct", "decide→direct → generate"),
        (
            [DECIDE, {**GRADE, "relevant": 0}, {"node": "rewrite_query", "query": "x"}, {**GRADE, "relevant": 0}],
            "abstained",
            "decide→retrieve → grade 0/4 → rewrite → grade 0/4 → abstained",
        ),
        (
            [{"node": "generate"}, claims("fully supported", "no support"), {"node": "generate", "redraft": True}],
            "partially_grounded",
            "generate → partly supported → redraft",
        ),
        ([{"node": "generate", "declined": True}, claims()], "abstained", "declines → abstained"),
        ([{"node": "answer_check", "usefulness": [{"label": "2"}]}], "grounded", "not useful"),
        ([{"node": "decide", "stop": "limit_calls"}], "stopped", "decide: limit_calls → stopped"),
        ([], "stopped", "stopped"),
        ([{"node": "grade_documents"}, {"seconds": 1}], "grounded", "grade 0/0 → step"),
    ],
)
def test_the_path_in_a_line(decisions: list[dict[str, Any]], outcome: str, line: str) -> None:
    assert path_line(record(decisions=decisions, outcome=outcome)) == line


def test_systems_that_decide_and_questions_with_a_route_are_listed_and_escaped_on_the_page() -> None:
    examples = [example("a", route="retrieve"), example("b", "</script><b>?", route="direct"), example("c")]
    records = [record(one.id, "self-rag", decisions=[DECIDE]) for one in examples]
    records += [record(one.id, "plain", decisions=[{"node": "generate"}]) for one in examples]
    found = expected_routes(examples, records)
    assert list(found) == ["self-rag"]
    assert [(line.question, line.mark) for line in found["self-rag"]] == [("Question a?", "✓"), ("</script><b>?", "✗")]
    html = "".join(route_lists(examples, records))
    assert "self-rag: 1 of 2 questions routed as expected" in html
    assert "&lt;/script&gt;&lt;b&gt;?" in html
    assert html.count("✓") == html.count("✗") == 1
