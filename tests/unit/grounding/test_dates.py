import pytest

from grounding.dates import Date, dates, months, without_dates


@pytest.mark.parametrize(
    "text",
    [
        "3 May 2021",
        "3rd May, 2021",
        "3rd of May 2021",
        "May 3, 2021",
        "2021-05-03",
        "3.5.2021",
        "05/03/21",
        "3. Mai 2021",
        "3 de mayo de 2021",
        "2021年5月3日",
    ],
)
def test_a_date_has_many_forms(text: str) -> None:
    assert Date(2021, 5, 3) in dates(f"It began on {text}.")


@pytest.mark.parametrize("text", ["It may 2 of them.", "version 3.5.2", "1-2", "2021-13-40", "31/31/2021"])
def test_what_is_no_date(text: str) -> None:
    assert not {date for date in dates(text) if date.day and date.year}


def test_months_by_name_and_in_dates() -> None:
    assert months("In June, on 2021-05-03, and in Sept. You may march.") == {6, 5, 9}


@pytest.mark.parametrize(
    ("claim", "stated", "left"),
    [
        ("on 2021-05-03", "3 May 2021", "on"),
        ("on 3 May", "2021-05-03", "on"),
        ("in May 2021", "2021-05-03", "in"),
        ("on 4 May 2021", "3 May 2021", "on 4 May 2021"),
        ("on 3 May 2021", "3 May", "on 3 May 2021"),
        ("on 3 June 2021", "3 May 2021", "on 3 June 2021"),
    ],
)
def test_a_date_is_known_when_all_that_it_says_is(claim: str, stated: str, left: str) -> None:
    assert without_dates(claim, dates(stated)).strip() == left
