"""Split a text that somebody wrote into sentences to check, and recognise those that state nothing."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from core.text import shortened
from grounding.claims import Statement, statements
from grounding.sentences import lines, sentences_of
from grounding.stems import stemmed

LONGEST_SUBJECT = 150
MOST_HEADING_WORDS = 8
QUESTION = re.compile(r"[?？][\"'”’)»\s]*$")
LEAST_WORDS = 2  # without stop words: a single word states nothing
# Sentences about what their writer thinks, wants or asks for, in the five languages in which refusals are known.
OPINION = re.compile(
    r"""^\W*(?:
    (?:i|we)\s+(?:(?:really|personally|firmly|strongly|also|would|do)\s+)*
      (?:think|believe|feel|hope|wish|suggest|recommend|propose|prefer|like|love|hate|doubt|guess|suppose|find)\b
    |in\s+(?:my|our)\s+(?:humble\s+)?(?:opinion|view|experience)\b|to\s+(?:my|our)\s+mind\b|personally\b
    |(?:please|let\s+us|let's|thank\s+you|thanks|hello|dear|hi|kind\s+regards|best\s+regards|sincerely)\b
    |(?:un)?fortunately\s*[.!]*$
    |(?:ich|wir)\s+(?:(?:persönlich|wirklich)\s+)?(?:denken?|glauben?|meinen?|finden?|hoffen?|empfehlen?|bitten?|schlagen?)\b
    |(?:meiner|unserer)\s+(?:meinung|ansicht|erfahrung)\s+nach\b|(?:bitte|liebe[rs]?|sehr\s+geehrte[rs]?|danke)\b
    |(?:je|nous)\s+(?:pens\w+|cro\w+|trouv\w+|espér\w+|recommand\w+|propos\w+)\b
    |(?:à\s+(?:mon|notre)\s+avis|selon\s+moi|personnellement|merci|bonjour|veuillez|cher|chère)\b
    |(?:yo\s+|nosotros\s+)?(?:creo|creemos|pienso|pensamos|espero|esperamos|recomiendo|recomendamos|propongo)\b
    |(?:en\s+mi\s+opinión|en\s+nuestra\s+opinión|a\s+mi\s+juicio|personalmente|gracias|hola|estimad[oa]s?)\b
    |(?:我|我们)(?:认为|觉得|相信|希望|建议|推荐)|(?:请|谢谢|您好|你好)
    )""",
    re.IGNORECASE | re.VERBOSE,
)


class Checkable(NamedTuple):
    """A sentence with the subject of its paragraph; ``no_claim`` is the reason why the sentence is no claim, or ""."""

    statement: Statement
    subject: str
    no_claim: str


def checkable(text: str, headings: Sequence[tuple[int, int]] = ()) -> list[Checkable]:
    """Return the sentences of a text in order, except headings: those in Markdown, and those at the spans ``headings``.

    The subject of a sentence is the nearest heading above it or, without any, the first sentence of its paragraph.
    """
    found = {one.start: one for one in statements(text)}
    for line in lines(text):
        for start, end in sentences_of(text, line) if line.kind in ("text", "item") else ():
            if text[start:end].endswith(("?", "？")):
                found.setdefault(start, Statement(text[start:end], "", start))
    above = _Subjects(text, headings)
    ends = [end for _, end in headings]

    def is_heading(one: Statement) -> bool:
        after = bisect_right(ends, one.start)
        return after < len(headings) and headings[after][0] < one.start + len(one.text)

    kept = [found[start] for start in sorted(found) if not is_heading(found[start])]
    return [
        Checkable(one, above.subject_of(one), "It is a heading." if _is_title(text, one) else why_no_claim(one.text))
        for one in kept
    ]


def _is_title(text: str, one: Statement) -> bool:
    """True if the statement is a short line of its own, without a full stop."""
    end = one.start + len(one.text)
    line = text[max(0, one.start - 1) : end + 1]
    return (
        line.strip("\n") == one.text
        and end < len(text)
        and one.text[-1].isalnum()
        and len(one.text.split()) <= MOST_HEADING_WORDS
    )


def why_no_claim(sentence: str) -> str:
    """Return why a sentence states nothing that documents could support; "" if it states something."""
    if QUESTION.search(sentence):
        return "It is a question."
    if OPINION.match(sentence):
        return "It is an opinion, a wish or a greeting."
    return "" if len(stemmed(sentence)) >= LEAST_WORDS else "It states nothing."


class _Subjects:
    """The headings and the first sentences of the paragraphs of a text, by position."""

    def __init__(self, text: str, headings: Sequence[tuple[int, int]]) -> None:
        all_lines = lines(text)
        marked = {
            line.start: text[line.start : line.end].strip("#*_: \n") for line in all_lines if line.kind == "title"
        }
        titles = marked | {start: text[start:end] for start, end in headings}
        self._titles = sorted(titles.items())
        first = [line for line in all_lines if line.after_blank or line.start == 0]
        self._paragraphs = [
            (line.start, text[span[0] : span[1]]) for line in first for span in sentences_of(text, line)[:1]
        ]

    def subject_of(self, one: Statement) -> str:
        """Return the heading or first sentence above the statement; "" if it is part of the statement."""
        heading = _before(self._titles, one.start) or _before(self._paragraphs, one.start)
        return "" if heading in one.text else shortened(heading, LONGEST_SUBJECT)


def _before(places: Sequence[tuple[int, str]], position: int) -> str:
    index = bisect_right(places, position, key=lambda place: place[0])
    return places[index - 1][1] if index else ""
