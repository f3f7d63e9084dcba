import pytest

from grounding.compared import (
    Cell,
    as_table,
    cells_of,
    compares,
    in_rows,
    is_said_of,
    points_named,
    things_compared,
    without_repeats,
)

CASES = [
    ("Compare fixed-rate and adjustable-rate mortgages", ["fixed-rate", "adjustable-rate mortgages"], ""),
    ("Please compare the offers of Brightline and Cleanwell by price and term.", ["Brightline", "Cleanwell"], "offers"),
    ("Compare the rules for flights and for rail journeys", ["flights", "rail journeys"], "rules"),
    ("Compare the Bank of England and the Federal Reserve", ["Bank of England", "Federal Reserve"], ""),
    ("Compare the beds and income of Bergli and Seewald in 2025", ["Bergli", "Seewald"], "the beds and income in 2025"),
    ("Compare the fees and terms of Brightline with those of Cleanwell", ["fees and terms of Brightline"], ""),
    ("Compare rents, deposits and fees for A, B and C by year", ["A", "B", "C"], "rents, deposits and fees year"),
    ("Compare Acme, the Bank of England and Bolt", ["Acme", "Bank of England", "Bolt"], ""),
    ("Give me a comparison of A, B and C", ["A", "B", "C"], ""),
    ("Compare the landlord's rights and duties with the tenant's", ["landlord's rights and duties"], ""),
    ("Vergleichen Sie bitte Angebot A und Angebot B nach Preis", ["Angebot A", "Angebot B"], "Preis"),
    ("Comparez le prix de l'offre A et de l'offre B", ["offre A", "offre B"], "prix"),
    ("Compara la oferta A con la oferta B", ["oferta A", "oferta B"], ""),
    ("比较A和B", ["A", "B"], ""),
    ("Compare version 2 and version 3 - fees, term and notice", ["version 2", "version 3"], "fees, term"),
    ("Comparez la bourse A et la bourse B : montant, date et cumul", ["bourse A", "bourse B"], "montant, date"),
    ("Compare a republic and a democracy according to the Federalist", ["republic", "democracy"], "the Feder"),
    ("Compare rents in the north and rents in the south", ["rents in the north", "rents in the south"], ""),
    ("Compare the two offers", [], ""),
    ("Compare A, B, C, D and E", [], ""),
    ("Compare the tenant and the tenant", [], ""),
]


@pytest.mark.parametrize(("question", "things", "by"), CASES)
def test_a_comparison_names_the_things_and_by_what_they_are_compared(question: str, things: list[str], by: str) -> None:
    found, points = things_compared(question)
    assert compares(question)
    assert (found[: len(things)], bool(found)) == (things, bool(things))
    assert points.startswith(by)


@pytest.mark.parametrize("question", ["List what compares well", "Is A comparable to B?", "Summarise the comparison"])
def test_no_other_question_compares(question: str) -> None:
    assert not compares(question)


def test_a_table_has_each_point_once_and_no_more_than_asked_for() -> None:
    written = (
        "Columns: point | A | B\nprice | 1 | 2\n"
        "| **term** | - | 3 years | 9 |\n|---|---|\nPrice | 7 | 8\nA | B\nno line\n"
        + "x" * 61
        + " | 1 | 2\nlock | yes\nover | 1 | 2"
    )
    cells = [Cell("price", "A", "1"), Cell("price", "B", "2"), Cell("term", "B", "3 years"), Cell("lock", "A", "yes")]
    assert cells_of(written, ["A", "B"], 3) == cells


def test_a_row_that_says_what_an_earlier_one_says_is_left_out_and_a_row_has_the_order_of_the_things() -> None:
    price, cost = ([Cell(point, "B", "2"), Cell(point, "A", "1")] for point in ("price", "cost"))
    assert in_rows(without_repeats([*price, *cost, Cell("fee", "A", "1")]), ["A", "B"]) == [
        *(Cell("price", "A", "1"), Cell("price", "B", "2"), Cell("fee", "A", "1")),
    ]


def test_the_points_that_a_question_names_are_told_apart() -> None:
    assert points_named("fees, term and notice?") == ["fees", "term", "notice"]
    assert points_named("") == []


def test_what_is_drawn_as_a_table_is_read_back_as_the_same_cells() -> None:
    cells = [Cell("price", "A", "1"), Cell("term", "B", "3 years")]
    table = as_table(cells, ["A", "B"])
    assert table.split("\n")[2:] == ["| price | 1 | – |", "| term | – | 3 years |"]
    assert cells_of(table, ["A", "B"], 8) == cells


def test_what_is_said_of_a_thing_has_a_word_that_no_other_of_them_has() -> None:
    things = ["fixed-rate", "adjustable-rate mortgages"]
    assert is_said_of("adjustable-rate mortgages", things, "The rate of an adjustable mortgage follows an index.")
    assert not is_said_of("adjustable-rate mortgages", things, "Locks of a rate last 30, 45 or 60 days.")
