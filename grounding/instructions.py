"""Recognise sentences that instruct the reader how to answer: an injected instruction states nothing."""

import re

from grounding.language import ENGLISH, languages_in
from grounding.stems import normal

# An injected instruction first overrides what the model was told.
_SET_ASIDE = (
    r"(?:ignore|disregard|forget|override)\b[^.!?]{0,40}?"
    r"\b(?:instructions?|prompts?|(?:passages?|text|context|everything|anything) (?:above|before)|"
    r"(?:above|previous|preceding|prior) (?:passages?|text|context))\b"
)
# Then it dictates the reply, word for word.
_DICTATE = (
    r"(?:reply|respond|answer|output|print)"
    r"(?:\s+(?:exactly|verbatim)|\b[^.!?]{0,20}?\b(?:with (?:exactly|only)|only with))\b"
)
_ORDER = re.compile(rf"\b(?:{_SET_ASIDE}|{_DICTATE})", re.IGNORECASE)


def is_instruction(sentence: str) -> bool:
    """True if the sentence tells the reader to ignore instructions, or dictates a reply.

    Such a sentence must not support a claim, or it would be quoted as what the document states. Only English is read:
    the French "il ignore les instructions" is no order.
    """
    order = _ORDER.search(plain := " ".join(normal(sentence).split()))  # a line may end anywhere in it
    return order is not None and languages_in(plain[order.start() : order.end() + 40]) <= ENGLISH
