"""Write a comparison as Markdown, as a self-contained HTML page, or as CSV with a row for each question."""

import re
from collections.abc import Callable, Mapping

from core.markup import Html, joined, table, tag
from core.text import clean, one_line
from evaluation.comparison import blocks
from evaluation.comparison.compared_set import ComparedSet
from evaluation.comparison.comparison import Comparison
from evaluation.judging.criteria import CRITERIA
from evaluation.measures.joined_rows import correct
from evaluation.measures.scores import later_passages
from evaluation.reporting.html_document import html_document
from evaluation.reporting.tables import csv_text

SPECIAL = re.compile(r"([\\`*_\[\]#|~!])")
SPENT = ("model_calls", "input_tokens", "cached_input_tokens", "output_tokens", "seconds", "error")
LINE_START = re.compile(r"^(\s*)([-+=]|\d+[.)])", re.MULTILINE)


def title_of(compared: ComparedSet) -> str:
    return f"Self-RAG and plain retrieve-and-generate: {compared.name or 'one question'}"


def blocks_of(compared: ComparedSet) -> list[blocks.Block]:
    """Return all blocks, the analysis of the set first."""
    found = blocks.overall_blocks(compared)
    for one in compared.comparisons:
        found += blocks.question_blocks(one, compared.judge)
    return found


def as_markdown(compared: ComparedSet) -> str:
    """Return a Markdown document in which all text is escaped."""
    parts = [f"# {_escaped(title_of(compared))}", *map(_markdown, blocks_of(compared))]
    return "\n\n".join(parts) + "\n"


def _markdown(block: blocks.Block) -> str:
    match block:
        case blocks.Heading(text, level):
            return f"{'#' * level} {_escaped(one_line(text))}"
        case blocks.Paragraph(text):
            return _escaped(text)
        case blocks.Bullets(lines):
            return "\n".join(f"- {_escaped(one_line(line))}" for line in lines)
        case blocks.Sides(names, rows):
            grid = [("", *names), *rows]
            lines = ["| " + " | ".join(_escaped(cell).replace("\n", "<br>") for cell in row) + " |" for row in grid]
            return "\n".join([lines[0], "|---|---|---|", *lines[1:]])
        case blocks.Passages(title, items):
            quoted = [f"{_escaped(head)}\n\n> " + _escaped(text).replace("\n", "\n> ") for head, text in items]
            return "\n\n".join([f"### {_escaped(title)}", *quoted])


def _escaped(text: str) -> str:
    """Escape what Markdown or HTML would read as more than text."""
    plain = clean(text).strip().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return LINE_START.sub(r"\1\\\2", SPECIAL.sub(r"\\\1", plain))


def as_html(compared: ComparedSet) -> str:
    """Return a page that loads nothing and runs nothing."""
    return html_document(title_of(compared), tag("h1", title_of(compared)), *map(_html, blocks_of(compared)))


def _html(block: blocks.Block) -> Html:
    match block:
        case blocks.Heading(text, level):
            return tag(f"h{level}", text)
        case blocks.Paragraph(text):
            return tag("p", text, class_="said")
        case blocks.Bullets(lines):
            return tag("ul", *(tag("li", line) for line in lines))
        case blocks.Sides(names, rows):
            body = (
                tag(
                    "tr",
                    tag("th", label, scope="row"),
                    *(
                        tag("td", cell, class_="said", data_system=name)
                        for name, cell in zip(names, cells, strict=True)
                    ),
                )
                for label, *cells in rows
            )
            return table(("", *names), tag("tbody", *body), class_="sides")
        case blocks.Passages(title, items):
            texts = (joined(tag("p", head, class_="muted"), tag("blockquote", text)) for head, text in items)
            return tag("details", tag("summary", f"{title} ({len(items)} passages)"), *texts)


def as_csv(compared: ComparedSet) -> str:
    return csv_text([_row(one) for one in compared.comparisons])


def _row(one: Comparison) -> dict[str, object]:
    cells: dict[str, object] = {
        "id": one.example.id,
        "question": one.example.question,
        "references": " | ".join(one.example.references),
    }
    for record in one.records:
        told: Mapping[str, object] = {**record, **record["cost"]}
        side = {
            **{key: told[key] for key in ("answer", "outcome", "stop_reason")},
            "right": correct(one.example, record),
            "contexts": "\n\n".join([*(seen["text"] for seen in record["seen"]), *later_passages(record)]),
            **{key: told[key] for key in SPENT},
        }
        cells |= {f"{record['system']}_{name}".replace("-", "_"): value for name, value in side.items()}
    criteria = {name: one.judged.criterion(name) if one.judged else None for name in CRITERIA}
    reasons = "\n".join(one.judged.reasons) if one.judged else ""
    return {**cells, **criteria, "preference": one.preference, "reasons": reasons}


FORMS: dict[str, Callable[[ComparedSet], str]] = {".md": as_markdown, ".html": as_html, ".csv": as_csv}
