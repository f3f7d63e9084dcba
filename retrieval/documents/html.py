"""Read the text of a web page: its title, headings, paragraphs and tables, without navigation and other boilerplate."""

import re
import warnings
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from core.text import clean
from retrieval.documents.bold_headings import LONGEST, with_bold
from retrieval.documents.decode import stated_day
from retrieval.documents.headings import Heading, plain_title
from retrieval.documents.html_pages import join_pages
from retrieval.documents.html_tables import CELLS, ColumnNames
from retrieval.documents.loaded import Loaded

if TYPE_CHECKING:
    from bs4 import Tag
    from bs4.element import PageElement


_NAMES = (  # of meta elements, in order of preference
    *("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified"),
    *("article:published_time", "datepublished", "dcterms.issued", "dcterms.date", "dc.date", "dcterms.created"),
    *("date", "pubdate", "publish-date"),
)
_LINKED_DATA = tuple(re.compile(rf'"{name}"\s*:\s*"([^"]{{8,40}})"') for name in ("dateModified", "datePublished"))


def page_date(page: "Tag") -> str | None:
    """Return the day stated in the head, else in the page's only article, as 'YYYY-MM-DD'."""
    stated: dict[str, str] = {}
    for meta in page.find_all("meta", content=True):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv")
        stated.setdefault(str(name).lower(), str(meta["content"]))
    data = "\n".join(script.get_text() for script in page.find_all("script", type="application/ld+json", limit=10))
    linked = (match[1] for name in _LINKED_DATA if (match := name.search(data)))
    articles = page.find_all("article", limit=2)  # if there are several, none is the page itself
    time = articles[0].find("time", datetime=True) if len(articles) == 1 else None
    return stated_day(*map(stated.get, _NAMES), *linked, time and time["datetime"])


_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w.:-]+)|encoding=["']([\w.:-]+)""", re.I)
_NON_TEXT = (
    *("script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "head"),
    *("button", "select", "textarea", "dialog", "datalist"),
)
# Of a filing with the SEC, in inline XBRL.
_FACTS = ("EntityRegistrantName", "DocumentType", "DocumentPeriodEndDate")
_BOILERPLATE = ("nav", "footer", "aside")
_NAVIGATION = frozenset({"navheader", "navfooter", "nav-panel", "navbar", "navigation", "breadcrumb", "breadcrumbs"})
_PERMALINKS = ("¶", "#", "🔗", "\uf0c1")  # of headings
_ARTICLES = ("article", "main")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = (
    *("p", "div", "section", "article", "main", "header", "footer", "blockquote", "pre", "figure"),
    *("figcaption", "table", "details", "fieldset", "address", "hr", "form", "body"),
)
_ITEMS = ("li", "dt", "dd", "tr", "caption", "summary", "legend")
# Layout marks: control characters, which cleaning removes from the page's own strings.
_LINE, _BLOCK, _KEPT = "\x01", "\x02", "\x03"
_CELL_END, _ITEM, _ITEM_END, _HEADING_END = "\x04", "\x05", "\x06", "\x07"
_BOLD, _BOLD_END = "\x15", "\x16"  # outside the tags in which bold makes no heading
_APART = (*CELLS, "li", "dd", "pre", "caption", "figcaption", *_HEADINGS)
_BOLD_STYLE = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)", re.I)
_CELL_LINE = "\x14"  # for lines and blocks within a table cell, as a row stays on one line
_SHORT = 60  # characters: a longer heading does not end a sentence
_TITLE = re.compile(r"((?:[(§]?[\w.]{1,12}[.)]?\s)?[^\W\d_][^.:;]{1,60})\.\s")  # of a clause
_MAIN = 0.3  # share of the page's text that its main part must have to be used alone
_SPACE = re.compile(r"\s+")
# Where headings of the levels 1 to 6 begin; each stands beside a mark of a block, and so changes no layout.
_LEVELS = dict(zip(_HEADINGS, "\x0e\x0f\x10\x11\x12\x13", strict=True))
_RUN = re.compile(r"([\x01\x02\x04-\x07\x0e-\x14][\x01\x02\x04-\x07\x0e-\x16\s]*)")
_BOLDS = re.compile(r"([\x15\x16])")
_EXPONENT = re.compile(r"[-+−]?[0-9]{1,3}")
_RAISED = str.maketrans("0123456789-+−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺⁻")
_MARKS = {
    "br": (_LINE, ""),
    **dict.fromkeys(("ul", "ol", "dl"), (_LINE, _LINE)),
    **dict.fromkeys(("td", "th"), ("", _CELL_END)),
    **dict.fromkeys(_ITEMS, (_ITEM, _ITEM_END)),
    **{name: (_BLOCK + level, _HEADING_END) for name, level in _LEVELS.items()},
    **dict.fromkeys(_BLOCKS, (_BLOCK, _BLOCK)),
}
# Text that a reader of the page cannot see is left out: it is a common place for instructions to a model.
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


def read_html(text: str) -> Loaded:
    """Read a page: with a blank line between paragraphs, each heading directly above its text, and one line per row.

    Raises ``ValueError``, whose message completes a sentence that begins with the file's name.
    """
    from retrieval.documents.html_parser import parse_page  # imported here, as its parser takes long to import

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about XHTML, or a page that is just a file name or a URL
            page = parse_page(text)
        filing = _filing(page) if "dei:" in text else ""
        title = filing or (clean(page.title.get_text()) if page.title else "")
        body, headings = _body(page)
    except RecursionError as error:
        raise ValueError("is nested too deep to be read: save it as plain text") from error
    title = " ".join(title.split())
    if not body.startswith(title):
        before = f"{title}\n\n"
        body = (before + body).rstrip()
        headings = [Heading(one.start + len(before), one.end + len(before), one.level) for one in headings]
    return Loaded.of(body, headings, page_date(page), plain_title(title))


def _filing(page: "Tag") -> str:
    """Return whose filing with the SEC a page is, which form, and until when, as inline XBRL states it; else ""."""
    facts = (page.find(None, attrs={"name": f"dei:{name}"}) for name in _FACTS)
    who, *others = (clean(one.get_text()) if one else "" for one in facts)
    return " ".join([who, *others]) if who else ""


def _body(page: "Tag") -> tuple[str, list[Heading]]:
    """Return the text and headings of the page's main part, or of the whole page if that part is too small."""
    join_pages(page, lambda tag: _is_left_out(tag, in_article=False, text_ancestors=()))
    names = ColumnNames(page, lambda cell: _lay_out("".join(_pieces(cell)))[0], _is_hidden)
    whole = _lay_out("".join(_pieces(page, names)))
    main = _main_part(page)
    found = _lay_out("".join(_pieces(main, names))) if main else ("", [])
    return found if found[0] and len(found[0]) >= _MAIN * len(whole[0]) else whole


def _main_part(page: "Tag") -> "Tag | None":
    """Return the only main element, else the only article; None when it is hidden or within boilerplate."""
    for parts in (page.find_all("main"), page.find_all(role="main"), page.find_all("article")):
        if len(parts) == 1:
            path = (parts[0], *parts[0].parents)
            return None if any(_is_hidden(tag) or tag.name in _BOILERPLATE for tag in path) else parts[0]
    return None


def _pieces(page: "Tag", names: ColumnNames | None = None) -> Iterator[str]:
    """Yield the page's strings and layout marks in document order; ``names`` gives what to put before a cell's text."""
    from bs4 import Tag
    from bs4.element import NavigableString, PreformattedString

    text_ancestors = _text_ancestors(page)
    preformatted, in_article, raised, apart, name, in_cell = 0, int(page.name in _ARTICLES), 0, 0, "", False
    open_tags: list[tuple[Tag, Iterator[PageElement]]] = [(page, iter(page.contents))]
    while open_tags:
        tag, children = open_tags[-1]
        child = next(children, None)
        if child is None:
            preformatted -= tag.name == "pre"
            in_article -= tag.name in _ARTICLES
            raised -= tag.name == "sup"
            if tag.name in CELLS:
                name, in_cell = "", False
            yield _CELL_LINE if in_cell and tag.name in _MARKS else _MARKS.get(tag.name, ("", ""))[1]
            apart -= tag.name in _APART
            if names and not apart and _is_bold(tag):
                yield _BOLD_END
            open_tags.pop()
        elif isinstance(child, Tag):
            if not _is_left_out(child, in_article > 0, text_ancestors) and not (
                names and id(child) in names.header_rows
            ):
                preformatted += child.name == "pre"
                in_article += child.name in _ARTICLES
                raised += child.name == "sup"
                if names and not apart and _is_bold(child):
                    yield _BOLD
                apart += child.name in _APART
                yield _CELL_LINE if in_cell and child.name in _MARKS else _MARKS.get(child.name, ("", ""))[0]
                if child.name == "input" and child.get("type") == "checkbox":
                    yield "☒ " if child.has_attr("checked") else "☐ "
                if names and child.name in CELLS:
                    name = names.before.get(id(child), "")
                    in_cell = id(child) in names.before and not child.find("table")
                open_tags.append((child, iter(child.contents)))
        elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
            string = clean(child)
            if raised and _EXPONENT.fullmatch(string.strip()):
                string = string.translate(_RAISED)  # 120 with the note 1 is not 1201
            if name and string.strip():
                yield name
                name = ""
            yield string.replace("\n", _CELL_LINE if in_cell else _LINE).replace(" ", _KEPT) if preformatted else string


def _text_ancestors(page: "Tag") -> set[int]:
    """Return the ids of tags around text, such as a paragraph, to recognise forms around it; empty without any form."""
    seen: set[int] = set()
    for tag in page.find_all(["p", "article", "main", *_HEADINGS]) if page.find("form") else ():
        for parent in tag.parents:
            if id(parent) in seen:
                break
            seen.add(id(parent))
    return seen


def _is_left_out(tag: "Tag", in_article: bool, text_ancestors: Container[int]) -> bool:
    """True if a tag is hidden or boilerplate; forms around text and headers of articles are not boilerplate."""
    if _is_hidden(tag):
        return True
    if tag.name == "form":
        return id(tag) not in text_ancestors
    if tag.name == "header":
        return not in_article
    if tag.name == "a":
        only = tag.contents[0] if len(tag.contents) == 1 else None
        return isinstance(only, str) and only in _PERMALINKS
    named = tag.get("role") == "navigation" or not _NAVIGATION.isdisjoint(tag.get_attribute_list("class"))
    return named or tag.name in _BOILERPLATE


def _is_hidden(tag: "Tag") -> bool:
    if tag.name in _NON_TEXT or tag.has_attr("hidden"):
        return True
    style = str(tag.get("style", ""))
    return _HIDDEN.search(style) is not None or bool(_NO_SIZE.search(style) and _CUT_OFF.search(style))


def _is_bold(tag: "Tag") -> bool:
    return tag.name in ("b", "strong") or _BOLD_STYLE.search(str(tag.get("style", ""))) is not None


def _lay_out(text: str) -> tuple[str, list[Heading]]:
    """Collapse the source's white space, replace the marks by line breaks and cell separators, and find headings."""
    laid_out: list[str] = []
    begun: list[tuple[int, int, int]] = []  # of headings: where they begin, where they end, and their level
    bold: list[tuple[int, int]] = []
    depth = length = 0
    for index, part in enumerate(_RUN.split(text)):
        if index % 2 and begun and not begun[-1][1]:
            begun[-1] = (begun[-1][0], length, begun[-1][2])
        plain, all_bold, depth = _without_bold(part, depth)
        if index % 2 and _HEADING_END in plain and _is_paragraph(laid_out[-1]):
            plain = plain.replace(_HEADING_END, "")
        laid_out.append(_separator(plain) if index % 2 else _SPACE.sub(" ", plain).strip(" "))
        if all_bold and not index % 2:
            bold.append((length, length + len(laid_out[-1])))
        length += len(laid_out[-1])
        if index % 2 and (level := _level(plain)):
            begun.append((length, 0, level))
    joined = "".join(laid_out).replace(_KEPT, " ")
    body = joined.strip()
    before = len(joined) - len(joined.lstrip())
    spans = [(max(0, start - before), min(end - before, len(body)), level) for start, end, level in begun]
    headings = [Heading(start, _heading_end(body, start, end), level) for start, end, level in spans if start < end]
    found = [one for one in headings if one.start < one.end]
    return body, with_bold(found, body, [(start - before, end - before) for start, end in bold])


def _is_paragraph(heading: str) -> bool:
    """True if a heading is a paragraph in disguise, as the clauses of contracts are."""
    return len(heading) > LONGEST or (len(heading) > _SHORT and heading.endswith((".", ";", ",")))


def _heading_end(body: str, start: int, end: int) -> int:
    """Return where a heading ends: of a paragraph in disguise its title, as in "1.6 Updates. The customer …"."""
    if not _is_paragraph(body[start:end]):
        return end
    title = _TITLE.match(body, start, end)
    return title.end(1) if title else start


def _without_bold(part: str, depth: int) -> tuple[str, bool, int]:
    """Return a string without the marks of bold, whether all of it is bold, and how many are open behind it."""
    texts: list[str] = []
    is_bold: list[bool] = []
    for text in _BOLDS.split(part):
        if text in (_BOLD, _BOLD_END):
            depth += 1 if text == _BOLD else -1
        else:
            texts.append(text)
            is_bold += [depth > 0] if text.strip() else []
    return "".join(texts), bool(is_bold) and all(is_bold), depth


def _level(marks: str) -> int:
    """Return the level of the heading whose text follows the marks; 0 if other text follows."""
    within = marks.rpartition(_HEADING_END)[2]
    return max((level for level, mark in enumerate(_LEVELS.values(), 1) if mark in within), default=0)


def _separator(marks: str) -> str:
    """Return the separator of two strings, given the marks between them."""
    if not marks.replace(_CELL_LINE, "").strip():
        return " / "
    last = marks.rpartition(_ITEM_END)[2]
    if _CELL_END in last and _ITEM not in last:  # otherwise an empty cell ends where a row begins
        return " | "
    block = continues = False
    for mark in marks:
        if mark in (_ITEM, _HEADING_END):
            continues = True  # a paragraph in an item or under its heading follows without a blank line
        elif mark == _ITEM_END:
            block = False
        elif mark == _BLOCK and not continues:
            block = True
    return "\n\n" if block else "\n"
