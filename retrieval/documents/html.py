"""Read the text of a web page: its title, headings, paragraphs and tables, not its furniture."""

import re
import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any

from bs4 import BeautifulSoup
from bs4.builder._htmlparser import BeautifulSoupHTMLParser, HTMLParserTreeBuilder

from core.text import clean
from retrieval.documents.decode import stated_day

if TYPE_CHECKING:
    from bs4 import Tag
    from bs4.element import PageElement


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


_NAMES = (  # of meta elements, the ones that say the most first
    *("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified"),
    *("article:published_time", "datepublished", "dcterms.issued", "dcterms.date", "dc.date", "dcterms.created"),
    *("date", "pubdate", "publish-date"),
)
_LINKED_DATA = tuple(re.compile(rf'"{name}"\s*:\s*"([^"]{{8,40}})"') for name in ("dateModified", "datePublished"))


def page_date(page: "Tag") -> str | None:
    """Return the day that the head states, else the one in the page's only article, as 'YYYY-MM-DD'."""
    stated: dict[str, str] = {}
    for meta in page.find_all("meta", content=True):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv")
        stated.setdefault(str(name).lower(), str(meta["content"]))
    return stated_day(*map(stated.get, _NAMES)) or _linked_day(page) or _article_day(page)


def _linked_day(page: "Tag") -> str | None:
    scripts = page.find_all("script", type="application/ld+json", limit=10)
    data = "\n".join(script.get_text() for script in scripts)
    found = (name.search(data) for name in _LINKED_DATA)
    return stated_day(*(match[1] for match in found if match))


def _article_day(page: "Tag") -> str | None:
    """Return the first time that the article names: of several articles none is the page's."""
    articles = page.find_all("article", limit=2)
    time = articles[0].find("time", datetime=True) if len(articles) == 1 else None
    return stated_day(time["datetime"]) if time else None


_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w.:-]+)|encoding=["']([\w.:-]+)""", re.I)
_NEVER = (
    *("script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "head"),
    *("button", "select", "textarea", "dialog", "datalist"),
)
_FURNITURE = ("nav", "footer", "aside")
_ARTICLES = ("article", "main")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = (
    *("p", "div", "section", "article", "main", "header", "footer", "blockquote", "pre", "figure"),
    *("figcaption", "table", "details", "fieldset", "address", "hr", "form", "body"),
)
_ITEMS = ("li", "dt", "dd", "tr", "caption", "summary", "legend")
# Marks that no string can hold, since cleaning takes control characters out of it.
_LINE, _BLOCK, _KEPT = "\x01", "\x02", "\x03"
_CELL_END, _ITEM, _ITEM_END, _HEADING_END = "\x04", "\x05", "\x06", "\x07"
_MAIN = 0.3  # of the page's text at least is in its main part, or that is not what it is for
_SPACE = re.compile(r"\s+")
_RUN = re.compile(r"([\x01\x02\x04-\x07][\x01\x02\x04-\x07\s]*)")
_MARKS = {
    "br": (_LINE, ""),
    **dict.fromkeys(("ul", "ol", "dl"), (_LINE, _LINE)),
    **dict.fromkeys(("td", "th"), ("", _CELL_END)),
    **dict.fromkeys(_ITEMS, (_ITEM, _ITEM_END)),
    **dict.fromkeys(_HEADINGS, (_BLOCK, _HEADING_END)),
    **dict.fromkeys(_BLOCKS, (_BLOCK, _BLOCK)),
}
# What no reader of the page sees is no part of it: a common place for instructions to a model.
_HIDDEN = re.compile(
    r"display\s*:\s*none"
    r"|visibility\s*:\s*(?:hidden|collapse)"
    r"|opacity\s*:\s*(?:(?:0+(?:\.0*)?|\.0*)\s*)?(?:[;!]|$)"
    r"|font-size\s*:\s*0(?![.\d]*[1-9])"
    r"|(?:left|top|text-indent)\s*:\s*-\d{3,}"
    r"|clip(?:-path)?\s*:\s*(?:rect\(0|inset\((?:50|100)%)"
    r"|scale\(0\)"
    r"|(?<!-)color\s*:\s*transparent",
    re.I,
)
_NO_SIZE = re.compile(r"(?:height|width)\s*:\s*0(?![.\d]*[1-9])", re.I)
_CUT_OFF = re.compile(r"overflow\s*:\s*hidden", re.I)


def declared_encoding(data: bytes) -> str | None:
    """Return the encoding that the page's head names, if any."""
    match = _CHARSET.search(data[:4_096])
    return (match[1] or match[2]).decode("ascii", "ignore") if match else None


def read_html(text: str) -> str:
    """Return the text of a page, a blank line between paragraphs, a heading above its paragraph.

    Raises ``ValueError`` with the rest of a sentence that begins with the file's name.
    """
    return read_page(text)[0]


def read_page(text: str) -> tuple[str, str | None]:
    """Return the text of a page as ``read_html`` does, and the day when it was last changed, if it states one."""
    from retrieval.documents.html import parse_page

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of XHTML, or a page of a name or an address alone, it thinks aloud
            page = parse_page(text)
        title = clean(page.title.get_text()) if page.title else ""
        body = _body(page)
    except RecursionError as error:
        raise ValueError("is nested too deep to be read: save it as plain text") from error
    title = " ".join(title.split())
    return body if body.startswith(title) else f"{title}\n\n{body}".strip(), page_date(page)


def _body(page: "Tag") -> str:
    """Return the text of the page's main part, or of all of it where that part is too small to be the text."""
    whole = _lay_out("".join(_pieces(page)))
    main = _main_part(page)
    text = _lay_out("".join(_pieces(main))) if main else ""
    return text if text and len(text) >= _MAIN * len(whole) else whole


def _main_part(page: "Tag") -> "Tag | None":
    """Return the only main element, else the only article; none when it is hidden, or in what is furniture."""
    for parts in (page.find_all("main"), page.find_all(role="main"), page.find_all("article")):
        if len(parts) == 1:
            around = (parts[0], *parts[0].parents)
            return None if any(_is_hidden(tag) or tag.name in _FURNITURE for tag in around) else parts[0]
    return None


def _pieces(page: "Tag") -> Iterator[str]:
    """Yield the page's strings and the marks of its layout, in order and at any depth."""
    from bs4 import Tag
    from bs4.element import NavigableString, PreformattedString

    around_text = _around_text(page)
    preformatted, in_article = 0, int(page.name in _ARTICLES)
    open_tags: list[tuple[Tag, Iterator[PageElement]]] = [(page, iter(page.contents))]
    while open_tags:
        tag, children = open_tags[-1]
        child = next(children, None)
        if child is None:
            preformatted -= tag.name == "pre"
            in_article -= tag.name in _ARTICLES
            yield _MARKS.get(tag.name, ("", ""))[1]
            open_tags.pop()
        elif isinstance(child, Tag):
            if not _left_out(child, in_article > 0, around_text):
                preformatted += child.name == "pre"
                in_article += child.name in _ARTICLES
                yield _MARKS.get(child.name, ("", ""))[0]
                open_tags.append((child, iter(child.contents)))
        elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
            string = clean(child)
            yield string.replace("\n", _LINE).replace(" ", _KEPT) if preformatted else string


def _around_text(page: "Tag") -> set[int]:
    """Return the ids of the tags round a heading, a paragraph or the main part; none if there is no form."""
    seen: set[int] = set()
    for tag in page.find_all(["p", "article", "main", *_HEADINGS]) if page.find("form") else ():
        for parent in tag.parents:
            if id(parent) in seen:
                break
            seen.add(id(parent))
    return seen


def _left_out(tag: "Tag", in_article: bool, around_text: Container[int]) -> bool:
    """Whether a tag is furniture or hidden; a form round a page and an article's header are neither."""
    if _is_hidden(tag):
        return True
    if tag.name == "form":
        return id(tag) not in around_text
    if tag.name == "header":
        return not in_article
    return tag.name in _FURNITURE


def _is_hidden(tag: "Tag") -> bool:
    if tag.name in _NEVER or tag.has_attr("hidden"):
        return True
    style = str(tag.get("style", ""))
    return bool(style) and (_HIDDEN.search(style) is not None or _is_cut_off(style))


def _is_cut_off(style: str) -> bool:
    """Whether no size is stated and, after it on its line, that what does not fit is hidden."""
    lines = [match.start() for match in re.finditer("\n", style)]
    cuts = {bisect_left(lines, cut.start()): cut.start() for cut in _CUT_OFF.finditer(style)}  # the last of each line
    return bool(cuts) and any(
        cuts.get(bisect_left(lines, size.end()), -1) >= size.end() for size in _NO_SIZE.finditer(style)
    )


def _lay_out(text: str) -> str:
    """Collapse the source's own white space and turn the marks into lines."""
    laid_out = []
    for index, part in enumerate(_RUN.split(text)):
        laid_out.append(_separator(part) if index % 2 else _SPACE.sub(" ", part).strip(" "))
    return "".join(laid_out).replace(_KEPT, " ").strip()


def _separator(marks: str) -> str:
    """Choose what stands between two strings for the marks between them."""
    cell = block = swallow = False
    for mark in marks:
        if mark == _CELL_END:
            cell = True
        elif mark in (_ITEM, _ITEM_END):
            cell = False
        if mark in (_ITEM, _HEADING_END):
            swallow = True  # a paragraph in an item, or under its heading, begins on the next line
        elif mark == _ITEM_END:
            block = False
        elif mark == _BLOCK and not swallow:
            block = True
    if cell:
        return " | "
    return "\n\n" if block else "\n"
