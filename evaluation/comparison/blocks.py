"""The content of a comparison as headings, paragraphs, lists and two-column tables, for every form of output."""

from collections.abc import Sequence
from typing import NamedTuple

from core.passages import place_of
from core.step_wording import spent
from evaluation.comparison.compared_set import ComparedSet
from evaluation.comparison.comparison import NOT_JUDGED, Comparison, read_line
from evaluation.comparison.overall import cost_lines, sections
from evaluation.judging.criteria import CRITERIA
from evaluation.measures.joined_rows import correct
from evaluation.measures.scores import later_passages
from evaluation.records import BASELINE, DISAGREED, FAILED, IDENTICAL, OURS, TIE, UNREADABLE, Record
from evaluation.reporting.routes import path_line

NO_ANSWER = "no answer"
PREFERENCES = {
    OURS: f"It prefers {OURS}, in both orders of the answers.",
    BASELINE: f"It prefers {BASELINE}, in both orders of the answers.",
    TIE: "It sees a tie, in both orders of the answers.",
    IDENTICAL: "Both answers are identical, so it was not asked.",
    DISAGREED: "Its preference changed with the order of the answers, so there is none, and its reasons are left out.",
    UNREADABLE: "Its reply is not in the form asked for: no preference.",
    FAILED: "It failed or refused: no preference.",
    NOT_JUDGED: "There is no comparison: a system, or the model, failed.",
}


class Heading(NamedTuple):
    """A heading; ``level`` counts from 1."""

    text: str
    level: int


class Paragraph(NamedTuple):
    """A text of one or more lines."""

    text: str


class Bullets(NamedTuple):
    """A list of lines."""

    lines: Sequence[str]


class Sides(NamedTuple):
    """A table of two systems: each row is a label, the first system's text and the second's."""

    names: tuple[str, str]
    rows: Sequence[tuple[str, str, str]]


class Passages(NamedTuple):
    """Passages in full, each under a line with its place and what each system made of it: "self-rag: relevant 0.96"."""

    title: str
    items: Sequence[tuple[str, str]]


Block = Heading | Paragraph | Bullets | Sides | Passages


def question_blocks(one: Comparison, judge: str, *, passages: bool = True) -> list[Block]:
    """Return one question: both systems side by side, the computed figures, then the model's comparison."""
    ours, plain = one.records
    left, right = _cells(one, ours), _cells(one, plain)
    rows = [(label, left[label], right[label]) for label in left]
    found: list[Block] = [Heading(one.example.question, 2)]
    if one.example.references:
        found.append(Paragraph("Reference: " + " / ".join(one.example.references)))
    elif one.example.answerable is False:
        found.append(Paragraph("Reference: the documents hold no answer."))
    found.append(Sides((ours["system"], plain["system"]), rows))
    read = _passages(one) if passages else []
    if read:
        found.append(Passages("What each read", read))
    if not one.failed:
        found += [Heading("Computed", 3), Bullets(cost_lines([one]))]
    return [*found, Heading(f"What the chat model says ({judge})", 3), *_judged(one)]


def overall_blocks(compared: ComparedSet) -> list[Block]:
    """Return the analysis of a set: what was computed, then the model's text; an empty list for a single question."""
    if compared.name is None:
        return []
    found: list[Block] = [Heading(f"Overall: {compared.name}", 2)]
    for title, lines in sections(compared.comparisons).items():
        found += [Heading(title, 3), Bullets(lines)]
    said = compared.summed_up
    if said:
        found += [Heading(f"What the chat model writes about these figures, unchecked ({compared.judge})", 3)]
        failure = f" ({said.failure})" if said.failure else ""
        found += [Paragraph(compared.left_out + failure if compared.left_out else said.reasons[0])]
    return found


def _cells(one: Comparison, record: Record) -> dict[str, str]:
    reason = f" ({record['stop_reason']})" if record["stop_reason"] else ""
    right = {True: " · right", False: " · wrong", None: ""}[correct(one.example, record)]
    return {
        "Answer": record["error"] or record["answer"] or NO_ANSWER,
        "Outcome": record["outcome"].replace("_", " ") + reason + right,
        "Path": path_line(record) or "–",
        "Read": read_line(record),
        "Cost": spent(record["cost"], record["cost"]["seconds"]),
    }


def _passages(one: Comparison) -> list[tuple[str, str]]:
    """Return every passage that a system found, each once, as the items of `Passages`: the line above and the text."""
    heads: dict[str, list[str]] = {}
    for record in one.records:
        for seen in record["seen"]:
            score = "" if seen["relevance"] is None else f" {seen['relevance']:.2f}"
            use = {True: f"relevant{score}", False: f"left out{score}", None: "read"}[seen["relevant"]]
            heads.setdefault(seen["text"], [place_of(seen)]).append(f"{record['system']}: {use}")
        for text in later_passages(record):
            heads.setdefault(text, ["a passage"]).append(f"{record['system']}: found by a later search")
    return [(" · ".join([str(number), *head]), text) for number, (text, head) in enumerate(heads.items(), 1)]


def _judged(one: Comparison) -> list[Block]:
    judged = one.judged
    failure = f" {judged.failure}" if judged and judged.failure else ""
    sentence = Paragraph(PREFERENCES[one.preference] + failure)
    if judged is None or one.preference in (IDENTICAL, FAILED):
        return [sentence]
    said = {name: judged.criterion(name) for name in CRITERIA}
    lines = [
        f"{name.capitalize()}: {'its two orders disagree' if label == DISAGREED else label}"
        for name, label in said.items()
        if label
    ]
    reasons = [f"Its reason: {reason}" for reason in judged.reasons]
    return [*([Bullets(lines)] if lines else []), sentence, *map(Paragraph, reasons)]
