"""The claims of a draft, which for now are its sentences, and the drafts that decline to claim anything."""

from __future__ import annotations

import re

ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st jr sr vs etc no nos fig figs eq eqs vol vols ed eds al art arts sec secs ch para pp p
    approx ca cf e.g i.e eg ie viz inc ltd co corp dept est resp incl max min jan feb mar apr jun jul aug sep
    sept oct nov dec u.s u.k a.m p.m""".split()
)
# Abbreviations that may also end a sentence, and the words by which one sees that another begins.
ENDING = frozenset("jr sr etc al inc ltd co corp est max min u.s u.k a.m p.m".split())
OPENING = re.compile(
    r"[\"'“‘(\[*_]*(?:The|This|That|These|Those|It|Its|He|She|They|We|You|His|Her|Their|There|Then|In|On|At|For|From|"
    r"But|And|However|If|When|While|After|Before|Both|Each|Some|Most|All|No|As|To|An?)\b(?!\.)"
)
BOUNDARY = re.compile(
    r"(?<=[.!?])([\"'”’)\]*_]*)\s+(?=[\"'“‘(\[*_]*(?:[^\W_a-z]|[a-z][A-Z]))|(?<=[。！？])([”’」』）]*)\s*(?=\S)"
)
BULLET = re.compile(r"^\s*(?:[-*•–—]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+")
FENCE = re.compile(r"^\s*(```|~~~)")
# Headings, rules, the line under a table's head, and a line that is bold as a whole and states nothing.
NOT_TEXT = re.compile(r"^\s*(?:#{1,6}\s.*|[-=_*]{3,}|\|[-:| ]+\||(\*\*|__)[^*_.!?]+\1:?)\s*$")
INTERJECTION = re.compile(r"^(?:yes|no|correct|right|certainly|indeed|sure|exactly|true|false)[.!]$", re.IGNORECASE)

_PASSAGES = r"(?:passages?|excerpts?|snippets?|contexts?|texts?)"
_SOURCES = rf"(?:{_PASSAGES}|documents?|sources?|materials?|articles?|information|data|library)"
_WHICH = (
    r"(?:the|these|this|those|your|any\s+of\s+the|none\s+of\s+the|neither(?:\s+of\s+the)?)\s+"
    r"(?:(?:provided|given|above|available|retrieved|supplied|following|two|three|four|source)\s+){0,2}"
)
_GIVEN = r"(?:\s+(?:provided|given|above|supplied|available|themselves|you\s+(?:gave|provided)))?"
_NOT = r"(?:(?:do|does|did)(?:\s+not|n't)|cannot|can't|can\s+not|never|only\s+partly)"
_SAY = (
    r"(?:say|state|mention|specify|answer|address|discuss|describe|indicate|explain|tell|define|detail|reveal|name|"
    r"clarify|support)"
)
_HOLD = r"(?:contain|provide(?!\s+for\b)|include|give|offer|have(?!\s+to\b)|cover|refer|talk|list|report)"
_FACTS = (
    r"(?:(?:any|enough|sufficient|specific|the|an?|that|this|such|relevant|direct|clear|explicit|further|more|"
    r"detailed|necessary)\s+){0,3}(?:information|details?|answers?|mentions?|data|explanation|context|knowledge|access)"
)
_SAID = (
    r"(?:stated|mentioned|specified|given|provided|answered|found|contained|available|included|addressed|discussed|"
    r"described|indicated|explained|covered|present|determined|clear)"
)
_WHERE = rf"(?:in|from|by|with|on|using)\s+(?:any\s+of\s+)?(?:{_WHICH})?{_SOURCES}"
_ASKED = r"(?:whether|if|how|what|who|whom|whose|when|where|why|which)"
DECLINES = re.compile(
    rf"""^\W*
    (?:as\s+an\s+ai[^,.]*,\s*)?
    (?:(?:i'?m\s+(?:very\s+|so\s+)?(?:sorry|afraid)(?:\s+that)?|sorry|unfortunately|apologies|i\s+apologi[sz]e)
      [,.:;]?\s*(?:but\s+)?)?
    (?:(?:based\s+on|according\s+to|from|given|in)\s+{_WHICH}{_SOURCES}{_GIVEN}(?:\s+alone)?,?\s*)?
    (?:
      i\s+(?:really\s+|simply\s+)?(?:do\s+not|don't)\s+know\b
      |i\s+(?:do\s+not|don't|currently\s+don't)\s+(?:have|see|find)\s+{_FACTS}
      |i\s+(?:have|see|find|found)\s+(?:no|not\s+enough)\s+(?:\w+\s+)?(?:information|idea|answer|mention|knowledge|data)
      |(?:i\s+)?(?:cannot|can't|can\s+not|could\s+not|couldn't|am\s+unable\s+to|am\s+not\s+able\s+to|did\s+not|
        didn't|won't|will\s+not\s+be\s+able\s+to)\s+(?:answer|be\s+(?:determined|answered)|determine|find|say|tell\b|
        provide|assist|help|comply|give\s+(?:you\s+)?(?:an?|that|the|any)|share|know)\b
      |i'm\s+(?:unable\s+to|not\s+able\s+to|not\s+sure\b|not\s+certain\b|not\s+aware\b)
      |i\s+am\s+not\s+(?:sure|certain|aware)\b
      |{_WHICH}{_SOURCES}{_GIVEN}\s+{_NOT}\s+(?:\w+ly\s+)?{_SAY}\b
      |{_WHICH}{_PASSAGES}{_GIVEN}\s+{_NOT}\s+(?:\w+ly\s+)?{_HOLD}\b
      |{_WHICH}{_SOURCES}{_GIVEN}\s+{_NOT}\s+(?:\w+ly\s+)?{_HOLD}\s+(?:to\s+|about\s+)?{_FACTS}
      |{_WHICH}{_SOURCES}{_GIVEN}\s+(?:(?:contains?|provides?|gives?|includes?|ha(?:s|ve)|offers?|makes?)\s+no\s+
        (?:\w+\s+)?(?:information|details?|answers?|mention|data)|says?\s+nothing|(?:is|are)\s+silent|
        (?:is|are)\s+(?:not\s+enough|insufficient|not\s+sufficient)|lacks?\s+(?:\w+\s+){{0,2}}(?:information|details?))
      |(?:none|neither)\s+of\s+{_WHICH}{_SOURCES}\s+(?:\w+ly\s+)?(?:{_SAY}|{_HOLD})
      |(?:neither|no)\s+{_PASSAGES}\s+(?:{_SAY}|{_HOLD})s?\b
      |nothing\s+{_WHERE}
      |(?:the|this|that|your)\s+(?:answer|question|(?:\w+\s+)?information)(?:\s+(?:to|about|on)\s+[^.,]{{1,60}})?\s+
        (?:is|was|cannot|can't|can\s+not)\s*(?:not\s+|n't\s+|be\s+)+(?:(?:{_SAID})\b|{_WHERE}|known\b)
      |[^.]{{1,80}}\b(?:is|are|was|were)(?:\s+not|n't)\s+(?:\w+ly\s+)?{_SAID}\s+(?:\w+\s+)?{_WHERE}\b
      |(?:there\s+(?:is|are|was)|there's)\s+(?:no|not\s+(?:enough|any|sufficient)|insufficient)\s+(?:\w+\s+){{0,2}}
        (?:information|mention|details?)\b
      |(?:there\s+(?:is|are)|there's)\s+no\s+(?:\w+\s+)?answer\s+(?:to|in|given|provided|available)\b
      |(?:it\s+is\s+|it's\s+|that\s+is\s+|this\s+is\s+)?(?:not\s+(?:\w+ly\s+)?{_SAID}|unclear|unknown|unspecified)
        (?:\W*$|\s+{_WHERE}|\s+{_ASKED}\b[^.]*{_WHERE})
      |it\s+is(?:\s+not|n't)\s+(?:stated|mentioned|specified|clear)\s+{_ASKED}\b
      |(?:it\s+is\s+|it's\s+)?(?:impossible|not\s+possible)\s+to\s+(?:say|determine|answer|tell|know)\b
      |(?:not\s+enough|insufficient|no)\s+(?:(?:relevant|specific|further|such|other)\s+)?information
        (?:\W*$|\s+(?:is|was)\s+{_SAID}|\s+(?:found|available|provided|given)|\s+{_WHERE}|\s+to\s+(?:answer|say|determine)|
        \s+(?:about|on|regarding)\s+[^.]*\b(?:{_SAID}|{_WHERE}))
      |(?:no\s+(?:relevant\s+)?(?:answers?|mentions?)(?:\s+(?:is\s+|was\s+)?(?:found|given|provided|available))?|n/a|none|
        don't\s+know|idk|no\s+idea)\W*$
      |no\s+mention\s+of\b
      |ich\s+weiß\s+(?:es\s+)?nicht|das\s+weiß\s+ich\s+nicht|je\s+ne\s+sais\s+pas|no\s+lo\s+sé|non\s+lo\s+so|não\s+sei
      |我不知道|抱歉|对不起|わかりません|分かりません|모르겠습니다
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# What follows a refusal and takes it back: an answer after all, which the checks may judge.
TAKEN_BACK = re.compile(r"[,;]?\s+(?:but|however|though|although|yet)\b(?=(?:\W+\w+){4})", re.IGNORECASE)
RESUMED = re.compile(r"^\W*(?:but|however|that\s+said|nevertheless|still|instead)\b", re.IGNORECASE)


def declines(draft: str) -> bool:
    """Whether the draft as a whole says that it has no answer: its first sentence declines and little follows.

    In doubt it does not: what it says is then judged as any other draft is.
    """
    spans = sentences(draft)
    if not spans:
        return True
    first, *others = [draft[slice(*span)].replace("’", "'") for span in spans]
    refusal = DECLINES.match(first)
    if refusal is None or len(spans) > 3:
        return False
    return not TAKEN_BACK.search(first, refusal.end()) and not any(RESUMED.match(other) for other in others)


def split_claims(draft: str) -> list[str]:
    """The draft's statements, each a verbatim slice, in order: sentences and list items; code stays whole.

    A line that only introduces others (it ends with a colon), a heading, and a question are none. A bare yes or
    no belongs to the sentence that follows.
    """
    spans = sentences(draft)
    for index in range(len(spans) - 1, 0, -1):
        if INTERJECTION.match(draft[slice(*spans[index - 1])]):
            spans[index - 1 : index + 1] = [(spans[index - 1][0], spans[index][1])]
    claims = [draft[start:end] for start, end in spans]
    stated = [claim for claim in claims if not claim.endswith((":", "：", "?", "？"))]
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
            # What is near decides; whole sentences would make a long line of short ones cost its square.
            before = text[max(begin, match.start() - 80) : match.start()]
            if _is_boundary(before, text[match.end() : min(end, match.end() + 80)]):
                spans.append((begin, match.end(1) if match.group(1) is not None else match.end(2)))
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
        elif fenced < 0 and not NOT_TEXT.match(line):
            spans.append((position, end))
        position = end
    if fenced >= 0:
        spans.append((fenced, position))
    return spans


def _is_boundary(before: str, after: str) -> bool:
    """Whether a full stop there ends a sentence: not after an abbreviation, an initial or a list number."""
    word = re.search(r"([\w.]+)\.$", before)
    if word is None:
        return True
    last = word.group(1).casefold()
    initial = re.fullmatch(r"[a-z]", last) is not None
    if len(before.split()) <= 1 and (initial or re.fullmatch(r"\d{1,2}", last)):
        return False
    if last in ENDING or (initial and last != "i"):
        return OPENING.match(after) is not None
    return last not in ABBREVIATIONS


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start].isspace() or text[start] in "*_"):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in "*_"):
        end -= 1
    return start, end
