"""The contract of ``--json``: the keys of the design, all of them and no other, and their types."""

from __future__ import annotations

from numbers import Real
from typing import Any, get_args

from core.types import Outcome, StopReason

NODES = {
    "decide",
    "retrieve",
    "grade_documents",
    "rewrite_query",
    "generate",
    "hallucination_check",
    "answer_check",
    "direct_generate",
    "select",
    "finish",
}


def keep_to_the_contract(result: Any) -> None:
    """Raise AssertionError where ``result`` is not what DESIGN §4 says."""
    keys(
        result,
        "question answer outcome stop_reason queries decision retrieved relevant support usefulness claims "
        "citations path usage",
    )
    assert isinstance(result["question"], str)
    assert isinstance(result["answer"], str)
    assert result["answer"]
    assert result["outcome"] in get_args(Outcome)
    assert result["stop_reason"] in get_args(StopReason)
    assert result["queries"][0] == result["question"]
    assert all(isinstance(query, str) for query in result["queries"])
    if result["decision"] is not None:
        a_verdict(result["decision"])
    for name in ("retrieved", "relevant"):
        assert type(result[name]) is int
    assert 0 <= result["relevant"] <= result["retrieved"]
    for name, least in (("support", 0), ("usefulness", -1)):
        assert result[name] is None or (isinstance(result[name], Real) and least <= result[name] <= 1)
    for claim in result["claims"]:
        keys(claim, "text label probabilities reason citations")
        a_verdict({key: claim[key] for key in ("label", "probabilities", "reason")})
        assert isinstance(claim["text"], str)
        assert set(claim["citations"]) <= {citation["id"] for citation in result["citations"]}
    for number, citation in enumerate(result["citations"], 1):
        keys(citation, "id source page row passage quote start end")
        assert citation["id"] == number
        assert isinstance(citation["source"], str)
        assert all(citation[name] is None or type(citation[name]) is int for name in ("page", "row"))
        assert citation["passage"][citation["start"] : citation["end"]] == citation["quote"]
        assert citation["quote"]
    for step in result["path"]:
        assert step["node"] in NODES
        assert isinstance(step["seconds"], Real)
    assert result["path"][0]["node"] == "decide"
    assert result["path"][-1]["node"] == "finish"
    usage = result["usage"]
    keys(usage, "model_calls input_tokens cached_input_tokens output_tokens seconds estimated")
    assert all(type(usage[name]) is int for name in usage if name not in ("seconds", "estimated"))
    assert isinstance(usage["seconds"], Real)
    assert type(usage["estimated"]) is bool


def a_verdict(found: Any) -> None:
    keys(found, "label probabilities reason")
    assert isinstance(found["label"], str)
    assert found["reason"] is None or isinstance(found["reason"], str)
    if found["probabilities"] is not None:
        assert found["label"] in found["probabilities"]
        assert abs(sum(found["probabilities"].values()) - 1) < 1e-6


def keys(found: Any, names: str) -> None:
    assert isinstance(found, dict)
    assert set(found) == set(names.split())
