"""Find the headings in the text of a file, and those above a passage."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from core.passages import LONGEST_HEADING, LONGEST_TITLE, SEPARATOR
from core.text import shortened_in_the_middle

MOST_HEADINGS = 100_000  # of a section; more take megabytes to report, and the section then counts as without any
DEEPEST = 9  # level
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*\)|\[[^\[\]]*\])")
_MARKUP = re.compile(r"[`*]+|\{#[^{}]*\}$|[ \t]#+$")
_NO_TITLE = re.compile(r"(?i)(?:untitled|document ?\d*|microsoft (?:word|powerpoint) - .*|.*\.[a-z]{2,4})$")
_ENDS = ".!?:;,…。！？：；，、"
_FIRST_LINE = re.compile(rf"\s*+((?![\w-]+:)[“„«‘'\"]?[^\W\d_]{{2}}[^\n]{{1,97}}?(?<![{_ENDS}]))[ \t]*(?=\n)")
_LINE_ALONE = re.compile(
    r"(?<=\n\n)[ \t]*(?P<line>[\w§][^\n]{2,78}[^\s])[ \t]*(?P<rule>\n[ \t]*[-=~]{3,}[ \t]*)?"
    r"(?P<blank>\n++)(?=(?P<below>[ \t]*\S[^\n]*))"
)
_NUMBERED = re.compile(r"(?:§ ?)?(\d{1,3}(?:\.\d{1,3})*)[.)]?[ \t]+[^\W\d_]")
_NUMBER = re.compile(rf"^[ \t]*({_NUMBERED.pattern})", re.M)
_BEGINNING = 1_000  # characters, among which a document's title stands
_PARAGRAPH = 80  # characters of the line below a heading without a number
_WORD_CHARACTER = re.compile(r"\w")


class Heading(NamedTuple):
    """A heading's span in the text, without its marks, and its level, from 1."""

    start: int
    end: int
    level: int


def is_heading_list(headings: Sequence[Heading], length: int) -> bool:
    """True if the headings can be those of a text of this length: in order, without overlaps, and with valid levels."""
    if len(headings) > MOST_HEADINGS or any(not 1 <= one.level <= DEEPEST for one in headings):
        return False
    ends = [0, *(place for one in headings for place in (one.start, one.end)), length]
    return all(one <= other for one, other in pairwise(ends))


def plain_title(text: str | None) -> str:
    """Return a title without markup, on one line of at most 120 characters; "" if there is none."""
    short = shortened_in_the_middle(text or "", 10 * LONGEST_TITLE)
    return shortened_in_the_middle(_MARKUP.sub("", _LINK.sub(r"\1", short)), LONGEST_TITLE)


def stated_title(text: str | None) -> str:
    """Return the title in a file's metadata; "" if a program put a file's name or a default there."""
    title = plain_title(text)
    return "" if _NO_TITLE.match(title) or sum(map(str.isalpha, title)) < 3 else title


def by_number(text: str, headings: Sequence[Heading]) -> Sequence[Heading]:
    """Return the headings with the levels of their numbers, if some level has both 2 and 2.1."""
    numbers = (_NUMBERED.match(text, one.start, one.end) for one in headings)
    depths = [number[1].count(".") + 1 if number else 0 for number in numbers]
    numbered = {(one.level, depth) for one, depth in zip(headings, depths, strict=True) if depth}
    highest = min((level for level, _ in numbered), default=1)
    if len(numbered) == len({level for level, _ in numbered}):
        return headings
    return [
        one._replace(level=min(highest + depth - 1, DEEPEST)) if depth else one
        for one, depth in zip(headings, depths, strict=True)
    ]


def first_title(text: str, headings: Sequence[Heading]) -> str:
    """Return the first heading of the highest level, if it is at the beginning: the title where none is stated."""
    highest = min((one.level for one in headings), default=0)
    titles = (one for one in headings if one.level == highest and one.start <= _BEGINNING)
    return next((plain_title(text[one.start : one.end]) for one in titles), "")


def first_line(text: str) -> str:
    """Return the first line, if it can be a title; else \"\"."""
    line = _FIRST_LINE.match(text)
    return plain_title(line[1]) if line else ""


class Outline:
    """The headings of one text; `above` gives those above a passage."""

    def __init__(self, text: str, headings: Sequence[Heading], title: str = "") -> None:
        self._text = text
        self._title = title.casefold()
        self._headings = headings
        self._starts = [one.start for one in headings]
        self._parents: list[int] = []
        open_: list[int] = []
        for index, one in enumerate(headings):
            while open_ and headings[open_[-1]].level >= one.level:
                open_.pop()
            self._parents.append(open_[-1] if open_ else -1)
            open_.append(index)

    def above(self, offset: int, end: int) -> str:
        """Return the headings above the body of a passage, joined by `` > ``; "" without any.

        Headings at the beginning of the passage itself are included. A heading equal to the title is left out.
        """
        last = bisect_right(self._starts, offset) - 1
        position = max(offset, self._headings[last].end) if last >= 0 else offset
        while last + 1 < len(self._headings) and self._starts[last + 1] < end:
            if _WORD_CHARACTER.search(self._text, position, self._starts[last + 1]):
                break
            last += 1
            position = self._headings[last].end
        parts: list[str] = []
        while last >= 0:
            heading = self._headings[last]
            part = plain_title(self._text[heading.start : heading.end])
            if part and part.casefold() != self._title:
                parts.append(part)
            last = self._parents[last]
        return shortened_in_the_middle(SEPARATOR.join(reversed(parts)), LONGEST_HEADING)


_ASCIIDOC = re.compile(r"(={1,6})[ \t]+(?=\S)")
_ORG = re.compile(r"(\*{1,9})[ \t]+(?=\S)")
_BLOCK = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|={4,}|`{3,})[ \t]*$")  # AsciiDoc's listings, comments and the like
_ORG_BLOCK = re.compile(r"(?i)[ \t]*#\+(?:begin_(\w+)|end_)")
_UNDERLINE = re.compile(r"([=\-`:.'\"~^_*+#])\1{2,}[ \t]*$")


def _marked_headings(text: str, mark: re.Pattern[str], block_mark: re.Pattern[str]) -> Iterator[Heading]:
    """Yield lines that begin with ``mark``, outside of blocks; ``block_mark`` matches a block's first and last line."""
    block = ""
    for start, line in lines_with_starts(text):
        if match := block_mark.match(line):
            block = "" if match[1] in (None, block) else block or match[1]
        elif not block and (match := mark.match(line)):
            yield Heading(start + match.end(), start + len(line.rstrip()), len(match[1]))


def rst_headings(text: str) -> Iterator[Heading]:
    """Yield the lines with an underline of punctuation at least as long; the first style seen is level 1, and so on."""
    levels: dict[tuple[str, bool], int] = {}
    older = before = (0, "")
    for start, line in lines_with_starts(text):
        mark, title = _UNDERLINE.match(line), before[1]
        overlined = older[1].rstrip() == line.rstrip()
        alone = overlined or not older[1].strip()
        is_title = title.strip() and (overlined or not title[0].isspace()) and not _UNDERLINE.match(title)
        if mark and alone and is_title and len(line.rstrip()) >= len(title.strip()):
            level = levels.setdefault((mark[1], overlined), len(levels) + 1)
            begin = before[0] + len(title) - len(title.lstrip())
            yield Heading(begin, begin + len(title.strip()), min(level, DEEPEST))
        older, before = before, (start, line)


def lines_with_starts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start of each line, and the line without its end."""
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def text_headings(text: str) -> list[Heading]:
    """Return the headings of a plain text: its first line, at level 1, and short lines that are set apart.

    These have a blank line above and, unless they are in capitals, a blank line or a rule below. A line with a
    section's number has the level of the number, 3 for 3.2. It is no heading if the section below it, or the next one
    in its column, has no line of its own: then it is an item of a list. A line without a number has the level 2; it
    ends no sentence, and has a paragraph below it.
    """
    first = _FIRST_LINE.match(text)
    alone = {
        one.start("line"): one
        for one in _LINE_ALONE.finditer(text, first.end() if first else 0)
        if one["rule"] or len(one["blank"]) > 1 or one["line"].isupper()
    }
    found = {first.start(1): Heading(*first.span(1), 1)} if first else {}
    for start, one in alone.items():
        line = one["line"]
        if line[0].isalpha() and line[-1] not in _ENDS and "://" not in line and len(one["below"]) >= _PARAGRAPH:
            found[start] = Heading(*one.span("line"), 2)
    before: dict[tuple[int, int], int] = {}  # where the last number stands, by column and depth
    for number in _NUMBER.finditer(text):
        start, depth = number.start(1), number[2].count(".") + 1
        place = start - text.rfind("\n", 0, start) - 1, depth
        below = _NUMBER.match(alone[start]["below"]) if start in alone else None
        if start in alone and not (below and (below.start(1), below[2].count(".") + 1) == place):
            found[start] = Heading(*alone[start].span("line"), min(depth + 1, DEEPEST))
        elif place in before:
            found.pop(before[place], None)
        before[place] = start
    return sorted(found.values())


BY_SUFFIX: dict[str, Callable[[str], Iterable[Heading]]] = {
    ".rst": rst_headings,
    ".org": partial(_marked_headings, mark=_ORG, block_mark=_ORG_BLOCK),
    **dict.fromkeys((".txt", ".text"), text_headings),
    **dict.fromkeys((".adoc", ".asciidoc"), partial(_marked_headings, mark=_ASCIIDOC, block_mark=_BLOCK)),
}
