"""Tell from its words whether a question asks for a long answer."""

import re

from core.types import Length
from grounding.stems import stems

POLITE = r"(?:(?:please|can|could|would|you|bitte|por favor|s['’]il (?:vous|te) pla[iî]t|请|请你)[\s,]*)*"
ASKS = re.compile(
    rf"""^\W*{POLITE}(?:
        (?:give|write|make|draw\ up|provide|prepare)\s+(?:me\s+)?(?:an?|the)\s+(?:\w+\s+)?
            (?:summary|overview|comparison|list|report|outline)\b
        | (?:summari[sz]e|compare|list|outline|enumerate)\b
        | (?:fasse?n?\b(?=.*\bzusammen\b)|vergleichen?\b|liste\b(?=.*\bauf\b)|nenne?n?\b(?=.*\balle\b))
        | (?:(?:r[ée]sum|compar|[ée]num[ée]r)ez?\b|dresse[zr]?\s+(?:une|la)\s+liste\b)
        | (?:resum[ae]n?|compar[ae]n?|enumer[ae]n?|haz\s+una\s+lista)\b
        | (?:总结|概括|比较|列出|列举|概述)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
VERB_BEHIND = re.compile(r"(?:\s+bitte)?\s+(?:zusammen|auf)\W*$")  # of a German verb
LISTS = re.compile(r"\b(?:list|enumerate|liste|nenne?n?|enum[eé]r\w*|lista)\b|列出|列举", re.IGNORECASE)
NAMED = re.compile(r"[^\s\"“”„«»「」]+\.(?:pdf|docx|md|markdown|txt|html?|rst|csv|tsv)\b", re.IGNORECASE)
# What may stand beside the name of a document that is asked for as a whole.
DOCUMENT = re.compile(
    r"""\b(?:document|file|content\w*|main|key|points?|whole|entire|full|text|das|der|die|dem|dokument|datei|inhalt|von|
    aus|den|gesamten?|le|la|les|du|de|el|los|del|documento?|fichier|archivo|contenu|contenido|todo|tout)\b|文件|内容|的""",
    re.VERBOSE | re.IGNORECASE,
)
LONGEST = 400  # characters: a longer message brings its own text


def length_asked_for(question: str) -> Length:
    """Return "long" for a request of a summary, a comparison, a list or a report, in one of the five languages."""
    return "long" if len(question) <= LONGEST and ASKS.match(question) else "short"


def subject_asked_for(question: str) -> str:
    """Return the question without the words that ask for a long answer."""
    asks = ASKS.match(question)
    return (VERB_BEHIND.sub("", question[asks.end() :].strip()) or question) if asks else question


def document_asked_for(question: str) -> str | None:
    """Return the file name of the document that is asked for as a whole, as in "Summarise lease.pdf"; else None."""
    if len(question) > LONGEST:
        return None
    subject = subject_asked_for(question)
    names = NAMED.findall(subject)
    rest = DOCUMENT.sub(" ", NAMED.sub(" ", subject))
    return names[0] if subject != question and len(names) == 1 and not stems(rest) else None


def asks_for_a_list(question: str) -> bool:
    """True if the answer is to be a list."""
    return ASKS.match(question) is not None and LISTS.search(question) is not None
