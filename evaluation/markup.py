"""HTML that is safe by construction: whatever is not ``Html`` is text, and is escaped."""

from __future__ import annotations

import re
from html import escape

VOID = frozenset(("meta", "br", "hr"))
# What HTML forbids, halves of surrogate pairs, and the marks that reorder the text around them.
UNSHOWABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


class Html(str):
    """Markup as it is; only this module and the drawings make it."""

    __slots__ = ()


def text(value: object) -> Html:
    """The value as it reads, whatever it holds."""
    if isinstance(value, Html):
        return value
    return Html(escape(UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", str(value)), quote=True))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """An element; None among the children is left out, ``class_`` is ``class``, True is an attribute without value."""
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*parts: object) -> Html:
    """The parts one after the other; None is left out."""
    return Html("".join(text(part) for part in parts if part is not None))


def marked(passage: str, quotes: list[str]) -> Html:
    """The passage with the places of the quotes in ``mark``; quotes that do not stand in it are left out."""
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
