"""Split a draft into claims, each with the context it needs, and recognise a draft that declines to answer."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from grounding.sentences import Line, lines, sentences, sentences_of

LONGEST_CLAIM = 4000  # characters, with its context: twice a whole draft of prose; a longer one is not checked
REFERS = re.compile(
    r"\W*(?:he|she|it|they|this|these|those|his|her|its|their|both|such|the\s+(?:former|latter|same))\b", re.IGNORECASE
)
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
# What follows a refusal and retracts it: an answer after all, which the checks may judge.
TAKEN_BACK = re.compile(r"(?<=\s)(?:but|however|though|although|yet)\b(?=(?:\W+\w+){4})", re.IGNORECASE)
RESUMED = re.compile(r"^\W*(?:but|however|that\s+said|nevertheless|still|instead)\b", re.IGNORECASE)


def declines(draft: str) -> bool:
    """True if the draft as a whole says that it has no answer: its first sentence declines and little follows.

    False in doubt: the draft is then judged like any other.
    """
    spans = sentences(draft)
    if not spans:
        return True
    first, *others = [draft[slice(*span)].replace("’", "'") for span in spans]
    refusal = DECLINES.match(first)
    if refusal is None or len(spans) > 3:
        return False
    return not TAKEN_BACK.search(first, refusal.end() + 1) and not any(RESUMED.match(other) for other in others)


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
    """Return the claim with a lead-in or table header that is part of it.

    A sentence to which a pronoun refers is a claim of its own, and not included.
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
        start = starts[index] if index < len(starts) else draft.find(text, position)
        position = max(start, position) + (len(text) if start >= 0 else 0)
        ends.append(position)
    return ends


class _LeadIns:
    """The lead-ins that apply, with their indents: a list's to all its items, any other's until a blank line."""

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
        """Make ``text`` the lead-in of what follows the line."""
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
            elif not text.endswith(("?", "？")):
                found.append(Statement(text, lead or (subject if refers else ""), start))
            keeps_subject = refers or introduces or line.kind == "code" or INTERJECTION.match(text)
            header, lead, subject = "", "", subject if keeps_subject else text
    return found
