"""The patterns by which a question is recognised as referring back to earlier ones."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Grammar:
    """The words of one language that refer back, and those that only look like it.

    Common ``words`` and ``letters`` tell the language. A ``filler`` (*well*) may stand before a question. An
    ``opening`` (*what about*) goes on from what was said. An ``ellipsis`` (*since when*) is a question without its
    subject. A question without a ``verb`` is a fragment if it has at most ``few`` words, or five that begin with a
    ``phrase`` (*without*). An ``anaphor`` (*the former*) always refers back. A ``pronoun`` does unless a ``noun``
    stands in an earlier clause (``clause`` matches its beginning), a ``possessive`` unless a noun stands anywhere
    before it. An ``expletive`` refers to nothing, as in *is it legal to* and *this year*.
    """

    words: frozenset[str]
    letters: str
    filler: re.Pattern[str]
    opening: re.Pattern[str]
    ellipsis: re.Pattern[str]
    phrase: re.Pattern[str]
    verb: re.Pattern[str]
    few: int
    anaphor: re.Pattern[str]
    expletive: re.Pattern[str]
    pronoun: re.Pattern[str]
    possessive: re.Pattern[str]
    clause: re.Pattern[str]
    noun: re.Pattern[str]


NEVER = re.compile(r"(?!)")


def pattern(text: str) -> re.Pattern[str]:
    """Compile an expression that ignores case, without its line breaks and the indents after them."""
    return re.compile(re.sub(r"\n\s*", "", text), re.IGNORECASE)


def cased(text: str) -> re.Pattern[str]:
    """Compile an expression as `pattern` does, but case-sensitively, to recognise names by their capital letters."""
    return re.compile(re.sub(r"\n\s*", "", text))


SMALL_TALK = pattern(
    r"""\W*(?:hi|hello|hey|thanks?|thank you|thx|ok(?:ay)?|great|good|nice|cool|perfect|wow|bye|goodbye|yes|no|sure
    |please|sorry|good (?:morning|afternoon|evening|night)|how are you
    |danke|vielen dank|hallo|tschüss|guten (?:tag|morgen|abend)|wie geht(?:['’]?s| es (?:dir|ihnen))|ja|nein|bitte
    |merci|bonjour|salut|au revoir|oui|non|ça va
    |gracias|muchas gracias|hola|adiós|sí|buen[oa]s (?:días|tardes|noches)|qué tal|cómo está[sn]?(?: usted)?
    |谢谢|多谢|你好|您好|再见|好的?|嗯|是的?)
    (?: (?:so much|very much|a lot|you|there|again|doing|sehr|schön|beaucoup|bien))*\W*"""
)
