"""A thread with the evidence of every answer as a file: Markdown, JSON, or one HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Sequence

from app.conversations.thread import Thread, ThreadTurn
from app.export import answer_lines, answer_parts, heading, plain
from app.terminal.show_check import page
from core.markup import Html, joined, tag
from core.text import as_json


def exported_thread(thread: Thread, turns: Sequence[ThreadTurn], form: str) -> str:
    """Return a thread and its turns in one of `app.export.TYPES`."""
    if form == "json":
        told = {**thread.model_dump(mode="json"), "turns": [turn.model_dump(mode="json") for turn in turns]}
        return as_json(told, indent=2)
    if form == "markdown":
        lines = [f"# {heading(thread.title)}", ""]
        for turn in turns:
            lines += _lines(turn)
        return "\n".join(lines)
    return page(thread.title, tag("h1", thread.title), *map(_section, turns))


def _lines(turn: ThreadTurn) -> list[str]:
    lines = [f"## {heading(turn.question)}", ""]
    for remark in _remarks(turn):
        lines += [f"*{plain(remark)}*", ""]
    return lines + (answer_lines(turn.result, turn.numbered, level=3) if turn.result else [])


def _section(turn: ThreadTurn) -> Html:
    remarks = joined(*(tag("p", tag("small", remark)) for remark in _remarks(turn)))
    answer = joined(*answer_parts(turn.result, turn.numbered, level=3)) if turn.result else None
    return tag("section", tag("h2", turn.question), remarks, answer)


def _remarks(turn: ThreadTurn) -> list[str]:
    """What is to be known of a turn beside its answer."""
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
