"""Answers with their evidence as a file: Markdown, JSON, or one HTML page that needs no other file."""

from collections.abc import Iterator, Sequence
from html import escape

from app.checking.checked_text import CheckedText
from app.conversations.thread import Thread, ThreadTurn
from app.results.result import Result
from app.terminal.show_check import as_page, counts_of, marked_text, verdict_of
from core.markup import Html, joined, table, tag
from core.passages import place_of
from core.step_wording import spent
from core.text import as_json, clean, with_tables
from core.types import Citation
from evaluation.reporting.html_document import html_document

TYPES = {"markdown": ("text/markdown", "md"), "json": ("application/json", "json"), "html": ("text/html", "html")}


def exported(result: Result, numbered: str, form: str) -> str:
    """Return an answer in one of `TYPES`; ``numbered`` is its text with the numbers of its citations."""
    if form == "json":
        return as_json(result.model_dump(mode="json"), indent=2)
    if form == "markdown":
        return "\n".join([f"# {heading(result.question)}", "", *answer_lines(result, numbered)])
    parts = (tag("h1", result.question), *answer_parts(result, numbered), tag("h2", "Path"), Html(result.picture().svg))
    return html_document(result.question, *parts)


def exported_check(checked: CheckedText, name: str, form: str) -> str:
    """Return a checked text in one of `TYPES`."""
    if form == "json":
        return as_json(checked.model_dump(mode="json"), indent=2)
    if form == "html":
        return as_page(checked, name)
    parts = (f"# Claims of {' '.join(name.split())}", marked_text(checked), counts_of(checked))
    return "\n\n".join([*map(escape_html, parts), "\n".join(_evidence(checked.citations))])


def exported_thread(thread: Thread, turns: Sequence[ThreadTurn], form: str) -> str:
    """Return a thread and its turns in one of `TYPES`."""
    if form == "json":
        told = {**thread.model_dump(mode="json"), "turns": [turn.model_dump(mode="json") for turn in turns]}
        return as_json(told, indent=2)
    if form == "markdown":
        lines = [f"# {heading(thread.title)}", ""]
        for turn in turns:
            lines += [f"## {heading(turn.question)}", ""]
            for remark in _remarks(turn):
                lines += [f"*{escape_html(remark)}*", ""]
            lines += answer_lines(turn.result, turn.numbered, level=3) if turn.result else []
        return "\n".join(lines)
    return html_document(thread.title, tag("h1", thread.title), *map(_section, turns))


def _section(turn: ThreadTurn) -> Html:
    remarks = joined(*(tag("p", tag("small", remark)) for remark in _remarks(turn)))
    answer = joined(*answer_parts(turn.result, turn.numbered, level=3)) if turn.result else None
    return tag("section", tag("h2", turn.question), remarks, answer)


def _remarks(turn: ThreadTurn) -> list[str]:
    """Return what the question was understood as, whether it was corrected, and why it has no answer."""
    remarks = []
    if turn.result and turn.result.standalone != turn.result.question:
        remarks.append(f"Understood as: {' '.join(turn.result.standalone.split())}")
    if turn.replaced:
        remarks.append("This question was corrected: the next one replaces it.")
    if turn.message:
        remarks.append(turn.message)
    elif not turn.result:
        remarks.append(f"This question is {turn.state}.")
    return remarks


def outcome_line(result: Result) -> str:
    """Return the outcome, the reason and the cost in a line."""
    return f"{result.outcome} ({result.stop_reason}) · {spent(result.usage, result.usage['seconds'])}"


def _verdicts(result: Result) -> list[tuple[str, str]]:
    """Return each claim with its verdict, the verdict's probability and the numbers of its citations."""
    return [(one.text, verdict_of(one) + "".join(f" [{number}]" for number in one.citations)) for one in result.claims]


def answer_lines(result: Result, numbered: str, level: int = 2) -> list[str]:
    """Return an answer with its claims and evidence as lines of Markdown; ``level`` is that of the headings."""
    lines = [escape_html(numbered), "", escape_html(outcome_line(result)), ""]
    if result.claims:
        claims = [f"- {escape_html(text)} — {escape_html(label)}" for text, label in _verdicts(result)]
        lines += [f"{'#' * level} Claims", "", *claims, ""]
    return lines + _evidence(result.citations, level)


def heading(text: str) -> str:
    """Return a text as one line, for a heading in Markdown."""
    return escape_html(" ".join(text.split()))


def escape_html(text: str) -> str:
    """Escape the HTML in a text, which programs that show Markdown would render."""
    return escape(clean(text), quote=False)


def _evidence(citations: Sequence[Citation], level: int = 2) -> list[str]:
    lines = [f"{'#' * level} Evidence", ""] if citations else []
    for one in citations:
        quoted = escape_html(one["quote"]).replace("\n", "\n> ")
        lines += [f"[{one['id']}] {escape_html(place_of(one))}", "", f"> {quoted}", ""]
    return lines


def answer_parts(result: Result, numbered: str, level: int = 2) -> Iterator[Html]:
    """Yield an answer with its claims and evidence as pieces of HTML; ``level`` is that of the headings."""
    for part in with_tables(numbered):
        if isinstance(part, str):
            yield tag("p", part, class_="said")
        else:
            yield table(part[0], tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in part[1:])))
    yield tag("p", tag("small", outcome_line(result)))
    if result.claims:
        yield tag(f"h{level}", "Claims")
        yield tag("ul", *(tag("li", text, " — ", tag("small", label)) for text, label in _verdicts(result)))
    if result.citations:
        yield tag(f"h{level}", "Evidence")
    for one in result.citations:
        yield joined(tag("p", f"[{one['id']}] ", place_of(one)), tag("blockquote", one["quote"]))
