"""Split a text into lines of several kinds, and these into sentences."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["text", "item", "row", "head", "title", "code"]

ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof vs approx pp p cf e.g i.e eg ie viz dept resp incl jan feb apr jun jul aug sep sept oct nov
    dec bzw vgl z.b d.h""".split()
)
# Abbreviations before a number or a letter, words otherwise: "The answer is no. It is not modern art."
NUMBERED = frozenset("no nos nr fig figs eq eqs vol vols art arts sec secs ch para ed eds mar".split())
# Abbreviations that may also end a sentence, and the words that show that another begins.
ENDING = frozenset(
    "st jr sr etc al ca inc ltd co corp est max min bros usw mt ft lt sgt capt sen gov rev hon maj col gen rep".split()
)
OPENING = re.compile(
    r"[\"'“‘(\[*_]*(?:The|This|That|These|Those|It|Its|He|She|They|We|You|I|His|Her|Their|My|Our|Your|There|Then|In|"
    r"On|At|For|From|By|With|Under|But|And|However|If|When|While|After|Before|During|Since|Because|Although|Both|Each|"
    r"Some|Many|Most|All|No|Not|One|Another|Such|So|As|To|Also|Today|Later|What|How|Why|Who|Where|Which|An?)\b(?!\.)"
)
BOUNDARY = re.compile(
    r"(?<=[.!?])([\"'”’)\]*_]*)\s+(?=[\"'“‘(\[*_`]*(?:[^\W_a-z]|[a-z][A-Z]))|(?<=[。！？])([”’」』）]*)\s*(?=\S)"
)
DOTTED = re.compile(r"(?:[a-z]{1,2}\.)+[a-z]{1,2}")  # u.s, a.m, d.c, ph.d
LAST_WORD = re.compile(r"(?<![\w.])([\w.]+)\.$")
GERMAN = re.compile(r"\b(?:am|im|vom|zum|der|dem|den|des|bis|seit|ab)\s+\d{1,2}\.$", re.IGNORECASE)
COUNTED = re.compile(  # "am 3. Mai", "im 19. Jahrhundert"
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert|Auflage)\b"
)
BULLET = re.compile(r"^\s*(?:[-*•–—]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+")
FENCE = re.compile(r"^\s*(```|~~~)")
# Headings, and lines in bold without a sentence; horizontal rules; the line below a table's header.
TITLE = re.compile(r"^\s*(?:#{1,6}\s.*|(\*\*|__)[^*_.!?]+\1:?)\s*$")
RULE = re.compile(r"^\s*[-=_*]{3,}\s*$")
UNDER_HEAD = re.compile(r"^\s*\|[-:| ]+\|\s*$")
WRAPPED = 40  # characters: a longer line without an end continues in the next if that begins in lower case
LONGEST_END = 400  # characters at the end of a line that decide whether it continues
LABELLED = re.compile(r"\s*[^\s:][^:\n]{0,40}:\s")


class Line(NamedTuple):
    """A line without its bullet; ``indent`` in characters; ``after_blank`` if a blank line precedes it."""

    start: int
    end: int
    kind: Kind
    indent: int
    after_blank: bool


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the spans of a text's sentences, without bullets, list numbers and surrounding space."""
    return [span for line in lines(text) if line.kind != "title" for span in sentences_of(text, line)]


def sentences_of(text: str, line: Line) -> list[tuple[int, int]]:
    """Return the spans of one line's sentences; a code block is one."""
    spans: list[tuple[int, int]] = []
    begin, quoted, scanned = line.start, False, line.start
    for match in BOUNDARY.finditer(text, line.start, line.end) if line.kind != "code" else ():
        quoted ^= text.count("`", scanned, match.end()) % 2 == 1
        scanned = match.end()
        # A window suffices; whole sentences would take quadratic time on a long line without boundaries.
        before = text[max(begin, match.start() - 80) : match.start()]
        if not quoted and _is_boundary(before, text[match.end() : min(line.end, match.end() + 80)]):
            spans.append((begin, match.end(1) if match.group(1) is not None else match.end(2)))
            begin = match.end()
    spans.append((begin, line.end))
    return [span for span in (_trim(text, *span) for span in spans) if span[0] < span[1]]


def lines(text: str) -> list[Line]:
    """Return the lines except blank ones and rules; a fenced code block is one line, as is a wrapped sentence."""
    found: list[Line] = []
    position, fenced, after_blank = 0, -1, False
    for raw in text.splitlines(keepends=True):
        start, position = position, position + len(raw)
        if FENCE.match(raw):
            if fenced >= 0:
                found.append(Line(fenced, position, "code", 0, after_blank))
            fenced = start if fenced < 0 else -1
        elif fenced >= 0:
            continue
        elif UNDER_HEAD.match(raw):
            if found and found[-1].kind == "row":
                found[-1] = found[-1]._replace(kind="head")
        elif raw.strip() and not RULE.match(raw):
            if not after_blank and found and _continues(text, found[-1], raw):
                found[-1] = found[-1]._replace(end=position)
            else:
                found.append(_line(raw, start, after_blank))
        after_blank = not raw.strip()
    if fenced >= 0:
        found.append(Line(fenced, position, "code", 0, after_blank))
    return found


def _line(raw: str, start: int, after_blank: bool) -> Line:
    bullet = BULLET.match(raw)
    indent = len(raw) - len(raw.lstrip())
    kind: Kind = "title" if TITLE.match(raw) else "item" if bullet else "row" if raw.lstrip()[0] == "|" else "text"
    skipped = bullet.end() if bullet and kind == "item" else 0
    return Line(start + skipped, start + len(raw), kind, indent, after_blank)


def _continues(text: str, line: Line, raw: str) -> bool:
    """True if ``raw`` continues the sentence that the previous line breaks off."""
    # A window here too: a line may be wrapped a thousand times.
    before = text[max(line.start, line.end - LONGEST_END) : line.end].rstrip()
    return (
        line.kind in ("text", "item")
        and len(before) - before.rfind("\n") > WRAPPED
        and before[-1] not in ".!?:;。！？"
        and raw.lstrip()[0].islower()
        and not BULLET.match(raw)
        and not LABELLED.match(raw)
    )


def _is_boundary(before: str, after: str) -> bool:
    """True if a sentence ends between the two texts: not after an abbreviation, an initial or a list number."""
    word = LAST_WORD.search(before)
    if word is None:
        return True
    last = word.group(1).casefold()
    initial = re.fullmatch(r"[a-z]", last) is not None
    number = re.fullmatch(r"\d{1,2}", last) is not None
    if (len(before.split()) <= 1 and (initial or number)) or (
        number and GERMAN.search(before) and COUNTED.match(after)
    ):
        return False
    if last in NUMBERED:
        return re.match(r"\d|[A-Z]{0,4}\b[\d.)]", after) is None
    if last in ABBREVIATIONS:
        return False
    if last in ENDING or DOTTED.fullmatch(last) or (initial and last != "i"):
        return OPENING.match(after) is not None
    return True


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start].isspace() or text[start] in "*_"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "*_"):
        end -= 1
    return start, end
