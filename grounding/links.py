"""Find passages that answer a question only together: a name in one leads to the other."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from core.passages import stated_by
from core.types import Passage
from grounding.capitals import names
from grounding.dates import MONTHS
from grounding.names import WEEKDAYS
from grounding.reasons import GENERIC_STEMS
from grounding.stems import stemmed

MOST_PASSAGES = 20  # that are compared: their pairs grow with the square
LONGEST_TEXT = 4000  # characters of a passage that are read for names
LEAST_COVERAGE = 0.5  # of the question's words, by a pair
NEVER_LINK = MONTHS.keys() | WEEKDAYS
WORD = re.compile(r"\w[\w'’-]*")
CODE = re.compile(r"\b(?=[\w-]*[^\W\d_])(?=[\w-]*\d)\w[\w-]*\w\b")  # PX-40, but no plain number


def linked_pairs(question: str, passages: Sequence[Passage]) -> list[tuple[Passage, Passage]]:
    """Return the pairs of passages that share a name not in the question, those with most words of the question first.

    Together the two have half of the question's words. Also, one has half by itself, or each has words that the other
    lacks. A name that is in more than two passages, and in more than half of all, does not link.
    """
    asked = content(question)
    some = passages[:MOST_PASSAGES]
    texts = [stated_by(one)[:LONGEST_TEXT] for one in some]
    held = [content(text) & asked for text in texts]
    known = [{word.casefold() for word in names_in(text)} for text in texts]
    words = [{word.casefold() for word in WORD.findall(text)} for text in texts]
    own = {word.casefold() for word in WORD.findall(question)}
    counts = Counter(word for one in words for word in one)
    own |= {word for word, count in counts.items() if count > max(2, len(some) // 2)}
    found: list[tuple[float, int, int]] = []
    for one, other in combinations(range(len(some)), 2):
        shared = (known[one] & words[other] | known[other] & words[one]) - own
        both = len(held[one] | held[other]) / max(1, len(asked))
        adds = bool(held[one] - held[other]) and bool(held[other] - held[one])
        leads = max(len(held[one]), len(held[other])) / max(1, len(asked)) >= LEAST_COVERAGE
        if shared and both >= LEAST_COVERAGE and (adds or leads):
            found.append((both, one, other))
    return [(some[one], some[other]) for _, one, other in sorted(found, key=lambda pair: -pair[0])]


def names_in(text: str, *, surely: bool = False) -> list[str]:
    """Return the names and codes in the text; ``surely`` leaves out single words that may be names only because they
    open a sentence.
    """
    found = [
        one.text
        for one in names(text)
        if one.text.casefold() not in NEVER_LINK and not (surely and one.opens and len(one.run) == 1)
    ]
    return [*found, *CODE.findall(text)]


def content(text: str) -> frozenset[str]:
    """Return the stems of a text without those that only say how something is asked, such as that of "explain"."""
    return stemmed(text) - GENERIC_STEMS
