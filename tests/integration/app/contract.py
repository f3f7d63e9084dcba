"""The contract of ``--json``: the keys of the design, all of them and no other, and their types."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any, get_args

from app.version import VERSION
from core.types import Outcome, StopReason

NODES = {
    "contextualize",
    "decide",
    "retrieve",
    "grade_documents",
    "rewrite_query",
    "generate",
    "hallucination_check",
    "answer_check",
    "direct_generate",
    "select",
    "compare_answers",
    "finish",
}
SPENT = ("model_calls", "input_tokens", "cached_input_tokens", "output_tokens")


def keep_to_the_contract(result: Any) -> None:
    """Raise AssertionError where ``result`` is not what DESIGN §4 says."""
    keys(
        result,
        "question standalone answer outcome stop_reason queries decision retrieved relevant support usefulness claims "
        "citations path usage used_retrieval support_level usefulness_rating confidence passages candidates stamp "
        "calibration conflicts",
    )
    assert isinstance(result["question"], str)
    assert isinstance(result["standalone"], str)
    assert isinstance(result["answer"], str)
    assert result["answer"]
    assert result["outcome"] in get_args(Outcome)
    assert result["stop_reason"] in get_args(StopReason)
    rewritten = any(step.get("rewritten") for step in result["path"])
    assert result["queries"][0] == result["standalone" if rewritten else "question"]
    assert all(isinstance(query, str) for query in result["queries"])
    if result["decision"] is not None:
        a_verdict(result["decision"])
    for name in ("retrieved", "relevant"):
        assert type(result[name]) is int
    assert 0 <= result["relevant"] <= result["retrieved"]
    for name, least in (("support", 0), ("usefulness", -1), ("confidence", 0)):
        assert result[name] is None or (isinstance(result[name], Real) and least <= result[name] <= 1)
    for claim in result["claims"]:
        keys(claim, "text label probabilities reason citations")
        a_verdict({key: claim[key] for key in ("label", "probabilities", "reason")})
        assert isinstance(claim["text"], str)
        assert set(claim["citations"]) <= {citation["id"] for citation in result["citations"]}
    for number, citation in enumerate(result["citations"], 1):
        keys(citation, "id source title heading page row passage quote start end date")
        assert citation["id"] == number
        assert citation["date"] is None or re.fullmatch(r"\d{4}-\d\d-\d\d", citation["date"])
        assert isinstance(citation["source"], str)
        assert all(citation[name] is None or type(citation[name]) is int for name in ("page", "row"))
        assert citation["passage"][citation["start"] : citation["end"]] == citation["quote"]
        assert citation["quote"]
    assert len(result["conflicts"]) != 1
    for conflict in result["conflicts"]:
        keys(conflict, "answer citations")
        assert isinstance(conflict["answer"], str)
        assert conflict["citations"]
        assert set(conflict["citations"]) <= {citation["id"] for citation in result["citations"]}
    assert result["used_retrieval"] is (result["outcome"] in ("grounded", "partially_grounded"))
    assert result["support_level"] == level_of(result["claims"])
    assert result["usefulness_rating"] in (None, 1, 2, 3, 4, 5)
    assert result["usefulness"] is not None or result["usefulness_rating"] is None
    a_list_of_passages(result["passages"])
    texts = {passage["id"]: passage["text"] for passage in result["passages"]}
    for candidate in result["candidates"]:
        a_candidate(candidate, texts)
    chosen = [candidate for candidate in result["candidates"] if candidate["chosen"]]
    assert len(chosen) == (result["outcome"] in ("grounded", "partially_grounded", "direct"))
    for candidate in chosen:
        assert [claim["text"] for claim in candidate["claims"]] == [claim["text"] for claim in result["claims"]]
        assert (candidate["support"], candidate["usefulness"]) == (result["support"], result["usefulness"])
    for step in result["path"]:
        assert {grade["id"] for grade in step.get("grades", [])} <= texts.keys()
        assert step["node"] in NODES
        if "texts" in step:
            assert step["text"] == (step["texts"][0] if step["texts"] else None)
            assert all(set(change) == {"removed", "added"} for change in step["changes"])
        assert isinstance(step["seconds"], Real)
        assert all(type(step[name]) is int and step[name] >= 0 for name in SPENT)
    assert result["path"][0]["node"] in ("contextualize", "decide")
    assert result["path"][-1]["node"] == "finish"
    keys(result["stamp"], "version chat_model critic_model embedding_model prompts index")
    assert all(result["stamp"][name] is None or isinstance(result["stamp"][name], str) for name in result["stamp"])
    assert result["stamp"]["version"] == VERSION
    for name in ("prompts", "index"):
        assert re.fullmatch("[0-9a-f]{12}", result["stamp"][name] or "0" * 12)
    assert result["stamp"]["prompts"]
    assert result["calibration"] is None or isinstance(result["calibration"], str)
    usage = result["usage"]
    keys(usage, "model_calls input_tokens cached_input_tokens output_tokens seconds estimated")
    assert all(type(usage[name]) is int for name in usage if name not in ("seconds", "estimated"))
    assert isinstance(usage["seconds"], Real)
    assert type(usage["estimated"]) is bool


def a_list_of_passages(passages: Any) -> None:
    assert len({passage["id"] for passage in passages}) == len(passages)
    for passage in passages:
        keys(passage, "id source title heading page row text similarity verdict")
        assert all(isinstance(passage[name], str) for name in ("id", "source", "text"))
        assert all(passage[name] is None or isinstance(passage[name], str) for name in ("title", "heading"))
        assert all(passage[name] is None or type(passage[name]) is int for name in ("page", "row"))
        assert passage["similarity"] is None or isinstance(passage["similarity"], Real)
        if passage["verdict"] is not None:
            a_verdict(passage["verdict"])


def a_candidate(candidate: Any, texts: dict[str, str]) -> None:
    """A candidate whose passages and quotes are of ``texts``, by id."""
    keys(candidate, "round text passages relevance support usefulness score claims chosen reason")
    assert type(candidate["round"]) is int
    assert candidate["round"] >= 1
    assert isinstance(candidate["text"], str)
    assert set(candidate["passages"]) <= texts.keys()
    assert (candidate["relevance"] is None) == (not candidate["passages"])
    assert (candidate["support"] is None) == (not candidate["claims"])
    assert candidate["usefulness"] is None or -1 <= candidate["usefulness"] <= 1
    assert isinstance(candidate["score"], Real)
    assert type(candidate["chosen"]) is bool
    assert candidate["reason"].endswith(".")
    assert "\n" not in candidate["reason"]
    for claim in candidate["claims"]:
        keys(claim, "text label probabilities reason quote")
        a_verdict({key: claim[key] for key in ("label", "probabilities", "reason")})
        assert claim["text"] in candidate["text"]
        if claim["quote"] is not None:
            keys(claim["quote"], "passage start end")
            assert claim["label"] in ("fully supported", "partially supported")
            assert claim["quote"]["passage"] in candidate["passages"]
            assert texts[claim["quote"]["passage"]][claim["quote"]["start"] : claim["quote"]["end"]]


def level_of(claims: Any) -> str | None:
    """The lowest support of the claims."""
    labels = {claim["label"] for claim in claims}
    if labels <= {"fully supported"}:
        return "fully" if labels else None
    return "partially" if labels <= {"fully supported", "partially supported"} else "no"


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
