"""An answer with its evidence as a file: Markdown, JSON, or one HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from app.show import spent
from app.show_check import as_page, counts_of, marked_text
from core.passages import place_of
from core.text import as_json, clean
from core.types import Citation
from evaluation.reporting.markup import Html, joined, tag

if TYPE_CHECKING:
    from app.checked_text import CheckedText
    from app.result import Result
    from app.server.runs import Run

STYLE = Html(
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}"
    "blockquote{border-left:3px solid #888;margin:.5rem 0;padding:.2rem 1rem;white-space:pre-wrap}"
    ".answer{white-space:pre-wrap}svg{max-width:100%;height:auto}small{color:#666}"
)
TYPES = {"markdown": ("text/markdown", "md"), "json": ("application/json", "json"), "html": ("text/html", "html")}


def exported(run: Run, result: Result, form: str) -> str:
    """Return the answer of a finished run in one of `TYPES`."""
    if form == "json":
        return as_json(result.model_dump(mode="json"), indent=2)
    return _markdown(run, result) if form == "markdown" else _html(run, result)


def exported_check(checked: CheckedText, name: str, form: str) -> str:
    """Return a checked text in one of `TYPES`."""
    if form == "json":
        return as_json(checked.model_dump(mode="json"), indent=2)
    if form == "html":
        return as_page(checked, name)
    parts = (f"# Claims of {' '.join(name.split())}", marked_text(checked), counts_of(checked))
    return "\n\n".join([*map(_plain, parts), "\n".join(_evidence(checked.citations))])


def cost_of(result: Result) -> str:
    """Return the outcome, the reason and the cost in a line."""
    return f"{result.outcome} ({result.stop_reason}) · {spent(result.usage, result.usage['seconds'])}"


def _verdicts(result: Result) -> list[tuple[str, str]]:
    """Each claim, and its verdict with how probable that is."""
    said = []
    for claim in result.claims:
        probable = (claim.probabilities or {}).get(claim.label)
        numbers = "".join(f" [{number}]" for number in claim.citations)
        said.append((claim.text, claim.label + ("" if probable is None else f" {probable:.2f}") + numbers))
    return said


def _markdown(run: Run, result: Result) -> str:
    lines = [
        f"# {_plain(' '.join(result.question.split()))}",
        "",
        _plain(run.numbered),
        "",
        _plain(cost_of(result)),
        "",
    ]
    if result.claims:
        lines += ["## Claims", "", *(f"- {_plain(text)} — {_plain(label)}" for text, label in _verdicts(result)), ""]
    return "\n".join([*lines, *_evidence(result.citations)])


def _plain(text: str) -> str:
    """Escape HTML, which readers of Markdown run."""
    return escape(clean(text), quote=False)


def _evidence(citations: Sequence[Citation]) -> list[str]:
    lines = ["## Evidence", ""] if citations else []
    for one in citations:
        quoted = _plain(one["quote"]).replace("\n", "\n> ")
        lines += [f"[{one['id']}] {_plain(place_of(one))}", "", f"> {quoted}", ""]
    return lines


def _html(run: Run, result: Result) -> str:
    claims = [tag("li", text, " — ", tag("small", label)) for text, label in _verdicts(result)]
    evidence = [
        joined(tag("p", f"[{one['id']}] ", place_of(one)), tag("blockquote", one["quote"])) for one in result.citations
    ]
    body = tag(
        "body",
        tag("h1", result.question),
        tag("p", run.numbered, class_="answer"),
        tag("p", tag("small", cost_of(result))),
        *((tag("h2", "Claims"), tag("ul", *claims)) if claims else ()),
        *((tag("h2", "Evidence"), *evidence) if evidence else ()),
        tag("h2", "Path"),
        Html(result.picture().svg),
    )
    head = tag("head", tag("meta", charset="utf-8"), tag("title", result.question), tag("style", STYLE))
    return "<!doctype html>\n" + tag("html", head, body) + "\n"
