import pytest

from core.passages import is_shown, section_of, shown_text, stated_by
from tests.scripted import passage


@pytest.mark.parametrize(
    ("above", "section"),
    [
        ({}, ""),
        ({"title": "Lease"}, "Lease"),
        ({"heading": "Rent > Deposit"}, "Rent > Deposit"),
        ({"title": "Lease", "heading": "Rent"}, "Lease > Rent"),
        ({"title": None, "heading": None}, ""),
        ({"title": "A\n\u200bline\u202e", "heading": "\n"}, "A line"),
    ],
)
def test_the_section_is_the_title_and_the_headings_on_one_line(above: dict[str, str], section: str) -> None:
    one = passage("The text.", **above)
    assert section_of(one) == section
    assert stated_by(one) == (f"{section}\nThe text." if section else "The text.")


def test_a_section_without_end_is_cut_in_the_middle() -> None:
    section = section_of({"title": "t" * 10_000, "heading": "begin " + "h " * 10_000 + "end"})
    assert len(section) < 430
    assert section.startswith("ttt")
    assert section.endswith("end")
    assert section.count(" … ") == 2


def test_what_is_left_out_of_a_passage_is_not_shown_nor_any_span_that_touches_it() -> None:
    one = passage("abcdefgh", left_out=[(1, 3), (5, 6)])
    assert shown_text(one) == "adegh"
    assert shown_text(passage("abc")) == "abc"
    assert [span for span in ((0, 1), (0, 2), (1, 3), (3, 5), (4, 6), (6, 8)) if is_shown(one, *span)] == [
        (0, 1),
        (3, 5),
        (6, 8),
    ]
