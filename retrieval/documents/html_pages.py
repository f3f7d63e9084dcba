"""Join the printed pages of a web page, such as an annual report: without their page numbers and running heads."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bs4 import Tag

_BREAK = re.compile(r"(?:page-)?break-(?:after|before)\s*:\s*(?:always|page)", re.I)
_MOST = 1_000  # breaks: nested in each other, they take the square of their number
_NEAR = 5  # siblings on each side of a break that can be running heads
_LONGEST = 200  # characters of a running head
_FEWEST = 5  # breaks beside which it stands
_NUMBER = "0"  # a page's, of whatever digits
_DIGITS = re.compile(r"\d+")
_TEXT = {"p", "div"}
_ENDS = (".", "!", "?", ":", ";")


def join_pages(page: "Tag", is_left_out: Callable[["Tag"], bool]) -> None:
    """Remove what repeats at the breaks of pages, but for the first time, and join paragraphs that a break divides.

    Siblings of a break that are ``is_left_out`` stay as they are: joined to others, hidden text would be seen.
    """
    breaks = page.find_all(style=_BREAK)
    if len(breaks) > _MOST:
        return
    found = [(one.find_previous_siblings(limit=_NEAR), one.find_next_siblings(limit=_NEAR)) for one in breaks]
    sides = [[[one for one in side if not is_left_out(one)] for side in pair] for pair in found]
    counts = Counter(text for pair in sides for text in {_numberless(one) for side in pair for one in side} if text)
    heads = {text: text == _NUMBER for text, count in counts.items() if count >= _FEWEST}
    for before, after in sides:
        last, first = _without_heads(before, heads), _without_heads(after, heads)
        if last and first and {last.name, first.name} <= _TEXT and _breaks_off(last) and _goes_on(first):
            last.append(" ")
            last.extend(list(first.contents))
            first.decompose()


def _without_heads(side: "Iterable[Tag]", heads: dict[str, bool]) -> "Tag | None":
    """Remove the running heads nearest to a break, and return the first sibling behind them that has text.

    ``heads`` says of each whether it stood before.
    """
    for one in side:
        text = "" if one.decomposed else _numberless(one)
        if text is None or (text and text not in heads):
            return one
        if text and heads[text]:
            one.decompose()
        elif text:
            heads[text] = True
    return None


def _numberless(tag: "Tag") -> str | None:
    """Return a short text with each number as 0; None for a longer one."""
    text = " ".join(tag.get_text().split())
    return _DIGITS.sub(_NUMBER, text) if len(text) <= _LONGEST else None


def _breaks_off(tag: "Tag") -> bool:
    text = tag.get_text().rstrip()
    return text != "" and not text.endswith(_ENDS)


def _goes_on(tag: "Tag") -> bool:
    return tag.get_text().lstrip()[:1].islower()
