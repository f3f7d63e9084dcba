"""Split a draft into claims, each with the context it needs."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from core.words import YES_NO, YES_NO_IN_CHINESE
from grounding.sentences import Line, lines, sentences, sentences_of

LONGEST_CLAIM = 4000  # characters, with its context: twice a whole draft of prose; a longer one is not checked
REFERS = re.compile(
    r"\W*(?:he|she|it|they|this|these|those|his|her|its|their|both|such|the\s+(?:former|latter|same))\b", re.IGNORECASE
)
INTERJECTION = re.compile(
    rf"^(?:(?:{YES_NO}|correct|right|certainly|indeed|sure|exactly|true|false)[.!]|(?:{YES_NO_IN_CHINESE})[。！])$",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """A claim verbatim from the draft; ``text`` begins at ``start``.

    ``context`` is what it needs to be understood, or empty: the line that introduces its list or code (ending with a
    colon), the header row of its table, or the previous sentence if a pronoun refers to it.
    """

    text: str
    context: str
    start: int


def split_claims(draft: str) -> list[str]:
    """Return the texts of the draft's statements."""
    return [statement.text for statement in statements(draft)]


def with_lead_in(text: str, context: str) -> str:
    """Return the claim preceded by its ``context``, if that is a lead-in or a table's header.

    A context that is the previous sentence is left out, because that sentence is checked as a claim of its own.
    """
    if not context.endswith((":", "：", "|")):
        return text
    return f"{context}\n{text}" if text.startswith(("|", "`", "~")) else f"{context} {text}"


def statements(draft: str) -> list[Statement]:
    """Return the draft's statements in order: sentences, list items, table rows, and code blocks as one each.

    Lead-ins (ending with a colon), table headers, headings and questions are not statements. A bare yes or no is
    merged with the sentence that follows, or dropped if the lead-in of a list follows.
    """
    found: list[Statement] = []  # in reverse order
    for statement in reversed(_in_context(draft)):
        if found and INTERJECTION.match(statement.text):
            following = found.pop()
            adjacent = not draft[statement.start + len(statement.text) : following.start].strip()
            begin = statement.start if adjacent else following.start
            statement = Statement(draft[begin : following.start + len(following.text)], following.context, begin)
        found.append(statement)
    return found[::-1] or [Statement(draft[start:end], "", start) for start, end in sentences(draft)]


def claim_ends(draft: str, texts: Sequence[str]) -> list[int]:
    """Return where in the draft each claim ends; the claims must be in the draft's order."""
    known: defaultdict[str, list[int]] = defaultdict(list)
    for statement in statements(draft) if texts else ():
        known[statement.text].append(statement.start)
    ends: list[int] = []
    position = 0
    for text in texts:
        starts = known.get(text, [])
        index = bisect_left(starts, position)
        if index < len(starts):
            start = starts[index]
        elif (cell := draft.find(f"| {text} |", position)) >= 0:
            start = cell + len("| ")
        else:
            start = draft.find(text, position)
        position = max(start, position) + (len(text) if start >= 0 else 0)
        ends.append(position)
    return ends


class _LeadIns:
    """The lead-ins in force, with their indents: a list's lead-in for all its items, any other up to a blank line."""

    def __init__(self) -> None:
        self._stack: list[tuple[int, str]] = []
        self._open = False

    def lead_in_of(self, line: Line) -> str:
        """Return the lead-in of a line, with the lead-ins above it; "" if there is none."""
        if line.kind == "item":
            self._stack = [lead for lead in self._stack if lead[0] < line.indent]
            self._open = True
        elif line.kind != "code" and (line.after_blank or not self._open):
            self._open = False
            self._stack = self._stack if line.indent else []
        lead = self._stack[-1][1] if self._stack and self._open else ""
        self._open = self._open and line.kind in ("text", "row")
        return lead

    def add(self, line: Line, text: str) -> None:
        """Make ``text``, which stands in ``line``, the lead-in of the lines after it."""
        self._stack.append((line.indent if line.kind == "item" else -1, text))
        self._open = line.kind != "title"


def _in_context(draft: str) -> list[Statement]:
    found: list[Statement] = []
    lead_ins, header, subject = _LeadIns(), "", ""
    for line in lines(draft):
        stripped = draft[line.start : line.end].strip()
        lead = lead_ins.lead_in_of(line)
        if line.kind == "title":
            lead_ins.add(line, stripped.strip("#*_: ") + ":")
        elif line.kind == "head":
            header = stripped
        elif line.kind == "row":
            found.append(Statement(stripped, header or lead, draft.index(stripped, line.start)))
        for start, end in sentences_of(draft, line) if line.kind in ("text", "item", "code") else ():
            text = draft[start:end]
            refers = REFERS.match(text) is not None
            introduces = text.endswith((":", "："))
            if introduces:
                lead_ins.add(line, f"{lead} {text}".strip() if len(lead) <= LONGEST_CLAIM else lead)
            elif any(map(str.isalnum, text)) and not text.endswith(("?", "？")):
                found.append(Statement(text, lead or (subject if refers else ""), start))
            keeps_subject = refers or introduces or line.kind == "code" or INTERJECTION.match(text)
            header, lead, subject = "", "", subject if keeps_subject else text
    return found
