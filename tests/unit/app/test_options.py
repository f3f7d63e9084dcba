from argparse import ArgumentTypeError
from datetime import date

import pytest

from app.options import as_text, first_day, last_day, number_range


@pytest.mark.parametrize(("word", "pages"), [("7", (7, 7)), ("3-5", (3, 5)), ("4-4", (4, 4)), ("1-100", (1, 100))])
def test_a_span(word: str, pages: tuple[int, int]) -> None:
    assert number_range(word) == pages


@pytest.mark.parametrize("word", ["", "0", "0-3", "5-3", "-3", "3-", "3-5-7", "x", "1.5", " 3", "9" * 5000])
def test_no_span(word: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is no number such as 7 and no range such as 3-5"):
        number_range(word)


@pytest.mark.parametrize(
    ("word", "first", "last"),
    [
        ("2024", date(2024, 1, 1), date(2024, 12, 31)),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
        ("2023-02", date(2023, 2, 1), date(2023, 2, 28)),
        ("2024-12", date(2024, 12, 1), date(2024, 12, 31)),
        ("2024-05-17", date(2024, 5, 17), date(2024, 5, 17)),
    ],
)
def test_a_year_or_a_month_is_all_of_its_days(word: str, first: date, last: date) -> None:
    assert (first_day(word), last_day(word)) == (first, last)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (",24,2024-5,2024-05-1,20240517,May 2024,2024-05-17T10:00,2024-", "is no day such as 2024-05-31, 2024-05"),
        ("0000,2024-00,2024-13,2024-02-30,2023-02-29,2024-00-10,2024-01-00", "is in no calendar"),
    ],
)
def test_no_day(words: str, said: str) -> None:
    for word in words.split(","):
        for read in (first_day, last_day):
            with pytest.raises(ArgumentTypeError, match=said):
                read(word)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (" why? ", "why?"),
        ("caf\udce9?", "caf\ufffd?"),  # Latin-1 where UTF-8 is expected
        ("\ud83d\ude00", "\U0001f600"),  # two halves of one character
        ("\udcff\udcfe", ""),
        (" \u200b\0", ""),
    ],
)
def test_a_word_is_text_that_can_be_written_or_nothing(word: str, text: str) -> None:
    assert as_text(word) == text
