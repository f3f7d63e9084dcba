"""Recognise a question that states its own premises, and asks for a conclusion in their words."""

import re

from grounding.language import is_english
from grounding.reasons import missing_words
from grounding.stems import stemmed

LONGEST = 400  # characters; a longer question is not read
# Two premises, of which one is general; or two figures, for a sum.
GENERAL = re.compile(r"\b(?:every|all|each|any|no|some|most)\b.*?(?:\band\b|[.;,])", re.IGNORECASE)
FIGURES = re.compile(r"\d.*\s.*\d")
CONCLUSION = re.compile(
    r"[,;.:]\s+(?:then\s+|so\s+)?((?:is|are|was|were|does|do|did|has|have|can|must|who|what|which|how)\b[^,;.?]*)\?\W*$",
    re.IGNORECASE,
)


def brings_premises(question: str) -> bool:
    """True if an English question asks for a conclusion whose words are all in the premises that it states before."""
    conclusion = CONCLUSION.search(question) if len(question) <= LONGEST else None
    if conclusion is None:
        return False
    premises = question[: conclusion.start()]
    if not GENERAL.search(premises) and not FIGURES.search(question):
        return False
    return bool(stemmed(conclusion[1])) and not missing_words(conclusion[1], [premises]) and is_english(question)
