"""HTML that is safe by construction: everything but ``Html`` is text, and is escaped."""

from collections.abc import Iterable
from html import escape

from core.text import clean

VOID = frozenset(("meta", "br", "hr"))


class Html(str):
    """Trusted markup; only this module and the drawings create it."""

    __slots__ = ()


def text(value: object) -> Html:
    """Escape a value unless it is `Html`; drop characters that HTML forbids or that reorder the text around them."""
    if isinstance(value, Html):
        return value
    return Html(escape(clean(str(value)), quote=True))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """Return an element. Children that are None, and attributes that are None or False, are left out.

    True is an attribute without a value, ``class_`` is ``class``, and a float is written with six significant digits.
    """
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{value:g}"' if isinstance(value, float) else f'="{text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*parts: object) -> Html:
    """Concatenate the parts; None is skipped."""
    return Html("".join(text(part) for part in parts if part is not None))


def table(names: Iterable[str], *bodies: Html, class_: str | None = None) -> Html:
    """Return a table with ``names`` above its columns; one that is too wide scrolls sideways, by keyboard too."""
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    return tag("div", tag("table", head, *bodies, class_=class_), class_="wide", tabindex="0")


def highlight_quotes(passage: str, quotes: list[str]) -> Html:
    """Wrap the quotes in the passage with ``mark``; quotes that do not occur in it are skipped."""
    spans = sorted(
        (passage.find(quote), passage.find(quote) + len(quote)) for quote in quotes if quote in passage and quote
    )
    parts: list[object] = []
    position = 0
    for start, end in spans:
        if end > position:
            start = max(start, position)
            parts += [passage[position:start], tag("mark", passage[start:end])]
            position = end
    return joined(*parts, passage[position:])
