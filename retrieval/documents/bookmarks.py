"""Take the bookmarks of a PDF for the headings of its pages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from retrieval.documents.headings import DEEPEST, Heading, plain_title
from retrieval.documents.loaded import ABOVE, Section

MOST_BOOKMARKS = 20_000  # of a document; further ones are not read
_WORD = re.compile(r"\w+")
_NUMBER = r"(?:(?:chapter|appendix|section|part)\s+)?(?:[\dA-Z]{1,3}(?:\.\d{1,3}){0,5}\W{1,3})?"


class Bookmark(NamedTuple):
    """A bookmark: its page and its level, both from 1, and its title."""

    page: int
    level: int
    title: str


def with_bookmarks(sections: Sequence[Section], bookmarks: Iterable[Bookmark]) -> list[Section]:
    """Return the pages with the bookmarks whose titles stand on a line of theirs as headings, below a blank line.

    ``extra[ABOVE]`` of a page lists the headings that hold from earlier pages on, each as its level and title.
    """
    found: list[Section] = []
    left = sorted(bookmarks, key=lambda one: one.page)[::-1]  # the next one last
    above: list[tuple[int, str]] = []
    for section in sections:
        text, page = section.text, section.page or 0
        while left and left[-1].page < page:  # of a page without text
            _open(above, left.pop(), "")
        extra = {**(section.extra or {}), ABOVE: list(above)} if above else section.extra
        headings: list[Heading] = []
        while left and left[-1].page == page:
            one = left.pop()
            place = _line_of(one.title, text, headings[-1].end if headings else 0)
            if place:
                before = text[: place.start(1)].rstrip()
                begin = len(before) + 2 if before else 0
                text = f"{before}\n\n{text[place.start(1) :]}" if before else text[place.start(1) :]
                headings.append(Heading(begin, begin + len(place[1]), min(one.level, DEEPEST)))
            _open(above, one, place[1] if place else "")
        found.append(replace(section, text=text, extra=extra, headings=tuple(headings)))
    return found


def _open(above: list[tuple[int, str]], one: Bookmark, line: str) -> None:
    """Add a heading to those above what follows, in place of those of its level and below."""
    while above and above[-1][0] >= one.level:
        above.pop()
    above.append((min(one.level, DEEPEST), plain_title(line or one.title)))


def _line_of(title: str, text: str, start: int) -> re.Match[str] | None:
    """Find the line with a bookmark's title, which may have a number in front that the bookmark lacks."""
    words = _WORD.findall(title)
    if not words:
        return None
    pattern = r"\W{1,5}".join(map(re.escape, words))
    return re.compile(rf"^\W{{0,3}}({_NUMBER}{pattern})\W{{0,3}}$", re.I | re.M).search(text, start)
