"""Sentences that order a reader how to answer: an instruction planted in a document states nothing."""

from __future__ import annotations

import re

from grounding.stems import normal

# What a planted instruction does first: it sets aside what the model was told.
_SET_ASIDE = (
    r"(?:ignore|disregard|forget|override)\b[^.!?\n]{0,40}?"
    r"\b(?:instructions?|prompts?|(?:passages?|text|context|everything|anything) (?:above|before)|"
    r"(?:above|previous|preceding|prior) (?:passages?|text|context))\b"
)
# And then: it dictates the reply, word for word.
_DICTATE = (
    r"(?:reply|respond|answer|output|print)"
    r"(?:\s+(?:exactly|verbatim)|\b[^.!?\n]{0,20}?\b(?:with (?:exactly|only)|only with))\b"
)
_ORDER = re.compile(rf"\b(?:{_SET_ASIDE}|{_DICTATE})", re.IGNORECASE)


def is_instruction(sentence: str) -> bool:
    """Whether the sentence tells its reader to set aside what was said, or dictates a reply.

    No claim is supported by such a sentence: it would be quoted as what the document says of its subject.
    """
    return _ORDER.search(normal(sentence)) is not None
