from typing import Any

import pytest

from core.wording import WORDINGS
from evaluation.measures.scores import (
    abstained,
    bare_answer,
    containment,
    contains,
    draft_right,
    exact_match,
    gold_spans,
    holds_gold,
    is_gold,
    precision_over_ranks,
    read_by,
    right,
    right_answer,
    score,
    token_f1,
    tokens,
)
from evaluation.records import Gold
from tests.unit.evaluation.sample_records import example, record, said, seen

GOLD = (Gold(source="a.md", text="Alan Turing"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Cat, a dog; AN ox!", ("cat", "dog", "ox")),
        ("well-known “P = NP”", ("wellknown", "p", "np")),
        ("1939–1945", ("19391945",)),
        ("the", ()),
        ("Straße", ("strasse",)),
        ("$4 or £3", ("4", "or", "3")),
    ],
)
def test_tokens_are_squads(text: str, expected: tuple[str, ...]) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "span", "held"),
    [
        ("It was the Alan  Turing, who", "alan turing", True),
        ("It was Alan M. Turing", "Alan Turing", False),
        ("In 1956 it began", "95", False),
        ("anything", "the", False),
        ("阿兰·图灵在剑桥工作。", "剑桥", True),
    ],
)
def test_a_span_is_contained_by_whole_tokens(text: str, span: str, held: bool) -> None:
    assert contains(text, span) is held


def test_f1_is_the_best_over_references() -> None:
    # 2 common tokens, 4 said and 2 wanted: 2 * 2 / 6; against the other reference 0.
    assert token_f1("It was Alan Turing", ["Alonzo Church", "Alan Turing"]) == pytest.approx(4 / 6)
    assert token_f1("cat cat dog", ["cat"]) == pytest.approx(2 / 4)
    assert token_f1("", ["x"]) == 0
    assert token_f1("x", []) == 0


def test_exact_match_and_containment_differ() -> None:
    assert exact_match("The Alan Turing.", ["alan turing"]) == 1
    assert exact_match("It was Alan Turing", ["Alan Turing"]) == 0
    assert containment("It was Alan Turing", ["Alan Turing"]) == 1


LONG = "Points are fees of 300 dollars paid to the lender at closing for a lower interest rate"
TOLD = "On its first page it says that these are fees which the lender is paid at closing, and that they come to {}"
ALL_OF_IT = "Which fees are paid to the lender at closing for a lower interest rate, of 300 dollars?"
DEPOSIT = "the tenant pays a deposit of 300 dollars"


@pytest.mark.parametrize(
    ("answer", "reference", "question", "expected"),
    [
        (TOLD.format("300 dollars"), LONG, "What are points?", True),
        (TOLD.format("200 dollars"), LONG, "What are points?", False),
        ("Fees that the lender is paid at closing, 200 dollars", LONG, "What are points?", False),
        ("Fees that the lender is paid at closing", LONG, "What are points?", False),
        ("300", LONG, "What are points?", False),
        ("I like it.", LONG, ALL_OF_IT, False),
        ("Points.", LONG, ALL_OF_IT, True),
        ("In those days Alan M. Turing wrote all of it down somewhere in London", "Alan Mathison Turing", "", False),
        ("The tenant pays a deposit of 200 dollars.", DEPOSIT, "", False),
        ("A deposit of 300 dollars is paid by the tenant.", DEPOSIT, "", True),
    ],
)
def test_an_answer_is_right_that_adds_half_the_words_and_a_figure_of_a_reference(
    answer: str, reference: str, question: str, expected: bool
) -> None:
    assert right_answer(answer, [reference], question) is expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"answer": "Turing."}, False),
        ({"answer": ""}, True),
        ({"answer": "I don't know."}, True),
        ({"answer": "Turing.", "outcome": "abstained"}, True),
        ({"answer": "Turing.", "outcome": "stopped"}, True),
    ],
)
def test_abstained_by_outcome_or_by_words(changes: dict[str, Any], expected: bool) -> None:
    assert abstained(record(**changes)) is expected


def test_marks_and_citation_numbers_are_no_part_of_the_answer() -> None:
    marked = record(answer="It was Turing. [1] [not supported by the documents] In 1936. [2, 3]")
    assert bare_answer(marked) == "It was Turing. In 1936."
    foreign = f"{WORDINGS['fr'].not_from_documents}C'est Turing.{WORDINGS['fr'].marks['unknown']}"
    assert bare_answer(record(answer=foreign)) == "C'est Turing."
    differing = f"In 1936.\n\n{WORDINGS['de'].disagree}\n- 1937 (lease.md p. 1)"
    assert bare_answer(record(answer=differing)) == "In 1936."
    conditional = WORDINGS["es"].condition.format(condition="Salvo en 1937.")
    queried = WORDINGS["zh"].queried.format(sql="SELECT 1", rows=3, source="a.csv")
    assert bare_answer(record(answer=f"In 1936.\n\n{conditional}\n\n{queried}")) == "In 1936."
    for wording in WORDINGS.values():
        meant = wording.meant.format(described="the head of it", name="Ida")
        assert bare_answer(record(answer=f"In 1936.\n\n{meant}")) == "In 1936."
        unnamed = wording.unnamed.format(names="Ida")
        assert bare_answer(record(answer=f"In 1936.\n\n{unnamed}")) == "In 1936."


@pytest.mark.parametrize(
    ("answerable", "references", "answer", "expected"),
    [
        (True, ("Turing",), "It was Turing.", True),
        (None, ("Turing",), "It was Turing.", True),
        (True, ("Turing",), "It was Church.", False),
        (True, ("Turing",), "", False),
        (True, (), "It was Turing.", None),
        (False, (), "It was Turing.", False),
        (False, (), "", False),
    ],
)
def test_right_needs_an_answer_and_a_label(
    answerable: bool | None, references: tuple[str, ...], answer: str, expected: bool | None
) -> None:
    assert right(example(answerable=answerable, references=references), record(answer=answer)) is expected


def test_withheld_drafts_are_judged_by_their_claims() -> None:
    fair, unlikely = example(answerable=True, references=("Turing",)), example(answerable=False)
    withheld = record(answer="", outcome="abstained", said=[said("It was Turing.", 0.2)])
    assert draft_right(fair, withheld) is True
    assert draft_right(unlikely, withheld) is False
    assert draft_right(fair, record(answer="", outcome="abstained")) is None
    assert draft_right(example(), withheld) is None


def test_gold_needs_the_source_and_the_span() -> None:
    one = example(answerable=True, gold=GOLD)
    assert is_gold(one, seen("by Alan Turing"))
    assert is_gold(one, seen("by Alan Turing", source="docs/a.md"))
    assert not is_gold(one, seen("by Alan Turing", source="b.md"))
    assert not is_gold(one, seen("by Alonzo Church"))
    assert is_gold(example(answerable=True, gold=(Gold(source="a.md"),)), seen("x")) is None
    assert holds_gold(example(answerable=False, gold=GOLD), "Alan Turing", "a.md") is False


def test_short_references_tell_gold_but_a_bare_yes_does_not() -> None:
    long = "one two three four five six seven eight nine"
    assert gold_spans(example(references=("Turing", "Yes.", long, "The"), gold=GOLD)) == ("Alan Turing", "Turing")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([True, True], 1),
        ([False, True], 1 / 2),
        ([True, False, True], (1 / 1 + 2 / 3) / 2),
        ([False, False, True, True, False], (1 / 3 + 2 / 4) / 2),
        ([False, False], 0),
    ],
)
def test_context_precision_is_as_ragas_defines_it(labels: list[bool], expected: float) -> None:
    assert precision_over_ranks(labels) == pytest.approx(expected)


def test_what_was_read_is_scored_in_its_order_whatever_the_first_search_found() -> None:
    one = example(answerable=True, gold=GOLD)
    wrong, gold = seen("Alonzo Church"), seen("Alan Turing")
    filtered = score(one, record(seen=[wrong, wrong, gold], read=[gold, wrong]))
    assert (filtered.context_precision, filtered.read_precision, filtered.read_recall) == (pytest.approx(1 / 3), 1, 1)
    assert filtered.read_gold == 0.5, "an irrelevant passage after the gold one lowers the share alone"
    missed = score(one, record(seen=[gold], read=[wrong]))
    assert (missed.context_precision, missed.read_precision, missed.read_recall) == (1, 0, 0)


def test_a_system_whose_only_step_is_a_draft_read_all_that_it_found() -> None:
    found = [seen("Alan Turing"), seen("Alonzo Church")]
    assert read_by(record(seen=found, decisions=[{"node": "generate", "text": "Turing"}])) == found
    assert read_by(record(seen=found, decisions=[{"node": "generate", "text": "", "stop": "limit_calls"}])) == []
    assert read_by(record(seen=found, decisions=[{"node": "decide"}, {"node": "generate", "text": "Turing"}])) == []


@pytest.mark.parametrize(
    ("changes", "read"),
    [
        ({"answerable": True, "gold": GOLD}, []),
        ({"answerable": False, "gold": GOLD}, [seen("Alan Turing")]),
        ({"answerable": None, "route": "direct", "references": ("Turing",)}, [seen("Alan Turing")]),
        ({"answerable": True}, [seen("Alan Turing")]),
        ({"answerable": True, "references": ("one two three four five six seven eight nine",)}, [seen("one two")]),
    ],
    ids=["nothing read", "unanswerable", "needs no documents", "no label", "a long reference alone"],
)
def test_without_reading_or_a_label_there_is_no_precision_and_no_recall(changes: dict[str, Any], read: Any) -> None:
    made = score(example(**changes), record(read=read))
    assert (made.read_precision, made.read_gold, made.read_recall) == (None, None, None)


def test_recall_is_the_share_of_gold_spans_held_each_in_its_source_or_without_them_one_short_reference() -> None:
    two = (Gold(source="a.md", text="Alan Turing"), Gold(source="b.md", text="1936"))
    one = example(answerable=True, gold=two, references=("Turing",))
    assert score(one, record(read=[seen("Alan Turing, 1936")])).read_recall == 0.5
    assert score(one, record(read=[seen("Alan Turing"), seen("in 1936", source="b.md")])).read_recall == 1
    assert score(one, record(read=[seen("by Turing")])).read_recall == 0
    spanless = example(answerable=True, references=("Turing", "Church"))
    assert score(spanless, record(read=[seen("by Church")])).read_recall == 1
    assert score(spanless, record(read=[seen("by Gödel")])).read_recall == 0


@pytest.mark.parametrize(
    ("changes", "decided"),
    [
        ({"route_score": 0.7}, True),
        ({"decisions": [{"node": "decide", "route": "retrieve", "verdict": {"label": "unknown"}}]}, True),
        ({"decisions": [{"node": "decide", "route": "retrieve", "mode": "always"}]}, False),
        ({"decisions": [{"node": "generate", "text": "Turing"}]}, False),
        ({"route": None, "route_score": 0.7}, False),
    ],
)
def test_a_route_is_right_or_wrong_only_where_the_system_chose_it(changes: dict[str, Any], decided: bool) -> None:
    assert score(example(route="retrieve"), record(**changes)).route_right is (True if decided else None)


def test_a_quote_counts_for_right_answers_that_cite() -> None:
    one = example(answerable=True, references=("Turing",), gold=GOLD)
    quotes = [{"quote": "Church wrote", "source": "a.md"}, {"quote": "Alan Turing wrote", "source": "a.md"}]
    assert score(one, record(answer="Turing", citations=quotes)).citation_gold is True
    assert score(one, record(answer="Turing", citations=quotes[:1])).citation_gold is False
    assert score(one, record(answer="Church", citations=quotes)).citation_gold is None
    assert score(one, record(answer="Turing")).citation_gold is None


def test_only_fully_supported_claims_count_and_only_those_judged() -> None:
    claims = [said("a", 0.9), said("b", 0.4, "partially supported"), said("c")]
    assert score(example(), record(said=claims)).supported_share == 0.5
    assert score(example(), record(said=[said("c")])).supported_share is None
    assert score(example(), record(answer="", said=claims)).supported_share is None


def test_an_abstention_matches_and_contains_nothing() -> None:
    routed = record(answer="", route="direct", route_score=0.2)
    found = score(example(answerable=True, references=("Turing",), route="direct"), routed)
    assert (found.exact_match, found.f1, found.containment, found.route_right) == (0, 0, 0, True)
    cut = score(example(answerable=True, references=("Turing",)), record(answer="Turing", outcome="stopped"))
    assert (cut.right, cut.exact_match, cut.f1, cut.containment) == (False, 0, 0, 0)
