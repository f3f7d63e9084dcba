"""What a passage says: its text, and the title of its document with the headings above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.text import location, shortened_in_the_middle

if TYPE_CHECKING:  # the parsing processes have no use for pydantic's types
    from collections.abc import Iterable, Mapping
    from typing import Any

    from core.types import Citation, Passage

SEPARATOR = " > "
AFTER_NAME, BETWEEN_CELLS = ": ", " | "  # in the row of a table: column: value | column: value
LONGEST_TITLE = 120  # characters; of a single heading, too
LONGEST_HEADING = 300  # characters of the headings above a passage


def characters_of(passages: Iterable[Passage]) -> int:
    """Return the characters of the passages' texts."""
    return sum(len(one["text"]) for one in passages)


def section_of(passage: Passage | Mapping[str, Any]) -> str:
    """Return the title and the headings above a passage or citation as ``Title > Heading``, on one line; "" if none."""
    title = shortened_in_the_middle(str(passage.get("title") or ""), LONGEST_TITLE)
    heading = shortened_in_the_middle(str(passage.get("heading") or ""), LONGEST_HEADING)
    return SEPARATOR.join(part for part in (title, heading) if part)


def last_heading(passage: Passage) -> str:
    """Return the heading that a passage stands below, without those above it; "" if none."""
    return (passage.get("heading") or "").rpartition(SEPARATOR)[2]


def place_of(passage: Passage | Citation | Mapping[str, Any]) -> str:
    """Return where a passage or citation stands: its file, its page or row, and its section, on one line."""
    where = location(passage["source"], passage["page"], passage["row"])
    return " · ".join(part for part in (where, section_of(passage)) if part)


def is_narrowed(passage: Passage) -> bool:
    """Whether the passage is read only in the rows of its table that the question names."""
    return "left_out" in passage


def shown_text(passage: Passage) -> str:
    """Return the text of a passage without what is left out of it."""
    ends = [0, *(at for span in passage.get("left_out", ()) for at in span), len(passage["text"])]
    return "".join(passage["text"][start:end] for start, end in zip(ends[::2], ends[1::2], strict=True))


def is_shown(passage: Passage, start: int, end: int) -> bool:
    """Whether nothing of a span of a passage's text is left out."""
    return all(end <= begin or start >= until for begin, until in passage.get("left_out", ()))


def stated_by(passage: Passage) -> str:
    """Return all that a passage states: its section, if it has one, on the line above its text."""
    section = section_of(passage)
    return f"{section}\n{passage['text']}" if section else passage["text"]
