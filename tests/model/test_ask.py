"""Questions to the embedded model about the sample library: grounded, direct, abstained."""

from __future__ import annotations

import json
from typing import Any

from tests.command_line import Program


def ask(program: Program, question: str, **environment: str) -> dict[str, Any]:
    ended = program(question, "--docs", "data/library", "--json", environment=environment)
    assert ended.code == 0, ended.err
    result: dict[str, Any] = json.loads(ended.out)
    return result


def test_a_question_that_the_library_answers_is_grounded_in_a_quote(sample: Program) -> None:
    result = ask(sample, "What is the molecular weight of aspirin?")
    assert result["outcome"] == "grounded"
    assert "180.16" in result["answer"]
    assert any("180.16" in citation["quote"] for citation in result["citations"])
    assert all(one["passage"][one["start"] : one["end"]] == one["quote"] for one in result["citations"])
    assert result["citations"][0]["source"].endswith("medicines.csv")
    assert result["citations"][0]["row"]
    assert result["decision"]["reason"].startswith("A passage comes near to the question")
    assert all(claim["probabilities"] for claim in result["claims"])


def test_arithmetic_is_answered_without_a_search(sample: Program) -> None:
    result = ask(sample, "What is 2 + 2?")
    assert (result["outcome"], result["stop_reason"], result["retrieved"]) == ("direct", "not_needed", 0)
    assert "4" in result["answer"]
    assert result["decision"]["probabilities"]


def test_what_the_library_does_not_say_is_not_answered_nor_searched_for_again(sample: Program) -> None:
    result = ask(sample, "how did harry beat quirrell?")
    assert result["outcome"] == "abstained"
    assert result["citations"] == []
    assert "do not answer" in result["answer"]
    assert len(result["queries"]) == 1, "searched again for what the first verdicts make unlikely"


def test_a_summary_is_written_segment_by_segment_each_sentence_with_its_quote(sample: Program) -> None:
    result = ask(sample, "Give me an overview of the effects of climate change on oceans", SELFRAG_LIMIT_SEGMENTS="2")
    assert (result["length"], result["outcome"]) == ("long", "grounded")
    segments = [one for step in result["path"] if step["node"] == "select" for one in step["segments"]]
    assert result["answer"].startswith(segments[0]["text"])
    assert len(segments) == 2
    assert len({citation["quote"] for citation in result["citations"]}) >= 3
    assert all(claim["citations"] for claim in result["claims"])
