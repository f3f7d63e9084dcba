"""Parse a web page with Beautiful Soup, in time that grows with the page even where it is made to be slow."""

from collections import Counter
from typing import Any

from bs4 import BeautifulSoup
from bs4.builder._htmlparser import BeautifulSoupHTMLParser, HTMLParserTreeBuilder

_IN_VAIN = 80_000_000  # characters that may be looked through for ends that are not there,
_TIMES = 16  # and so many times those of the page
_SLOWER = 8  # times the search for the end of a start tag is slower than for that of a comment


def parse_page(text: str) -> BeautifulSoup:
    """Return the tree of a page.

    Raises ``ValueError`` with the rest of a sentence that begins with the file's name, and ``RecursionError``.
    """
    return BeautifulSoup(text, builder=_Builder())


class _Parser(BeautifulSoupHTMLParser):
    """Give up on a page in which a great many tags or comments never end.

    For each of them Python's parser looks through the rest of the page. And for each end tag Beautiful Soup looks
    through a list of all tags like ``<br>``, for which a bag is enough.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.already_closed_empty_element = _Bag()  # type: ignore[assignment]
        self._left = _IN_VAIN

    def feed(self, data: str) -> None:
        self._left += _TIMES * len(data)
        super().feed(data)

    def parse_starttag(self, i: int) -> int:
        return self._counted(i, super().parse_starttag(i), _SLOWER)

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
            self._left -= cost * (len(self.rawdata) - start)
            if self._left < 0:
                raise ValueError("has too many tags or comments without an end: save it anew with a browser")
        return end


class _Builder(HTMLParserTreeBuilder):
    def feed(self, markup: str | bytes, _parser_class: type[BeautifulSoupHTMLParser] = _Parser) -> None:
        super().feed(markup, _parser_class)


class _Bag(Counter[str]):
    """The part of a list that Beautiful Soup uses, without a search through all of it."""

    def __contains__(self, tag: object) -> bool:
        return self[tag] > 0  # type: ignore[index]

    def append(self, tag: str) -> None:
        self[tag] += 1

    def remove(self, tag: str) -> None:
        self[tag] -= 1
