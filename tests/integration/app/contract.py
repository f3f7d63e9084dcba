"""The contract of ``--json``: what its types do not say. `Result` has its keys, and test_public_names holds them."""

import re
from typing import Any

from app.drawing.svg import PURPOSES
from app.results.result import SPENT, Result
from core.version import VERSION


def keep_to_the_contract(result: Any) -> None:
    """Raise AssertionError or ValidationError where ``result`` is not what docs/json.md says."""
    assert Result.model_validate(result).model_dump(mode="json") == result, "other keys or other types"
    assert result["answer"]
    assert None not in (result["outcome"], result["stop_reason"])
    rewritten = any(step.get("rewritten") for step in result["path"])
    assert result["queries"][0] == result["standalone" if rewritten else "question"]
    assert 0 <= result["relevant"] <= result["retrieved"]
    for name, least in (("support", 0), ("usefulness", -1), ("confidence", 0)):
        assert result[name] is None or least <= result[name] <= 1
    cited = {citation["id"] for citation in result["citations"]}
    for number, citation in enumerate(result["citations"], 1):
        assert citation["id"] == number
        assert citation["date"] is None or re.fullmatch(r"\d{4}-\d\d-\d\d", citation["date"])
        assert citation["passage"][citation["start"] : citation["end"]] == citation["quote"]
        assert citation["quote"]
    for claim in result["claims"]:
        assert set(claim["citations"]) <= cited
    assert len(result["conflicts"]) != 1
    for conflict in result["conflicts"]:
        assert conflict["citations"]
        assert set(conflict["citations"]) <= cited
    assert result["used_retrieval"] is (result["outcome"] in ("grounded", "partially_grounded"))
    assert result["usefulness_rating"] in (None, 1, 2, 3, 4, 5)
    assert result["usefulness"] is not None or result["usefulness_rating"] is None
    texts = {passage["id"]: passage["text"] for passage in result["passages"]}
    assert len(texts) == len(result["passages"])
    for candidate in result["candidates"]:
        a_candidate(candidate, texts)
    judged = [claim for one in (result, *result["candidates"]) for claim in one["claims"]]
    for verdict in filter(None, (result["decision"], *judged, *(passage["verdict"] for passage in result["passages"]))):
        if verdict["probabilities"] is not None:
            assert verdict["label"] in verdict["probabilities"]
            assert abs(sum(verdict["probabilities"].values()) - 1) < 1e-6
    chosen = [candidate for candidate in result["candidates"] if candidate["chosen"]]
    assert len(chosen) == (result["outcome"] in ("grounded", "partially_grounded", "direct"))
    for candidate in chosen:
        assert [claim["text"] for claim in candidate["claims"]] == [claim["text"] for claim in result["claims"]]
        assert (candidate["support"], candidate["usefulness"]) == (result["support"], result["usefulness"])
    for step in result["path"]:
        assert {grade["id"] for grade in step.get("grades", [])} <= texts.keys()
        assert step["node"] in PURPOSES
        if "texts" in step:
            assert step["text"] == (step["texts"][0] if step["texts"] else None)
            assert all(set(change) == {"removed", "added"} for change in step["changes"])
        assert isinstance(step["seconds"], float)
        assert all(type(step[name]) is int and step[name] >= 0 for name in SPENT)
    assert result["path"][0]["node"] in ("contextualize", "decide")
    assert result["path"][-1]["node"] == "finish"
    assert result["stamp"]["version"] == VERSION
    for name in ("prompts", "index"):
        assert re.fullmatch("[0-9a-f]{12}", result["stamp"][name] or "0" * 12)
    assert result["stamp"]["prompts"]


def a_candidate(candidate: Any, texts: dict[str, str]) -> None:
    """A candidate whose passages and quotes are of ``texts``, by id."""
    assert candidate["round"] >= 1
    assert set(candidate["passages"]) <= texts.keys()
    assert (candidate["relevance"] is None) == (not candidate["passages"])
    assert (candidate["support"] is None) == (not candidate["claims"])
    assert candidate["usefulness"] is None or -1 <= candidate["usefulness"] <= 1
    assert candidate["reason"].endswith(".")
    assert "\n" not in candidate["reason"]
    for claim in candidate["claims"]:
        assert claim["text"] in candidate["text"]
        if claim["quote"] is not None:
            assert claim["label"] in ("fully supported", "partially supported")
            assert claim["quote"]["passage"] in candidate["passages"]
            assert texts[claim["quote"]["passage"]][claim["quote"]["start"] : claim["quote"]["end"]]
