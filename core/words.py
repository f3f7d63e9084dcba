"""Split text into words, and Chinese, Japanese and Korean text into pairs of characters; list English stop words."""

import re

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he her
    here hers him his how i if in into is it its itself just may me might more most must my no nor not of off
    on once only or other our out over own same she should so some such than that the their them then there
    these they this those through to too under until up upon very was we were what when where which while who
    whom why will with would you your""".split()
)
YES_NO, YES_NO_IN_CHINESE = "yes|no|ja|nein|oui|non|sí", "是的?|不是?|否"  # as parts of patterns
RAISED_DIGITS = "[¹²³⁰⁴-⁹]"  # of an exponent, or of the number of a note

# Chinese characters, Japanese kana and Korean syllables.
CJK = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]"
)
_WORD = re.compile(r"\w+")
_RUNS = re.compile(f"({CJK.pattern}+)")


def words_of(text: str) -> list[str]:
    """Return the words of a text. A run of Chinese, Japanese or Korean gives its overlapping pairs of characters.

    A run of one character is a word.
    """
    return [term for word in _WORD.findall(text) for term in (_terms(word) if CJK.search(word) else [word])]


def pairs_of(*texts: str | None) -> str | None:
    """Return all Chinese, Japanese and Korean words as pairs of characters, joined by spaces; None if there is none."""
    found = (word for text in texts if text and CJK.search(text) for word in _WORD.findall(text) if CJK.search(word))
    return " ".join(term for word in found for term in _terms(word)) or None


def _terms(word: str) -> list[str]:
    terms: list[str] = []
    for run in _RUNS.split(word):
        if CJK.match(run) and len(run) > 1:
            terms += [run[i : i + 2] for i in range(len(run) - 1)]
        elif run:
            terms.append(run)
    return terms
