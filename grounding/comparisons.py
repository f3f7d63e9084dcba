"""Tell questions that compare, count or add up, in five languages: of a table only all rows answer them."""

import re

HOW_MANY = "how many|number of|wie viele|combien|cuánt[oa]s"
TOGETHER = "in total|total|sum|altogether|together|insgesamt|zusammen|summe|au total|en tout|somme|en total|suma"
ON_AVERAGE = r"average|mean|median|durchschnitt\w*|mittelwert|moyenne?|en moyenne|promedio|media"
MOST = (
    "most|least|fewest|maximum|minimum",
    "(?:high|low|large|small|bigg|long|short|old|new|young|lat|earli|cheap|fast|slow|heavi|deep|tall|great|strong|busi)est",
    r"meisten?|wenigsten|(?:am )?[^\W\d]{3,}ste[nrs]?",
    "(?:le|la|les) (?:plus|moins)",
    r"(?:el|la|los|las|que|qué) (?:\w+ )*(?:más|menos|mayor|menor)",
)


def _compiled(words: str, unspaced: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b|[{unspaced}]", re.IGNORECASE)


COUNTED = _compiled(HOW_MANY, "几多")
ADDED = _compiled(TOGETHER, "总共")
COMPUTED = _compiled("|".join((HOW_MANY, TOGETHER, ON_AVERAGE, *MOST)), "最多少几总均共")


def compares(question: str) -> bool:
    """Whether the question asks for the most or the least, a count, a sum or a mean."""
    return COMPUTED.search(question) is not None


def counts(question: str) -> bool:
    """Whether the question asks how many there are."""
    return COUNTED.search(question) is not None


def adds_up(question: str) -> bool:
    """Whether the question asks for a sum or a count of all."""
    return ADDED.search(question) is not None
