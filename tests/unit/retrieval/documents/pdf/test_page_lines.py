import pytest

from retrieval.documents.pdf.page_lines import body_text

HEADS = ("2.1. Fees", "Notice", "Repairs", "Repairs", "Repairs", "Repairs")
TEXTS = ("The fee is 30 euros.", "Give notice by 3 May.", "Walls.", "Roof.", "The lift is mended in 2024", "End.")
CONTENTS = "Contents\n2.1 Fees . . . . . . . 3\nNotice ........ 4, 9\nRepairs...... 5\nAnnexes .... 7\nMap ..... 8"


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("{number}", ""),
        ("{head} {number}", "Notice"),
        ("{number} {head}", "Notice"),
        ("{head} {number} / 99", "Notice"),
        ("Item {number}.", "Item 4."),
    ],
)
def test_page_numbers_and_the_heads_of_several_pages_beside_them_are_left_out(line: str, left: str) -> None:
    pages = [
        f"{text}\n{line.format(head=head, number=number)}"
        for number, (text, head) in enumerate(zip(TEXTS, HEADS, strict=True), 3)
    ]
    lines = body_text(pages)
    assert lines[1] == f"{TEXTS[1]}\n{left}".strip()
    assert lines[4].startswith("The lift is mended in 2024")
    assert "Repairs" not in lines[4]


def test_contents_are_left_out_with_heads_that_they_name() -> None:
    body = [f"{head}\n{text}\n{head} {number}" for number, (text, head) in enumerate(zip(TEXTS, HEADS, strict=True), 3)]
    lines = body_text([CONTENTS, "Of this house.", *body])
    assert lines[:4] == [
        "Contents",
        "Of this house.",
        "2.1. Fees\nThe fee is 30 euros.",
        "Notice\nGive notice by 3 May.",
    ]


@pytest.mark.parametrize(
    "pages",
    [
        [CONTENTS.replace("Contents", "Drinks"), "Ask for our cakes."],  # prices: nothing more is said of them
        [f"{text}\n{number}" for number, text in enumerate(TEXTS[:4], 3)],  # too few to tell
        [f"{text}\n{number}" for text, number in zip(TEXTS, (1, 2, 9, 4, 7, 30), strict=True)],
        [*(f"{number} Steps\nDo it." for number in range(1, 6)), *["Pause."] * 11],  # not on a third of the pages
        ["1", "2", "3", "4", "5"],  # nothing else
    ],
)
def test_other_lines_stay(pages: list[str]) -> None:
    assert body_text(pages) == pages
