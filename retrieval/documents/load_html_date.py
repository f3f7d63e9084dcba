"""Find the date that a web page states of itself, that of its last change before that of its first day."""

import re
from typing import TYPE_CHECKING

from retrieval.documents.load_date import stated_day

if TYPE_CHECKING:
    from bs4 import Tag

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
