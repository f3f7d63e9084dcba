"""Find the headings of a page without heading elements: short paragraphs that are bold as a whole."""

import re
from collections.abc import Sequence

from retrieval.documents.headings import Heading

LONGEST = 150  # characters of a heading
_FEWEST_ELEMENTS = 3  # heading elements: a page that has them needs no other headings
_MOST_BOLD = 0.5  # share of the page's text: above it, bold sets nothing apart
_PARTS = re.compile(
    r"(?i)(?:part|book|title|chapter|teil|kapitel|partie|chapitre|parte|capítulo)\s+(?:[\divxlc]+|one)\b"
)
_SECTIONS = re.compile(r"(?i)(?:item|article|section|note|annex|appendix|exhibit|artikel|anhang)\s+\w{1,4}\b|§")
_NUMBER = re.compile(r"\d{1,3}((?:\.\d{1,3})*)[.)]?\s+\D")
_UNNUMBERED = 6  # level
_LETTERS = re.compile(r"[^\W\d_]{2}")


def with_bold(headings: Sequence[Heading], text: str, bold: Sequence[tuple[int, int]]) -> list[Heading]:
    """Return the headings of a page, with those of the ``bold`` paragraphs, given by their spans, that are headings.

    Parts and chapters have the level 1; items, articles and sections 2; numbered ones one more than the number has
    parts; others 6.
    """
    if len(headings) >= _FEWEST_ELEMENTS or sum(end - start for start, end in bold) > _MOST_BOLD * len(text):
        return list(headings)
    found = {
        start: Heading(start, end, _level(text[start:end]))
        for start, end in bold
        if end - start <= LONGEST and _LETTERS.search(text, start, end)
    }
    return sorted((found | {one.start: one for one in headings}).values())


def _level(text: str) -> int:
    if _PARTS.match(text):
        return 1
    if _SECTIONS.match(text):
        return 2
    number = _NUMBER.match(text)
    return min(number[1].count(".") + 2, _UNNUMBERED - 1) if number else _UNNUMBERED
