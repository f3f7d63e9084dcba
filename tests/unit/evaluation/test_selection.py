import pytest

from core.errors import RequestError
from evaluation.datasets.question_set import select_examples
from evaluation.records import Example

EXAMPLES = [Example(id=str(i), question=f"{i}?", answerable=i % 3 == 0) for i in range(30)]


def test_all_are_asked_in_their_order_and_a_draw_depends_on_its_seed_alone() -> None:
    assert select_examples(EXAMPLES) == EXAMPLES
    assert select_examples(EXAMPLES, most=10) == select_examples(EXAMPLES, most=10, seed=0)
    assert select_examples(EXAMPLES, most=10) != select_examples(EXAMPLES, most=10, seed=1)
    assert select_examples(EXAMPLES, most=10) != EXAMPLES[:10]
    assert sorted(select_examples(EXAMPLES, seed=1), key=lambda one: int(one.id)) == EXAMPLES


@pytest.mark.parametrize("balanced", [False, True])
def test_a_larger_draw_adds_to_a_smaller(balanced: bool) -> None:
    assert select_examples(EXAMPLES, most=12, balanced=balanced)[:6] == select_examples(
        EXAMPLES, most=6, balanced=balanced
    )


@pytest.mark.parametrize(("most", "drawn"), [(None, 20), (8, 8), (100, 20)])
def test_half_of_a_balanced_draw_is_unanswerable(most: int | None, drawn: int) -> None:
    chosen = select_examples(EXAMPLES, most=most, balanced=True)
    assert len(chosen) == len({one.id for one in chosen}) == drawn
    assert sum(bool(one.answerable) for one in chosen) == drawn / 2


@pytest.mark.parametrize(
    ("answerable", "missing"), [(True, "unanswerable"), (False, "answerable"), (None, "answerable")]
)
def test_halves_that_are_not_there(answerable: bool | None, missing: str) -> None:
    with pytest.raises(RequestError, match=f"No question is marked as {missing}: leave --balanced out"):
        select_examples([Example(id="1", question="?", answerable=answerable)], balanced=True)
