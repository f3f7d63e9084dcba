"""Find the capitalised words of a text that may be names."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from core.words import STOP_WORDS
from grounding.sentences import sentences

WORD = re.compile(r"[^\W\d_][^\W_]*(?:['’][^\W_]+)*")
NO_PROSE = re.compile(
    r"```.*?```|~~~.*?~~~|`[^`\n]*`|\b\w++://\S+|\S[^\s@]{0,300}+@\S+|\b\w++\.(?:[a-z]{2,4})\b(?=\W|$)", re.DOTALL
)
BETWEEN = re.compile(r"[\s.-]*")
OPENS = re.compile(r"(?:^|[:!?\"“”‘(\[\-–—•*_|/>])\s*$|(?:^|\s)['’]$")
# Words that are capitalised without being names: titles, things that are numbered or lettered, openings of sentences.
NOT_NAMES = frozenset(
    """mister miss madam sir lady lord president king queen prince princess professor doctor judge justice captain
    general minister chancellor saint pope emperor section sections article articles chapter chapters figure figures
    table tables part parts step steps page pages note notes appendix annex clause clauses paragraph rule level
    phase stage type class grade version volume number item question answer passage document documents yes no none
    internet god north south east west northern southern eastern western tenant landlord borrower lender company
    agreement party parties customer user act bill law court state government street avenue road
    although among amid another beyond despite every inside notwithstanding outside since though throughout today
    together unlike unless upon whenever whereas wherever whether within without yet""".split()
)
ACRONYMS = frozenset("USA USD EUR GBP CEO PDF GMT UTC BCE CEST FAQ URL DNA RNA ASAP ISO GDP VAT".split())


class Name(NamedTuple):
    """A capitalised word; ``opens`` if it is the first of a sentence; ``run`` are the adjacent names, including it."""

    text: str
    opens: bool
    run: tuple[str, ...]


def names(text: str) -> Iterator[Name]:
    """Yield the words that may be names: capitalised, and neither a stop word nor a title."""
    prose = NO_PROSE.sub(lambda match: "x" * len(match.group()), text)
    begins = {start for start, _ in sentences(prose)}
    runs: list[list[tuple[str, bool]]] = [[]]
    end = -1
    for match in WORD.finditer(prose):
        word = re.sub(r"['’]s?$", "", match.group())
        opens = match.start() in begins or OPENS.search(prose, max(0, match.start() - 4), match.start()) is not None
        apart = end < 0 or not BETWEEN.fullmatch(prose, end, match.start())
        if not _may_be_a_name(word) or apart:
            runs.append([])
        if _may_be_a_name(word):
            runs[-1].append((word, opens))
        end = match.end() if word == match.group() else -1
    for run in runs:
        words = tuple(word for word, _ in run)
        yield from (Name(word, opens, words) for word, opens in run)


def _may_be_a_name(word: str) -> bool:
    lower = word.casefold()
    return (
        word[0].isupper()
        and len(word) >= 3
        and (lower not in STOP_WORDS or word == "May")
        and lower not in NOT_NAMES
        and lower.removesuffix("s") not in NOT_NAMES
        and word not in ACRONYMS
        and re.fullmatch(r"[IVXLC]+", word) is None
    )
