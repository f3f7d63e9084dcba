import pytest

from grounding.table_rows import cells_of_rows, is_unranked, of_another_cell, of_another_row, with_unit

ROWS = """Country: Germany | 2007: 123 | 2006: 290
Country: Netherlands | 2007: 269 | 2006: 397
Country: Isle of Man | 2007: 2 | 2006: 3
2005 | Men | 40"""
GERMANY = ROWS.split("\n", 1)[0]


def test_a_row_is_not_that_of_a_question_that_names_another() -> None:
    said = "The row is of Germany, where the question names Netherlands."
    assert of_another_row(GERMANY, ROWS, "How many did the Netherlands test in 2006?") == said
    assert "names Isle of Man" in of_another_row(GERMANY, ROWS, "And the isle of man?")
    assert "names Men" in of_another_row(GERMANY, ROWS, "How many Men?")


@pytest.mark.parametrize(
    ("quote", "question"),
    [
        (GERMANY, "How many did Germany test in 2006?"),
        (GERMANY, "Did the Netherlands test more than Germany?"),
        (GERMANY, "How many were tested?"),
        (GERMANY, "How many men in 2005?"),  # no capitals
        (GERMANY, "What of the Nether Netherlandish?"),
        (ROWS, "How many did the Netherlands test?"),
        ("Germany tested 290.", "How many did the Netherlands test?"),
        ("Country: Germany | beside Netherlands: 1", "How many did the Netherlands test?"),
    ],
)
def test_a_row_that_the_question_names_or_none_is_no_other(quote: str, question: str) -> None:
    assert of_another_row(quote, ROWS, question) == ""


def test_the_cells_of_rows_are_those_beside_their_names_each_once() -> None:
    text = "Tests by country: 12\nCountry: Spain | 2006: 7 | 2007: – | Unit: ng: ml\n2005 | 7 | 40"
    assert cells_of_rows(text) == ["7", "ng: ml", "40"]


THOUSANDS = "Balance (in thousands, except per share data)"


@pytest.mark.parametrize(
    ("row", "heading", "cells"),
    [
        (
            "Site: Ems | Nitrate (mg/l): 3.2 | Cost ($ millions): (40) | Depth (m): 2 cm | Flow: 7 | Debt (GDP): 60",
            "",
            ["3.2 mg/l", "(40) ($ millions)", "2 cm", "7", "60"],
        ),
        ("(Dollars in millions): Cash | 2019: 16,525 | 2018: $ 15,134", "", ["16,525 (Dollars in millions)"]),
        ("In Millions: Goods | May 31, 2020: $1,142.6", "", ["$1,142.6 (In Millions)"]),
        ("Cash | 2020: 7 | Founded: 1984", THOUSANDS, ["7 (in thousands)", "1984"]),
        ("Earned per share | 2020: 1.25", THOUSANDS, ["1.25"]),
        ("Net periodic pension cost | 2020: 12", THOUSANDS, ["12 (in thousands)"]),
        ("Employees (in thousands) | 2020: 110.6", "Five years (in millions)", ["110.6 (in thousands)"]),
        ("Cash | 2020: 7", "What was paid in millions of cases", ["7"]),
        ("Income\nof a year (in millions)\nCash | 2020: 7", "", ["7 (in millions)"]),
    ],
)
def test_a_bare_figure_gets_the_unit_of_its_column_row_or_table(row: str, heading: str, cells: list[str]) -> None:
    assert cells_of_rows(row, heading)[: len(cells)] == cells


def test_a_figure_that_a_cell_holds_is_said_with_its_unit() -> None:
    rows = "Sales in 2019\n(in EUR): Sales | 2019 (t): 16,525 | 2018: 9 %\n(in millions): Cash | 2019: 7"
    said = {"16,525": "16,525 t", "$ 7": "$ 7 (in millions)", "9": "9", "7 EUR": "7 EUR", "8": "8", "": ""}
    assert {one: with_unit(one, rows) for one in said} == said


LOANS = "Major: Law | Loans of graduates: 47,400 | Total loans of graduates, 5%: 57,400 | Grants: 9 | Repaid: 8,000"


@pytest.mark.parametrize(
    ("claim", "question", "reason"),
    [
        ("57,400", "How high are loans of graduates in law?", ""),  # both columns have these words
        ("47,400", "How high are total loans of graduates in law?", "where the question names Total loans"),
        ("8,000", "What was repaid of all loans?", ""),
        ("9", "How high are total loans of graduates in law?", ""),  # it may be meant in other words
        ("5%", "What share of loans do graduates in law have?", "stands in the column's name Total loans"),
        ("12", "How high are total loans of graduates?", ""),
        ("47,400", "How high are total loans of graduates, 47,400?", ""),
        ("Law", "Which major has loans?", ""),
    ],
)
def test_a_figure_is_not_of_a_column_whose_words_the_question_has_fewer_of(
    claim: str, question: str, reason: str
) -> None:
    found = of_another_cell(claim, LOANS, question)
    assert reason in found
    assert bool(found) is bool(reason)
    assert of_another_cell(claim, f"{LOANS}\nMore.", question) == ""


@pytest.mark.parametrize(
    ("quote", "question", "expected"),
    [
        (GERMANY, "Which country had the highest figure in 2007?", True),
        (GERMANY, "Welches Land hat die meisten?", True),
        (f"{GERMANY} | highest: 5", "What is the highest figure of Germany?", False),
        (GERMANY, "How many had Germany at least?", False),
        (GERMANY, "What was Germany's figure in 2007?", False),
        ("Germany had 123.", "Which country had the highest figure?", False),
    ],
)
def test_a_row_does_not_tell_which_is_the_most_unless_it_says_so(quote: str, question: str, expected: bool) -> None:
    assert is_unranked(quote, question) is expected
