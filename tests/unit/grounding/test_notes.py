import pytest

from grounding.notes import notes_on

BELOW = "\n\n* Summer only.\n¹ After the refit.\n[a] With chairs.\n[2] Smith, 2004."


@pytest.mark.parametrize(
    ("said", "notes"),
    [
        ("Seats: 480* | Cars: 12", ["* Summer only."]),
        ("It seats 120¹, or 48 %[a].", ["¹ After the refit.", "[a] With chairs."]),
        ("It seats 120 [2].", []),  # a reference
        ("It seats *only* 120.", []),  # words set apart
        ("It seats 120† people.", []),
    ],
)
def test_a_part_refers_to_notes_by_their_marks(said: str, notes: list[str]) -> None:
    text = said + BELOW
    assert [text[start:end] for start, end in notes_on(text, 0, len(said))] == notes


def test_lines_of_one_mark_are_a_list() -> None:
    assert notes_on("It seats 480*.\n\n* Apples\n* Pears", 0, 14) == []
