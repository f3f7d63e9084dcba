"""The claims of a draft, which for now are its sentences, and the drafts that decline to claim anything."""

from __future__ import annotations

import re

ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st jr sr vs etc no nos fig figs eq eqs vol vols ed eds al art arts sec secs ch para pp p
    approx ca cf e.g i.e eg ie viz inc ltd co corp dept est resp incl max min jan feb mar apr jun jul aug sep
    sept oct nov dec u.s u.k a.m p.m""".split()
)
BOUNDARY = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\W_a-z])|(?<=[。！？])")
BULLET = re.compile(r"^\s*(?:[-*•–—]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+")
FENCE = re.compile(r"^\s*(```|~~~)")
DECLINES = re.compile(
    r"""^\W*(?:(?:i'?m\s+sorry|sorry|unfortunately|apologies|i\s+apologi[sz]e)[^.]{0,20}?[,.]?\s*(?:but\s+)?)?
    (?:
      i\s+(?:really\s+)?(?:do\s+not|don'?t|cannot|can'?t|could\s+not|couldn'?t|am\s+unable\s+to|'?m\s+unable\s+to|
        am\s+not\s+able\s+to)\s+(?:know|answer|determine|find|say|tell|provide|have\s+(?:enough|any|the|that|
        information|access|specific)|assist|help|comply)
      |i'?m\s+(?:unable|not\s+able)\s+to
      |(?:based\s+on\s+)?(?:the|these|this|none\s+of\s+the|your)\s+(?:\w+\s+){0,2}
        (?:passages?|documents?|texts?|context|information|sources?)\s+(?:\w+\s+){0,2}?
        (?:do(?:es)?\s+not|don'?t|doesn'?t|did\s+not|cannot|can'?t|contains?\s+no|provides?\s+no|gives?\s+no|
        mentions?\s+no|includes?\s+no|says?\s+nothing|is\s+not|are\s+not|lacks?)
      |(?:the\s+)?(?:answer|information)\b[^.]{0,60}\b(?:is|are)\s+(?:not|n't|unknown|unavailable)
      |(?:there\s+is|there'?s)\s+(?:no|not\s+enough|insufficient)\s+(?:\w+\s+){0,3}?
        (?:information|mention|answer|passage|data|evidence)
      |(?:it\s+is\s+|it'?s\s+)?(?:not\s+(?:stated|mentioned|specified|given|provided|answered)|unknown|
        impossible\s+to\s+(?:say|determine|answer))
      |no\s+(?:\w+\s+){0,2}(?:information|mention|answer|passage)
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def declines(draft: str) -> bool:
    """Whether the draft as a whole says that it has no answer: its first sentence declines and little follows."""
    spans = sentences(draft)
    if not spans:
        return True
    first = draft[slice(*spans[0])].replace("’", "'")
    return bool(DECLINES.match(first)) and len(spans) <= 3


def split_claims(draft: str) -> list[str]:
    """The draft's statements, each a verbatim slice, in order: sentences and list items; code stays whole.

    A line that only introduces others (it ends with a colon), a heading, and a question are none.
    """
    spans = sentences(draft)
    claims = [draft[start:end] for start, end in spans]
    stated = [claim for claim in claims if not claim.endswith((":", "：", "?"))]
    return stated or claims


def sentences(text: str) -> list[tuple[int, int]]:
    """The spans of a text's sentences, without bullets, list numbers and surrounding space."""
    spans: list[tuple[int, int]] = []
    for start, end in _lines(text):
        line = text[start:end]
        if FENCE.match(line):
            spans.append((start, end))
            continue
        bullet = BULLET.match(line)
        position = start + (bullet.end() if bullet else 0)
        begin = position
        for match in BOUNDARY.finditer(text, position, end):
            if _is_boundary(text[begin : match.start()]):
                spans.append((begin, match.start()))
                begin = match.end()
        spans.append((begin, end))
    return [span for span in (_trim(text, *span) for span in spans) if span[0] < span[1]]


def _lines(text: str) -> list[tuple[int, int]]:
    """The spans of lines, a fenced block of code being one, headings and rules left out."""
    spans: list[tuple[int, int]] = []
    position, fenced = 0, -1
    for line in text.splitlines(keepends=True):
        end = position + len(line)
        if FENCE.match(line):
            if fenced < 0:
                fenced = position
            else:
                spans.append((fenced, end))
                fenced = -1
        elif fenced < 0 and not re.match(r"^\s*(?:#{1,6}\s|[-=_*]{3,}\s*$)", line):
            spans.append((position, end))
        position = end
    if fenced >= 0:
        spans.append((fenced, position))
    return spans


def _is_boundary(before: str) -> bool:
    """Whether a full stop there ends a sentence: not after an abbreviation, an initial or a list number."""
    word = re.search(r"([\w.]+)\.$", before)
    if word is None:
        return True
    last = word.group(1).casefold()
    return not (
        last in ABBREVIATIONS
        or (re.fullmatch(r"[a-z]|\d{1,2}", last) and len(before.split()) <= 1)
        or (re.fullmatch(r"[a-z]", last) and last != "i")
    )


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start].isspace() or text[start] in "*_"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "*_"):
        end -= 1
    return start, end
