import json
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from graph.builder import build_graph
from retrieval.filters import Filter
from run.context import Context, Limits, Thresholds, Weights
from tests.scripted import services


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "sometimes"},
        {"k": 0},
        {"k": 51},
        {"verbosity": 1},
        {"temperature": 2.5},
        {"answer_tokens": 19},
        {"weights": {"support": -1}},
        {"weights": {"relevance": float("nan")}},
        {"weights": {"usefulness": float("inf")}},
        {"thresholds": {"relevant": 1.5}},
        {"limits": {"model_calls": 0}},
        {"limits": {"drafts": 0}},
        {"limits": {"seconds": 0}},
        {"limits": {"rewrites": -1}},
        {"filter": {"pages": [3, 2]}},
        {"filter": {"source": "a.pdf"}},
    ],
)
def test_a_wrong_setting_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Context(**wrong)


def test_a_context_survives_json() -> None:
    within = Filter(sources=("*.pdf",), pages=(3, 5), since=date(2024, 1, 1))
    context = Context(mode="always", limits=Limits(rewrites=1), thresholds=Thresholds(relevant=0.7), filter=within)
    assert Context(**json.loads(context.model_dump_json())) == context


def test_langgraph_studio_is_shown_the_filter() -> None:
    schema = build_graph(services()).get_context_jsonschema()
    assert schema is not None
    assert set(schema["$defs"]["Filter"]["properties"]) == {"sources", "pages", "since", "until"}
    assert {"$ref": "#/$defs/Filter"} in schema["properties"]["filter"]["anyOf"]


def test_the_defaults_are_those_of_the_design() -> None:
    assert Limits() == Limits(rewrites=2, drafts=2, model_calls=32, tokens=60_000, seconds=120)
    assert Weights() == Weights(relevance=1, support=1, usefulness=0.5)
    assert Context() == Context(mode="adaptive", strategy="combined", fallback="abstain", k=4, constraints="soft")


def test_what_the_caller_leaves_out_comes_with_the_services() -> None:
    made = services(limits=Limits(drafts=9), thresholds=Thresholds(relevant=0.7))
    made = replace(made, rewriting="names", ratings="direct", follow_ups="rewrite")
    run = made.completed(None)
    assert (run.effective_limits.drafts, run.effective_thresholds.relevant) == (9, 0.7)
    assert (run.rewriting, run.ratings, run.follow_ups) == ("names", "direct", "rewrite")
    limits, thresholds = Limits(drafts=1), Thresholds(relevant=0.1)
    own = Context(limits=limits, thresholds=thresholds, rewriting="model", ratings="all", follow_ups="search")
    assert made.completed(own) == own


@pytest.mark.parametrize(
    ("settings", "rated"),
    [
        ({}, True),
        ({"ratings": "all"}, True),
        ({"ratings": "direct"}, False),
        ({"ratings": "direct", "constraints": "hard"}, True),
        ({"ratings": "direct", "scoring": "support-first"}, True),
        ({"ratings": "direct", "strategy": "per-passage"}, True),
    ],
)
def test_drafts_are_rated_unless_nothing_depends_on_it(settings: dict[str, Any], rated: bool) -> None:
    assert Context(**settings).rates_drafts is rated


def test_what_is_set_in_part_keeps_the_rest_as_calibrated() -> None:
    made = services(limits=Limits(seconds=600), thresholds=Thresholds(retrieve=0.28, relevant=0.7, similar=0.2))
    run = made.completed(Context(thresholds=Thresholds(retrieve=0.9), limits=Limits(drafts=1)))
    assert run.effective_thresholds == Thresholds(retrieve=0.9, relevant=0.7, similar=0.2)
    assert run.effective_limits == Limits(seconds=600, drafts=1)


@pytest.mark.parametrize(("caution", "supported", "relevant"), [(None, 0.4, 0.2), (0.7, 0.7, 0.2), (0.1, 0.1, 0.1)])
def test_caution_is_the_least_confidence_of_what_is_said(
    caution: float | None, supported: float, relevant: float
) -> None:
    found = Context(caution=caution, thresholds=Thresholds(supported=0.4, relevant=0.2)).effective_thresholds
    assert (found.supported, found.relevant) == (supported, relevant)


def test_without_any_caution_the_labels_do_not_decide_either() -> None:
    assert Context(caution=0).effective_thresholds.supported > 0
