"""Unwrapping joins what the layout broke and leaves what the author set."""

import pytest

from retrieval.documents.pdf import unwrap
from tests.unit.retrieval.documents.processor_time import bounded

FULL = "This line is as long as the lines of the page are and it goes on"


@pytest.mark.parametrize(
    ("page", "joined"),
    [
        (f"{FULL}\nto the next one.\n{FULL}.\nShort", f"{FULL} to the next one.\n{FULL}.\nShort"),
        (f"Heading\n{FULL}\nAnd Ends.", f"Heading\n{FULL} And Ends."),
        (f"{FULL}\n- a bullet\n- another\n{FULL}.", f"{FULL}\n- a bullet\n- another\n{FULL}."),
        (f"{FULL}\n\nA new paragraph\n{FULL}.", f"{FULL}\n\nA new paragraph\n{FULL}."),
        (f"{FULL}\n12\n{FULL}.", f"{FULL}\n12\n{FULL}."),
        ("Costs ........ 4\nGains ........ 9", "Costs ........ 4\nGains ........ 9"),
    ],
)
def test_only_wrapped_lines_are_joined(page: str, joined: str) -> None:
    assert unwrap([page]) == [joined]


def test_a_broken_word_is_joined_the_way_the_document_writes_it() -> None:
    pages = [
        "The international treaty is long-term and it was signed by all the inter-\nnational parties.",
        "These long-term obligations are binding on all who signed, and the long-\nterm costs are shared.",
    ]
    assert unwrap(pages) == [
        "The international treaty is long-term and it was signed by all the international parties.",
        "These long-term obligations are binding on all who signed, and the long-term costs are shared.",
    ]


@pytest.mark.parametrize("line", ["and so on and on", "hyper-", "a" * 2_000, "a" * 2_000 + "-"])
def test_no_page_takes_the_square_of_its_lines(line: str) -> None:
    with bounded():
        (page,) = unwrap(["\n".join([line] * (1_000_000 // len(line)))])
    assert page.startswith(line)
    assert "\n" not in page
