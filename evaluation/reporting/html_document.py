"""The frame of every HTML page: it loads nothing, runs nothing, and follows the reader's colour scheme."""

from __future__ import annotations

from core.markup import Html, joined, tag
from evaluation.reporting.drawing import DARK, LIGHT, variables
from evaluation.reporting.style import STYLE

CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_document(title: str, *content: object) -> Html:
    """Return a whole page; ``content`` are the elements of its main part."""
    style = f":root{{{variables(LIGHT)}}}@media (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}{STYLE}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=CONTENT_SECURITY_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(style)),
    )
    return joined(Html("<!doctype html>\n"), tag("html", head, tag("body", tag("main", *content)), lang="en"))
