"""HTML that is safe by construction: whatever is not ``Html`` is text, and is escaped."""

from __future__ import annotations

from html import escape

from core.text import clean

VOID = frozenset(("meta", "br", "hr"))


class Html(str):
    """Markup as it is; only this module and the drawings make it."""

    __slots__ = ()


def text(value: object) -> Html:
    """The value as it reads, whatever it holds: what HTML forbids, or would reorder the text around it, is left out."""
    if isinstance(value, Html):
        return value
    return Html(escape(clean(str(value)), quote=True))


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
