"""Find passages that answer a question only together: a name in one leads to the other."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from core.passages import stated_by
from core.types import Passage
from grounding.capitals import names
from grounding.dates import MONTHS
from grounding.instructions import is_instruction
from grounding.names import WEEKDAYS, folded
from grounding.reasons import GENERIC_STEMS
from grounding.sentences import sentences
from grounding.stems import stemmed

MOST_PASSAGES = 20  # that are compared: their pairs grow with the square
LONGEST_TEXT = 4000  # characters of a passage that are read for names
LEAST_COVERAGE = 0.5  # of the question's words, by a pair or by the passage that a query goes on from
MOST_NAMES = 4  # in a query
MOST_MISSING = 6
NEVER_LINK = MONTHS.keys() | WEEKDAYS
WORD = re.compile(r"\w[\w'’-]*")
CODE = re.compile(r"\b(?=[\w-]*[^\W\d_])(?=[\w-]*\d)\w[\w-]*\w\b")  # PX-40, but no plain number


def linked_pairs(question: str, passages: Sequence[Passage]) -> list[tuple[Passage, Passage]]:
    """Return the pairs that a name links which the question does not have, those that hold most of its words first.

    Both hold a word of the question that the other lacks, or one holds at least half of them all. A name that more than
    half of the passages have, but for two, tells nothing and links none.
    """
    asked = content(question)
    some = passages[:MOST_PASSAGES]
    texts = [stated_by(one)[:LONGEST_TEXT] for one in some]
    held = [content(text) & asked for text in texts]
    known = [{word.casefold() for word in named(text)} for text in texts]
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


def bridging_query(question: str, passages: Sequence[Passage]) -> str | None:
    """Return names that the passage nearest to the question adds to it, with the question's words that it lacks.

    The names are those of the sentence nearest to the question that has any. None if no passage holds half of the
    question's words, or the nearest has no such name.
    """
    asked = content(question)
    texts = [stated_by(passage)[:LONGEST_TEXT] for passage in passages[:MOST_PASSAGES]]
    nearest = max(texts, key=lambda text: len(asked & content(text)), default="")
    if not asked or len(asked & content(nearest)) < LEAST_COVERAGE * len(asked):
        return None
    own, read = {folded(word) for word in WORD.findall(question)}, stemmed(nearest)
    spans = [nearest[start:end] for start, end in sentences(nearest)]
    for sentence in sorted(spans, key=lambda one: -len(asked & content(one))):
        found = dict.fromkeys(word for word in named(sentence, surely=True) if folded(word) not in own)
        if found and not is_instruction(sentence):
            missing = [
                word for word in dict.fromkeys(WORD.findall(question)) if content(word) and not stemmed(word) & read
            ]
            return " ".join([*list(found)[:MOST_NAMES], *missing[:MOST_MISSING]])
    return None


def named(text: str, *, surely: bool = False) -> list[str]:
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
    """Return the stems of a text without those that only say how something is asked."""
    return stemmed(text) - GENERIC_STEMS
