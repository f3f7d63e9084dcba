import sys
from pathlib import Path
from typing import Any

import pytest

from app.results.result import Result, Results, result_of
from app.terminal.screen import Screen
from app.terminal.show import first_search, numbered_answer, plain_tokens, show_costs
from core.errors import RequestError
from core.step_wording import describe
from nodes.finish import citations_of, mark_claims
from prompts.delimiters import delimited
from prompts.generate import PLAIN
from tests.integration.app.contract import keep_to_the_contract
from tests.scripted import candidate_of, claim, draft, explained_of, passage, state, verdict

STEPS = [
    {"node": "decide", "seconds": 0.1, "decided": {"route": "retrieve", "verdict": verdict("retrieve")}},
    {"node": "finish", "seconds": 0.1, "decided": {"outcome": "grounded", "stop_reason": "accepted"}},
]
KEPT = sorted((Path(__file__).parent / "kept").iterdir())  # results as earlier versions kept them, by their day


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_an_answer_that_an_earlier_version_kept_is_read(kept: Path) -> None:
    read = Result.model_validate_json(kept.read_text())
    assert (read.outcome, read.citations[0]["quote"]) == ("grounded", read.answer)
    assert "A run of Self-RAG: grounded" in read.picture().svg


def ended(best: Any, outcome: str, reason: str, **changes: Any) -> Any:
    return state(
        best=best,
        found=best["draft"]["passages"] if best else [],
        candidates=explained_of(best, outcome) if best else [],  # type: ignore[arg-type]
        outcome=outcome,
        stop_reason=reason,
        answer=mark_claims(best) if best else "No answer.",
        citations=citations_of(best) if best and outcome not in ("abstained", "stopped") else [],
        seconds=1.23456,
        path=STEPS,
        **changes,
    )


MIXED = candidate_of(
    draft("A. B. C.", ["alpha", "beta"]),
    [
        claim("A.", within="alpha"),
        claim("B.", "no support", within="alpha", reason="It says nothing."),
        claim("C.", "partially supported", within="beta"),
    ],
    support=0.5,
)
DIRECT = candidate_of(draft("4"))


@pytest.mark.parametrize(
    ("best", "outcome", "reason", "claims", "judged"),
    [
        (MIXED, "partially_grounded", "claims_unsupported", [[1], [], [2]], (0.5, "no", 1.0, 5)),
        (MIXED, "abstained", "claims_unsupported", [[], [], []], (0.5, "no", 1.0, 5)),
        (DIRECT, "direct", "not_needed", [], (None, None, 1.0, 5)),
        (DIRECT | {"use": verdict("unknown")}, "direct", "not_needed", [], (None, None, 1.0, None)),
        (None, "abstained", "nothing_relevant", [], (None, None, None, None)),
        (None, "stopped", "limit_calls", [], (None, None, None, None)),
    ],
)
def test_the_result_of_each_outcome_keeps_to_the_contract(
    best: Any, outcome: str, reason: str, claims: list[list[int]], judged: tuple[object, ...]
) -> None:
    result = result_of(ended(best, outcome, reason)).model_dump(mode="json")
    keep_to_the_contract(result)
    assert [one["citations"] for one in result["claims"]] == claims
    assert tuple(result[name] for name in ("support", "support_level", "usefulness", "usefulness_rating")) == judged
    assert result["used_retrieval"] == (outcome == "partially_grounded")
    assert result["usage"]["seconds"] == 1.235


def test_a_passage_is_shown_with_its_verdict_and_with_the_title_that_its_retriever_gave() -> None:
    found = [passage("a", page=3, title="Lease", similarity=0.5), passage("b")]
    ungraded, graded = state(found=found), state(found=found, verdicts={"b": verdict("relevant")})
    for begun, relevant in ((ungraded, None), (graded, verdict("relevant"))):
        first, second = result_of({**begun, "seconds": 1.0}).passages
        assert (first.title, first.heading, first.page, first.similarity) == ("Lease", None, 3, 0.5)
        assert (second.title, first.verdict, second.verdict) == (None, None, relevant)


def test_the_state_of_an_older_version_has_a_result() -> None:
    old = ended(MIXED, "partially_grounded", "claims_unsupported", passages=MIXED["draft"]["passages"])
    for key in ("found", "candidates", "conflicts", "standalone"):
        del old[key]
    result = result_of(old)
    assert ([one.id for one in result.passages], result.candidates) == (["alpha", "beta"], [])
    assert (result.conflicts, result.standalone) == ([], old["question"])


def test_the_costs_are_a_line_for_each_node(capsys: pytest.CaptureFixture[str]) -> None:
    turn = {"model_calls": 1, "input_tokens": 1200, "cached_input_tokens": 1000, "output_tokens": 30, "decided": {}}
    steps = [{"node": "generate", "seconds": 2.04, **turn}, STEPS[1], {"node": "generate", "seconds": 1.0, **turn}]
    usage = {**{name: 2 * spent for name, spent in turn.items() if name != "decided"}, "estimated": False}
    show_costs(result_of({**ended(MIXED, "grounded", "accepted"), "path": steps, "usage": usage}), Screen())
    out, err = capsys.readouterr()
    assert out == ""
    assert len({len(line) for line in err.splitlines()}) == 1
    assert [line.split() for line in err.splitlines()] == [
        ["phase", "calls", "read", "cached", "written", "seconds"],
        ["generate", "×2", "2", "2,400", "2,000", "60", "3.0"],
        ["finish", "0", "0", "0", "0", "0.1"],
        ["total", "2", "2,400", "2,000", "60", "1.2"],
    ]


def test_what_one_plain_call_would_read_is_estimated_from_the_first_search(capsys: pytest.CaptureFixture[str]) -> None:
    steps = [
        {"node": "retrieve", "seconds": 0.1, "decided": {"query": "A?", "retrieved": 2}},
        {"node": "retrieve", "seconds": 0.1, "decided": {"query": "B?", "retrieved": 1}},
    ]
    alpha, beta = MIXED["draft"]["passages"]
    found = [alpha, beta, {**beta, "id": "gamma", "text": "Found by the second search."}]
    question = "What <passage> is it?"
    result = result_of({**ended(MIXED, "grounded", "accepted"), "found": found, "standalone": question, "path": steps})
    assert [one.id for one in first_search(result)] == ["alpha", "beta"]
    system, asked = PLAIN.format_messages(passages=delimited([alpha, beta]), question="What (passage> is it?")
    tokens = sum(len(text.encode()) // 3 + 8 for text in (system.text, asked.text))
    assert plain_tokens(result.standalone, first_search(result)) == tokens
    show_costs(result, Screen())
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"One plain call over the 2 passages first found would read about {tokens:,} tokens (estimate)."


def test_results_are_a_table_with_a_row_for_each_question() -> None:
    best = {**MIXED, "draft": {**MIXED["draft"], "passages": MIXED["draft"]["passages"][::-1]}}
    mixed = ended(best, "partially_grounded", "claims_unsupported")
    mixed["found"] = MIXED["draft"]["passages"]
    withheld = ended(MIXED, "abstained", "claims_unsupported")
    frame = Results(map(result_of, [mixed, ended(DIRECT, "direct", "not_needed"), withheld])).to_pandas()
    alpha, beta = (one["text"] for one in MIXED["draft"]["passages"])
    assert list(frame["contexts"]) == [[beta, alpha], [], []]
    assert list(frame["quotes"]) == [[one["quote"] for one in mixed["citations"]], [], []]
    assert list(frame["outcome"]) == ["partially_grounded", "direct", "abstained"]
    assert list(frame["used_retrieval"]) == [True, False, False]
    assert list(frame["seconds"]) == [1.235] * 3


def test_no_results_are_a_table_of_no_rows() -> None:
    frame = Results().to_pandas()
    assert len(frame) == 0
    assert {"question", "answer", "outcome", "contexts", "model_calls", "seconds"} <= set(frame.columns)


def test_without_pandas_a_table_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        RequestError, match=r"^to_pandas\(\) needs pandas, which is not installed: pip install pandas\.$"
    ):
        Results().to_pandas()


def test_the_answer_is_numbered_behind_each_claim_that_holds() -> None:
    assert numbered_answer(ended(MIXED, "partially_grounded", "claims_unsupported")) == (
        "A. [1] B. [not supported by the documents] C. [2] [only partly supported by the documents]"
    )
    assert numbered_answer(ended(DIRECT, "direct", "not_needed")) == "4"


SUMS = verdict("direct", {"retrieve": 0.1, "direct": 0.9}, "It is sums.")
GRADE = {"source": "a/b.pdf", "page": 2, "row": None, "verdict": verdict("relevant")}
CHANGES = [
    {"removed": "blue.", "added": "red."},
    {"removed": "And so on.", "added": ""},
    {"removed": "", "added": "Why?"},
]
DIFFERING = [{"answer": one, "documents": 1} for one in ("85 pounds", "95\npounds")]


@pytest.mark.parametrize(
    ("node", "decided", "said"),
    [
        ("decide", {"route": "direct", "verdict": SUMS}, "direct  direct 0.90 (It is sums.)"),
        ("grade_documents", {"relevant": 1, "grades": [GRADE]}, "1 relevant: b.pdf p. 2 relevant"),
        ("retrieve", {"retrieved": 2, "query": "Why?", "narrowed": 0}, "2 passages for “Why?”"),
        (
            "retrieve",
            {"retrieved": 2, "query": "Why?", "named": ["a", "b", "c", "d"], "narrowed": 1},
            "2 passages for “Why?”, first in a, b, c, 1 only with the rows it names",
        ),
        ("rewrite_query", {"query": None, "description": "the head of it"}, "nothing names “the head of it”"),
        (
            "rewrite_query",
            {"query": "Where did Ida study?", "description": "the head of it", "name": "Ida"},
            "the head of it: Ida; “Where did Ida study?”",
        ),
        ("generate", {"declined": True, "redraft": False, "text": "I don't know."}, "the draft declines"),
        ("generate", {"declined": False, "redraft": False, "texts": ["Blue.", "Red."]}, "2 drafts: Blue. | Red."),
        ("generate", {"declined": False, "redraft": True, "text": None}, "redraft: the same as before"),
        (
            "generate",
            {"declined": False, "redraft": True, "text": "It is red.", "changes": CHANGES},
            "redraft: “red.” instead of “blue.”; without “And so on.”; with “Why?”",
        ),
        (
            "generate",
            {"declined": False, "redraft": True, "text": "12", "texts": ["12", "9"], "changes": CHANGES},
            "2 drafts: 12 | 9",
        ),
        ("compare_answers", {"asked": 2, "answers": []}, "no other answer in 2 documents"),
        ("compare_answers", {"asked": 1, "answers": DIFFERING}, "2 answers differ: “85 pounds” | “95 pounds”"),
        ("decide", {"stop": "model_failed", "failure": "Gone."}, "stopped: model_failed: Gone."),
    ],
)
def test_what_a_node_decided_in_a_few_words(node: str, decided: dict[str, Any], said: str) -> None:
    assert describe(node, decided) == said


def test_conflicts_are_in_the_result_and_numbered_on_the_terminal() -> None:
    conflicts = [{"answer": "A.", "citations": [1]}, {"answer": "C.", "citations": [2]}]
    final = ended(MIXED, "partially_grounded", "claims_unsupported", conflicts=conflicts)
    result = result_of(final).model_dump(mode="json")
    keep_to_the_contract(result)
    assert result["conflicts"] == conflicts
    assert numbered_answer(final).endswith("\n\nThe documents disagree:\n- A. (notes.txt [1])\n- C. (notes.txt [2])")
