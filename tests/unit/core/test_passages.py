import pytest

from core.passages import section_of, stated_by
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
