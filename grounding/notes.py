"""Find the notes of a text, and the marks that refer to them: 480* and, below, * Summer only."""

import re
from collections import Counter

from core.words import RAISED_DIGITS

_MARK = rf"\\?[*†‡§]{{1,3}}|\[\^?[^\W_]{{1,3}}\]|{RAISED_DIGITS}{{1,2}}"
_BEFORE = r"(?<=[\w%€$£.)])"
MARKED = re.compile(rf"{_BEFORE}\s?({_MARK})\s*$")
_NOTE = re.compile(rf"^({_MARK}):?[ \t]*(?=\w)", re.MULTILINE)
_BEHIND = re.compile(_MARK)
# In running text a number in brackets is mostly a reference to a book.
_WITHIN = re.compile(rf"{_BEFORE}(?!\[\^?\d)({_MARK})(?!\w)")


def notes_in(text: str, start: int = 0) -> dict[str, tuple[int, int]]:
    """Return the span of each note after ``start``, by its mark. Lines that share a mark are a list, not notes."""
    notes = list(_NOTE.finditer(text, start))
    marks = Counter(note[1] for note in notes)
    ends = (text.find("\n", note.end()) for note in notes)
    spans = ((note[1], (note.start(), end if end >= 0 else len(text))) for note, end in zip(notes, ends, strict=True))
    return {mark: span for mark, span in spans if marks[mark] == 1}


def notes_on(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the spans of the notes that this part of a text refers to."""
    marks = marks_of(text, start, end)
    found = notes_in(text).items() if marks else ()
    return [span for mark, span in found if mark in marks and not start <= span[0] < end]


def marks_of(text: str, start: int, end: int) -> set[str]:
    """Return the marks of notes in this part of a text and right behind it. Marks in pairs only emphasise words."""
    behind = _BEHIND.match(text, end)
    said = text[start : behind.end() if behind else end]
    return {mark for mark in _WITHIN.findall(said) if said.count(mark) % 2}
