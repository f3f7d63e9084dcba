import pytest

from grounding.comparisons import (
    asks_for_least,
    asks_for_total,
    asks_how_many,
    names_figure,
    needs_all_rows,
    orders,
    suits_query,
)

COMPUTED = [
    "By how much is Ely dearer than Bath?",
    "Which school has the most pupils?",
    "What is the cheapest wine?",
    "How many contracts are active?",
    "What do they cost on average?",
    "Welcher Vertrag hat den niedrigsten Wert?",
    "Combien de vins viennent de France ?",
    "Quel est le vin le plus cher ?",
    "¿Cuántas escuelas hay?",
    "Who wrote the first episode?",
    "Who came third?",
    "Wer gewann das letzte Rennen?",
    "Quelle est la dernière course ?",
    "¿Quién ganó la primera carrera?",
    "¿Cuál es la estación con más andenes?",
    "哪种酒最贵？",
]
FILTERED = [
    "Which wines cost more than 20?",
    "Which ferries were built after the year 2000?",
    "Was ist teurer, Yoga oder Turnen?",
    "List the schools.",
    "Is the Polar freezer heavier than the centrifuge?",
    "Which is heavier, the Polar freezer or the centrifuge?",
    "Welches Haus ist älter, das am Markt oder das am See?",
    "Welche Weine kosten über 20 Euro?",
    "价格超过20的酒",
]
LOOKED_UP = [
    "What interest does the forest bond pay?",
    "What waste may a plant enter in the minister's register each year?",
    "What did the Midwest earn in the first quarter of 2010?",
    "Wie hoch ist die Miete von Haus 7?",
    "车站在哪里？",
]


@pytest.mark.parametrize("question", COMPUTED)
def test_a_count_an_extreme_or_a_mean_takes_all_rows(question: str) -> None:
    assert needs_all_rows(question)
    assert suits_query(question)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many pupils has the school?", False),
        ("What is the total rent?", False),
        ("Which wines cost over 20?", False),
        ("Wie viele Orte liegen im Register?", False),
        ("Which school has the most pupils?", True),
        ("How many more pupils has Ely than Bath?", True),
        ("By how many pupils did Ely exceed Bath?", True),
        ("Was ist am teuersten?", True),
        ("Wer hat den zweithöchsten Wert?", True),
        ("谁是第一名？", True),
    ],
)
def test_no_row_says_what_is_the_most_the_first_or_a_difference(question: str, expected: bool) -> None:
    assert orders(question) is expected


@pytest.mark.parametrize("question", FILTERED)
def test_a_filter_is_for_a_query_and_may_be_read_from_rows(question: str) -> None:
    assert suits_query(question)
    assert not needs_all_rows(question)


@pytest.mark.parametrize("question", LOOKED_UP)
def test_what_one_row_says_takes_no_query(question: str) -> None:
    assert not suits_query(question)


def test_what_asks_for_a_number_is_told_from_what_asks_for_rows() -> None:
    assert asks_how_many("How many are there?")
    assert asks_for_total("What do they weigh altogether?")
    assert not asks_how_many("Which is the largest?")
    assert not asks_for_total("Which is the largest?")


@pytest.mark.parametrize(
    ("question", "is_named"),
    [
        ("Which has more seats, A or B?", True),
        ("Where is there more space, in A or in B?", True),
        ("Which has the higher rent, A or B?", True),
        ("Which is more expensive, A or B?", False),
    ],
)
def test_a_figure_is_named_in_a_noun(question: str, is_named: bool) -> None:
    assert names_figure(question) is is_named


@pytest.mark.parametrize(
    ("question", "is_least"),
    [
        ("Which is cheaper, A or B?", True),
        ("Quel est le vin le moins cher ?", True),
        ("Which has the most rooms of those that cost less?", False),
        ("Which has at least five rooms?", False),
    ],
)
def test_the_least_is_asked_for_where_nothing_else_is_compared(question: str, is_least: bool) -> None:
    assert asks_for_least(question) is is_least
