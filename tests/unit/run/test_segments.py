from typing import Any

import pytest

from core.types import Draft
from run.context import Context, Limits, Thresholds
from run.segments import accepted_in, next_of, says_again, segment_of, split_passages, to_draft
from run.state import SelfRAGState
from tests.scripted import claim, draft, passage, state, verdict

ROOM = Context(limits=Limits(), thresholds=None)
RENT, DEPOSIT, KEYS = "The rent is 900 euros.", "The deposit is 1,800 euros.", "Two keys are handed over."


def a_round(*drafts: tuple[str, list[Any]], **changes: Any) -> SelfRAGState:
    """A round of a long answer: each draft from a passage of its own text, and its claims."""
    written = [draft(text, [text]) for text, _ in drafts]
    found = [passage(one["text"]) for one in written]
    begun: dict[str, Any] = {
        "length": "long",
        "searched": 1,
        "passages": found,
        "relevant": [one["id"] for one in found],
        "drafted": [{"passages": [one["id"]], "text": ""} for one in found],
        "drafts": written,
        "claims": [claims for _, claims in drafts],
    }
    return state(**begun | changes)


def said(segments: Any) -> list[str]:
    return [one["text"] for one in segments]


def test_what_holds_in_full_is_taken_the_best_draft_first() -> None:
    half = [claim(RENT), claim("The rent rises.", "partially supported"), claim("It is due in May.", "no support")]
    found = accepted_in(a_round((RENT, half), (DEPOSIT, [claim(DEPOSIT)])), ROOM)
    assert said(found.segments) == [DEPOSIT, RENT]
    assert found.left_out == ["The rent rises.", "It is due in May."]
    in_order = accepted_in(a_round((RENT, half), (DEPOSIT, [claim(DEPOSIT)]), whole="lease.txt"), ROOM)
    assert said(in_order.segments) == [RENT, DEPOSIT]


def test_nothing_is_said_twice() -> None:
    first = accepted_in(a_round((RENT, [claim(RENT)])), ROOM).segments
    again = "The rent is 900 euros a month."
    later = a_round((again, [claim("Of rent, 900 euros."), claim(KEYS)]), segments=first)
    assert said(accepted_in(later, ROOM).segments) == [RENT, KEYS]


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("The rent is 950 euros.", RENT),
        ("The rent is not 900 euros.", RENT),
        ("The rent is due in May, says the lease.", RENT),
        (RENT, KEYS),
    ],
)
def test_another_figure_or_other_words_are_new(text: str, known: str) -> None:
    assert not says_again(text, [known])
    assert says_again(text, [known, text])


def test_a_sentence_goes_with_the_one_that_it_refers_to() -> None:
    refers = {**claim("It rises each year."), "context": RENT}
    assert said(accepted_in(a_round((RENT, [claim(RENT), refers])), ROOM).segments) == [f"{RENT} It rises each year."]
    assert said(accepted_in(a_round((RENT, [claim(RENT, "no support"), refers])), ROOM).segments) == []


def test_what_is_not_sure_is_left_out_and_answers_only_where_nothing_else_does() -> None:
    unsure = {**claim(RENT), "verdict": verdict("fully supported", {"fully supported": 0.7, "no support": 0.3})}
    strict = Context(limits=Limits(), thresholds=Thresholds(segment=0.8))
    found = accepted_in(a_round((RENT, [unsure]), (KEYS, [claim(KEYS)])), strict)  # type: ignore[list-item]
    assert (said(found.segments), found.left_out) == ([KEYS], [RENT])
    assert said(accepted_in(a_round((RENT, [unsure])), ROOM).segments) == [RENT]


def test_what_is_rated_useless_is_not_taken() -> None:
    useless = a_round((RENT, [claim(RENT)]), uses=[verdict("1")])
    assert said(accepted_in(useless, ROOM).segments) == []


def test_there_are_no_more_segments_than_allowed() -> None:
    three = a_round(*((one, [claim(one)]) for one in (RENT, DEPOSIT, KEYS)))
    two = Context(limits=Limits(segments=2))
    segments = accepted_in(three, two).segments
    assert len(segments) == 2
    assert next_of(three, segments, two) == "end"


def test_a_list_has_a_line_for_each_statement_below_what_introduces_it() -> None:
    one: Draft = draft("x", ["x"])
    items = [{**claim("two keys"), "context": "The tenant gets:"}, {**claim("a plan"), "context": "The tenant gets:"}]
    assert segment_of(one, items, as_list=False)["text"] == "The tenant gets:\n- two keys\n- a plan"  # type: ignore[arg-type]
    assert segment_of(one, [claim(RENT), claim(KEYS)], as_list=True)["text"] == f"- {RENT}\n- {KEYS}"
    assert segment_of(one, [claim(RENT), claim(KEYS)], as_list=False)["text"] == f"{RENT} {KEYS}"


def test_it_goes_on_while_passages_are_left_then_searches_for_what_the_question_names_beside_them() -> None:
    begun = a_round((RENT, [claim(RENT)]), question="Summarise the rent and the deposit", rewrites_left=1)
    segments = accepted_in(begun, ROOM).segments
    left: SelfRAGState = {**begun, "passages": [*begun["passages"], passage(KEYS)], "relevant": [RENT, KEYS]}
    assert next_of(left, segments, ROOM) == "continue"
    assert next_of(begun, segments, ROOM) == "retrieve"
    assert next_of({**begun, "rewrites_left": 0}, segments, ROOM) == "end"
    assert next_of({**begun, "question": "Summarise the rent", "standalone": ""}, segments, ROOM) == "end"


def test_each_search_is_drafted_from_as_often_as_there_may_be_segments() -> None:
    one = Context(limits=Limits(segments=1))
    begun = a_round((RENT, []), passages=[passage(RENT), passage(KEYS)], relevant=[RENT, KEYS])
    assert to_draft(begun, one) == []
    assert to_draft({**begun, "searched": 2}, one) == [[passage(KEYS)]]


def test_a_whole_document_is_read_in_its_order_in_parts_of_about_the_same_length() -> None:
    pages = [passage(f"{number} " + "x" * 998, id=str(number)) for number in range(20)]
    parts = split_passages(pages, 5)
    assert [one["id"] for part in parts for one in part] == [str(number) for number in range(20)]
    assert [len(part) for part in parts] == [4, 4, 4, 4, 4]
    assert max(len(part) for part in split_passages(pages, 1)) == 6, "a part is what a model can read"
    assert len(split_passages(pages[:2], 50)) == 1, "and worth a sentence"
