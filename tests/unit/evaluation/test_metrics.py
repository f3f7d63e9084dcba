from math import nan
from typing import Any

import pytest

from evaluation.measures.metrics import summarise
from evaluation.measures.summary import METRICS, PAIRED, RAG, RATIOS, SystemSummary
from evaluation.records import Example, Gold, Judgements, Record
from tests.unit.evaluation.sample_records import compared, cost, example, record, said, seen

GOLD = (Gold(source="a.md", text="Turing"),)
FAIR = [example(str(number), answerable=True, references=("Turing",), gold=GOLD, route="retrieve") for number in (1, 2)]
HOPELESS = [example(str(number), answerable=False, route="retrieve", plausible=("Church",)) for number in (3, 4)]
EXAMPLES = [*FAIR, *HOPELESS, example("5", route="direct")]


def answers(system: str, *said_: str, **changes: Any) -> list[Record]:
    """One record for each answer, of the examples in order; empty abstains."""
    return [
        record(str(number), system, answer=answer, confidence=1 - number / 10, **changes)
        for number, answer in enumerate(said_, 1)
    ]


def expect(found: SystemSummary, **values: tuple[float | None, int]) -> None:
    wanted = {key: value for key, (value, _) in values.items()}
    assert {key: found[key].value for key in values} == pytest.approx(wanted)
    assert [found[key].n for key in values] == [n for _, n in values.values()]


def test_abstention_by_hand() -> None:
    # Abstains from 2, which has an answer, and from 3, which has none; answers 4, which has none.
    found = summarise(EXAMPLES, answers("self-rag", "Turing", "", "", "Church", "Hello"))["self-rag"]
    expect(found, abstention_precision=(0.5, 2), abstention_recall=(0.5, 2), abstention_f1=(0.5, 4), coverage=(0.5, 4))
    expect(found, right_answered=(0.5, 2), right=(0.5, 2), exact_match=(0.5, 2), containment=(0.5, 2))
    expect(found, f1=(0.5, 2), squad_f1=(0.5, 4))
    # Right at once, then wrong; the two abstentions come last, as wrong: (0 + 1/2 + 2/3 + 3/4) / 4.
    expect(found, aurc=((1 / 2 + 2 / 3 + 3 / 4) / 4, 4))


def test_kept_is_of_what_plain_gets_right() -> None:
    records = answers("plain", "Turing", "Turing", "x", "x") + answers("self-rag", "Turing", "", "", "")
    summary = summarise(EXAMPLES, records)
    expect(summary["self-rag"], kept=(0.5, 2))
    expect(summary["plain"], kept=(1, 2))


def test_routes_by_hand() -> None:
    routes = {"1": ("retrieve", 0.9), "2": ("direct", 0.2), "3": ("retrieve", 0.7), "5": ("direct", 0.4)}
    routed = [record(id_, "self-rag", route=route, route_score=chance) for id_, (route, chance) in routes.items()]
    found = summarise(EXAMPLES, routed)["self-rag"]
    # P(retrieve) .9, .2, .7 of those to be retrieved for, against .4.
    expect(found, routing_accuracy=(0.75, 4), routing_auc=(2 / 3, 4))
    assert found.calibration["route"].n == 4


def test_relevance_by_hand() -> None:
    first = [seen("by Church", 0.6), seen("by Turing", 0.8), seen("by nobody", 0.7)]
    third = [seen("by Church", 0.9), seen("by nobody", 0.1)]
    found = summarise(EXAMPLES, [record("1", "self-rag", seen=first), record("3", "self-rag", seen=third)])["self-rag"]
    expect(found, recall_at_k=(1, 1), context_precision=(0.5, 1))
    # Judged relevant: three of the first, one of the third; gold is one.
    expect(found, grader_precision=(0.25, 4), grader_recall=(1, 1), grader_auc=(0.75, 5))
    expect(found, grader_auc_nearest=(1, 2), grader_auc_unanswerable=(0.5, 3), grader_auc_plausible=(0, 2))
    assert [(one.label, sum(one.counts)) for one in found.relevance] == [
        ("holds the answer", 1),
        ("wrong passage", 2),
        ("question has no answer", 2),
    ]


def drafted(id_: str, system: str, *texts: str, **changes: Any) -> Record:
    read = [seen(text) for text in texts]
    return record(id_, system, seen=[seen("by Church"), *read], read=read, answer="Turing", **changes)


def test_what_was_read_by_hand_and_its_difference_over_what_both_read() -> None:
    ours = [drafted("1", "self-rag", "by Turing"), drafted("2", "self-rag"), drafted("3", "self-rag", "by Church")]
    plain = [
        drafted("1", "plain", "by Church", "by Turing"),  # 1/2
        drafted("2", "plain", "by Turing", "by Church", "Turing"),  # (1 + 2/3) / 2
        drafted("3", "plain", "by Church"),
    ]
    summary = summarise(EXAMPLES, ours + plain)
    expect(summary["self-rag"], read_precision=(1, 1))
    expect(summary["plain"], read_precision=((1 / 2 + 5 / 6) / 2, 2), read_recall=(1, 2))
    gaps = {one.metric: one.difference for one in summary.differences if one.difference.n and one.metric in RAG}
    assert {metric: (gap.value, gap.n) for metric, gap in gaps.items()} == {
        "read_precision": (-0.5, 1),
        "read_gold": (-0.5, 1),
        "read_recall": (0, 1),
    }


def test_the_judges_precision_and_recall_and_its_agreement_with_the_gold_by_hand() -> None:
    long = example("6", answerable=True, references=("one two three four five six seven eight nine",))
    records = [
        drafted("1", "plain", "by Church", "by Turing"),
        drafted("2", "plain", "by Church"),
        drafted("6", "plain", "x"),
    ]
    judged = Judgements(
        useful={("plain", "1"): [True, True], ("plain", "2"): [False], ("plain", "6"): None},
        recall={("plain", "1"): 0.5, ("plain", "2"): 1.0, ("plain", "6"): 0.25},
    )
    found = summarise([*EXAMPLES, long], records, judged)["plain"]
    expect(found, read_precision_judge=(0.5, 2), read_precision=(0.25, 2), read_recall_judge=(1.75 / 3, 3))
    # Passages: wrong on the first of three. Recall: 0.5 is carried, as by gold; 1 is not, by gold.
    expect(found, read_precision_agreement=(2 / 3, 3), read_recall_agreement=(0.5, 2))


def test_support_by_hand() -> None:
    records = [
        record("1", "self-rag", answer="Turing", said=[said("Turing", 0.8), said("and more", 0.3)]),
        record("3", "self-rag", answer="", outcome="abstained", said=[said("Church", 0.4), said("x", 0.1)]),
        record("4", "self-rag", answer="Church", said=[said("Church", 0.9), said("unjudged")]),
    ]
    found = summarise(EXAMPLES, records)["self-rag"]
    # Right: .8, .3; wrong: .4 and .1, which were withheld, and .9. As the answer is: .8 supported and right, .4 and .1
    # not supported and wrong; .3 and .9 are not.
    expect(found, support_auc=(0.5, 5), support_agreement=(0.6, 5), supported=(0.75, 2))


def test_costs_by_hand() -> None:
    records = [record("1", cost=cost(1, 100, 40)), record("2", cost=cost(2, 200, 0)), record("3", cost=cost(9, 0, 0))]
    found = summarise(EXAMPLES, records)["ours"]
    expect(found, seconds=(4, 3), uncached_tokens=(260 / 3, 3), model_calls=(3, 3))
    expect(found, seconds_median=(2, 3), cached_tokens_median=(0, 3))
    assert (found["seconds_total"].low, found["seconds_total"].n) == (None, 3)
    totals = {key: found[f"{key}_total"].value for key in RATIOS}
    assert totals == {"model_calls": 9, "input_tokens": 300, "uncached_tokens": 260, "output_tokens": 21, "seconds": 12}


def test_costs_are_ratios_of_sums_over_the_questions_that_both_were_asked() -> None:
    ours = [record("1", "self-rag", cost=cost(4, 300, 0)), record("2", "self-rag", cost=cost(2, 100, 50))]
    plain = [record(str(number), "plain", cost=cost(1, 50, 0)) for number in (1, 2, 3)]
    found = {one.metric: one for one in summarise(EXAMPLES, ours + plain).ratios}
    assert set(found) == set(RATIOS)
    assert {(one.system, one.against) for one in found.values()} == {("self-rag", "plain")}
    values = {key: one.ratio.value for key, one in found.items()}
    assert values == {"model_calls": 1, "input_tokens": 4, "uncached_tokens": 3.5, "output_tokens": 1, "seconds": 3}
    # Resamples hold the first question twice, the second twice, or each once.
    estimate = found["input_tokens"].ratio
    assert (estimate.low, estimate.high, estimate.n) == (2, 6, 2)


def test_differences_are_from_self_rag_over_shared_examples() -> None:
    plain = answers("plain", "Turing", "Turing", "x", "x", cost=cost(1))
    summary = summarise(EXAMPLES, plain + answers("self-rag", "Turing", "", "", cost=cost(3)))
    assert summary.baseline == "self-rag"
    found = {one.metric: one for one in summary.differences}
    assert set(found) == set(PAIRED)
    assert {one.system for one in summary.differences} == {"plain"}
    gaps = {key: found[key].difference.value for key in ("f1", "squad_f1", "right", "abstention_f1", "seconds")}
    # self-rag abstains from 2 and 3: precision ½, recall 1; plain never.
    assert gaps == pytest.approx({"f1": 0.5, "squad_f1": 0, "right": 0.5, "abstention_f1": -2 / 3, "seconds": -2})
    assert (found["f1"].difference.n, found["seconds"].difference.n) == (2, 3)


def test_failures_are_counted_and_the_last_success_is_what_counts() -> None:
    records = [
        record("1", answer="Church"),
        record("1", answer="Turing"),
        record("1", answer="", error="timeout"),
        record("2", answer="", error="timeout"),
        record("nowhere", answer="Turing"),
    ]
    found = summarise(EXAMPLES, records)["ours"]
    assert (found.n, found.failed) == (1, 1)
    assert found["right"].value == 1


def test_unlabelled_examples_give_costs_and_nothing_else() -> None:
    bare = [Example(id="1", question="?"), Example(id="2", question="?")]
    claims = [said("x", 0.5)]
    summary = summarise(bare, [record(str(number), seen=[seen("x", 0.5)], said=claims) for number in (1, 2)])
    known = {key for key, one in summary["ours"].metrics.items() if one.value is not None}
    assert known == {metric.key for metric in METRICS if metric.group == "Cost"} | {"supported"}
    assert all(one.n == 0 for key, one in summary["ours"].metrics.items() if key not in known)


def test_judgements_are_taken_for_each_system() -> None:
    judged = Judgements(
        faithfulness={("one", "1"): 1.0, ("one", "2"): 0.5, ("two", "1"): None},
        relevancy={("one", "1"): -0.5, ("one", "2"): nan},
        pairs=[
            compared("1", "one", "two", "one", "one"),
            compared("2", "one", "two", "one", "two"),
            compared("3", "one", "two", "tie", "tie"),
            compared("4", "one", "two"),
            compared("5", "one", "two", "two", None),
            compared("6", "one", "two", "two", "two"),
        ],
        agreement=0.9,
        asked=20,
        unanswered=1,
    )
    summary = summarise(EXAMPLES, answers("one", "Turing", "x") + answers("two", "x"), judged)
    expect(summary["one"], faithfulness=(0.75, 2), relevancy=(-0.5, 1))
    expect(summary["two"], faithfulness=(None, 0))
    (found,) = summary.preferences
    assert (found.one_wins, found.other_wins, found.neither, found.contradictions) == (1, 1, 2, 1)
    assert (found.ties, found.identical, found.failures) == (1, 1, 1)
    assert (found.share.value, found.share.n) == (0.5, 2)
    assert (found.share.low, found.share.high) == (pytest.approx(0.0126, abs=1e-4), pytest.approx(0.9874, abs=1e-4))
    assert summary.judge_agreement == 0.9
    assert (summary.judge_asked, summary.judge_unanswered) == (20, 1)
