"""Parse a web page in linear time, however many tags are open. Tags that HTML may leave open (``<td>``) are closed."""

from collections import Counter
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.builder._htmlparser import BeautifulSoupHTMLParser, HTMLParserTreeBuilder

_SCAN_BUDGET = 80_000_000  # characters that may be scanned for missing ends of tags,
_SCANS = 16  # plus so many times the length of the page
_CELL = ("td", "th", "p")
_ROW = (*_CELL, "tr", "caption")
_GROUP = (*_ROW, "thead", "tbody", "tfoot")
# The open tags that a start tag ends, within the same table.
_ENDED = {"p": ("p",), "td": _CELL, "th": _CELL, "tr": _ROW, **dict.fromkeys(("thead", "tbody", "tfoot"), _GROUP)}
_TAG_COST = 8  # a scan for the end of a start tag is so many times slower than for the end of a comment


def parse_page(text: str) -> BeautifulSoup:
    """Return the tree of a page.

    Raises ``ValueError`` (see `_Parser`), whose message completes a sentence that begins with the file's name.
    """
    return _Page(text, builder=_Builder())


class _Page(BeautifulSoup):
    """A tree that adds a string in constant time at any depth, and closes cells, rows and paragraphs left open."""

    def reset(self) -> None:
        self._open: list[str] = []  # open tags of tables and paragraphs
        super().reset()

    def pushTag(self, tag: Tag) -> None:  # noqa: N802 - as Beautiful Soup names it
        super().pushTag(tag)
        if tag.name in _GROUP or tag.name == "table":
            self._open.append(tag.name)

    def popTag(self) -> Tag | None:  # noqa: N802
        if self.currentTag is not None and self._open and self.currentTag.name == self._open[-1]:
            self._open.pop()
        return super().popTag()

    def handle_starttag(self, name: str, *arguments: Any, **named: Any) -> Tag | None:
        while self._open and self._open[-1] in _ENDED.get(name, ()):
            self.handle_endtag(self._open[-1])
        return super().handle_starttag(name, *arguments, **named)

    def _linkage_fixer(self, el: Tag) -> None:
        """Do nothing: the original looks in all parents for the element after a string, which is not parsed yet."""


class _Parser(BeautifulSoupHTMLParser):
    """A parser that takes linear time: it gives up on a page with very many tags or comments without an end.

    For each tag or comment without an end, Python's parser scans the rest of the page. At each end tag, Beautiful Soup
    searches a list of the void tags so far, such as ``<br>``; a multiset replaces this list.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.already_closed_empty_element = _Multiset()  # type: ignore[assignment]
        self._scans_left = _SCAN_BUDGET

    def feed(self, data: str) -> None:
        self._scans_left += _SCANS * len(data)
        super().feed(data)

    def parse_starttag(self, i: int) -> int:
        return self._counted(i, super().parse_starttag(i), _TAG_COST)

    def parse_endtag(self, i: int) -> int:
        return self._counted(i, super().parse_endtag(i))

    def parse_comment(self, i: int, report: bool = True) -> int:
        return self._counted(i, super().parse_comment(i, report))

    def parse_pi(self, i: int) -> int:
        return self._counted(i, super().parse_pi(i))

    def parse_html_declaration(self, i: int) -> int:
        return self._counted(i, super().parse_html_declaration(i))

    def _counted(self, start: int, end: int, cost: int = 1) -> int:
        if end < 0:
            self._scans_left -= cost * (len(self.rawdata) - start)
            if self._scans_left < 0:
                raise ValueError("has too many tags or comments without an end: save it anew with a browser")
        return end


class _Builder(HTMLParserTreeBuilder):
    def feed(self, markup: str | bytes, _parser_class: type[BeautifulSoupHTMLParser] = _Parser) -> None:
        super().feed(markup, _parser_class)


class _Multiset(Counter[str]):
    """A multiset with the methods of a list that Beautiful Soup uses, in constant time."""

    def __contains__(self, tag: object) -> bool:
        return self[tag] > 0  # type: ignore[index]

    def append(self, tag: str) -> None:
        self[tag] += 1

    def remove(self, tag: str) -> None:
        self[tag] -= 1
