"""Split a text into lines of several kinds, and these into sentences."""

import re
from typing import Literal, NamedTuple

Kind = Literal["text", "item", "row", "head", "title", "code"]

ORDINAL = re.compile(
    r"\b(?:am|im|vom|zum|der|dem|den|des|bis|seit|ab|die|das|und|oder|jede[mns])\s+\d{1,2}\.\s+$", re.IGNORECASE
)
COUNTED = re.compile(  # "am 3. Mai", "im 19. Jahrhundert", "am 1. und 15. des Monats"
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert|Auflage|"
    r"(?:Werktag|Tag|Monat|Quartal|Halbjahr|Lebensjahr)(?:e?s)?|Stock|Rate|und|oder|bis|des|eines|jede[ns])\b"
)
# Abbreviations that end no sentence; "max." and "mind." end none before a figure.
ABBREVIATED = re.compile(
    r"(?<!\w)(?:approx|aprox|incl|excl|inkl|exkl|zzgl|abzgl|einschl|ggf|bzgl|evtl|bzw|vgl|insb|insbes|sog|Abs|Ziff|Buchst|"
    r"Abb|Kap|Rn|Rz|paras|arts|figs|núm|págs?|Sra|Dra)\.\s+$"
)
LIMITED = re.compile(r"\b(?:max|mind)\.\s+$")
BULLET = re.compile(r"^\s*(?:[-*•–—]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+")
FENCE = re.compile(r"^\s*(```|~~~)")
# Headings, and lines in bold without a sentence; horizontal rules; the line below a table's header.
TITLE = re.compile(r"^\s*(?:#{1,6}\s.*|(\*\*|__)[^*_.!?]+\1:?)\s*$")
RULE = re.compile(r"^\s*[-=_*]{3,}\s*$")
UNDER_HEAD = re.compile(r"^\s*\|[-:| ]+\|\s*$")
WRAPPED = 40  # characters: a longer line without an end continues in the next if that begins in lower case
LONGEST_END = 400  # characters at the end of a line, or of a sentence, that decide whether it continues
AT_ONCE = 5000  # characters that are split at once: quotation marks alone take quadratic time
UNREADABLE = re.compile(r"[\s\ud800-\udfff]")  # the library panics at some white space and at halves of characters
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
    from sentencex import segment

    spans: list[tuple[int, int]] = []
    begin = position = line.start
    while position < line.end and line.kind != "code":
        read_to = min(position + AT_ONCE, line.end)
        parts = segment("en", UNREADABLE.sub(" ", text[position:read_to]))
        for part in parts if read_to == line.end else parts[:-1] or parts:  # the last may go on
            position += len(part)
            before = text[max(begin, position - LONGEST_END) : position]
            in_code = text.count("`", begin, position) % 2 == 1
            goes_on = (
                ABBREVIATED.search(before)
                or (ORDINAL.search(before) and COUNTED.match(text, position, line.end))
                or (LIMITED.search(before) and text[position : position + 1].isdigit())
            )
            if not in_code and not goes_on:
                spans.append((begin, position))
                begin = position
    spans.append((begin, line.end))
    return [span for span in (_trim(text, *span) for span in spans) if span[0] < span[1]]


def lines(text: str) -> list[Line]:
    """Return the lines, without blank ones and horizontal rules; a code block or a wrapped sentence is one line."""
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
    """True if ``raw`` goes on with a sentence that ``line``, the line before it, leaves unfinished."""
    # Only its end is read: a line may be wrapped a thousand times.
    before = text[max(line.start, line.end - LONGEST_END) : line.end].rstrip()
    return (
        line.kind in ("text", "item")
        and len(before) - before.rfind("\n") > WRAPPED
        and before[-1] not in ".!?:;。！？"
        and raw.lstrip()[0].islower()
        and not BULLET.match(raw)
        and not LABELLED.match(raw)
    )


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start].isspace() or text[start] in "*_"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "*_"):
        end -= 1
    return start, end
