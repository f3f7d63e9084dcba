"""Find the sentence of a passage that says otherwise than a claim: another figure, another name, or the opposite."""

from __future__ import annotations

from collections.abc import Sequence

from core.passages import section_of
from core.types import Passage, Quote
from grounding.amounts import facts_of, plain_figures
from grounding.capitals import names
from grounding.instructions import is_instruction
from grounding.language import is_english
from grounding.names import DENIAL, folded, missing_names
from grounding.numbers import Contradictions, missing_figures
from grounding.numerals import in_digits
from grounding.sentences import sentences
from grounding.stems import stemmed

LEAST_SHARED = 0.65  # of the claim's words, but for the figures and names that differ
LEAST_SHARED_DENIED = 0.8  # of the claim's words, where only a denial differs
LEAST_WORDS = 2


def find_contradiction(claim: str, passages: Sequence[Passage]) -> Quote | None:
    """Return the sentence that contradicts the claim, of several the one that shares most words; None if there is none.

    Such a sentence shares most of the claim's words and states other figures or names in the place of those that it
    does not have; or it shares nearly all words, and only one of the two is a denial. Only English is read.
    """
    if not is_english(claim, *(passage["text"] for passage in passages)):
        return None
    plain, best, found = in_digits(claim, {"en"}), 0.0, None
    for passage in passages:
        for start, end in sentences(passage["text"]):
            sentence = passage["text"][start:end]
            shared = 0.0 if is_instruction(sentence) else _contradicted(plain, sentence, section_of(passage))
            if shared > best:
                best, found = shared, Quote(passage=passage["id"], start=start, end=end)
    return found


def _contradicted(claim: str, sentence: str, section: str) -> float:
    """Return the share of the claim's words that the sentence has, if it contradicts the claim; else 0."""
    said = f"{section}\n{in_digits(sentence, {'en'})}"
    figures, absent = missing_figures(claim, said, "", said), missing_names(claim, said, "", said)
    wanted = stemmed(claim) - {word for one in (*figures, *absent) for word in stemmed(one)}
    if len(wanted) < LEAST_WORDS:
        return 0.0
    shared = len(wanted & stemmed(said)) / len(wanted)
    if figures or absent:
        replaced = _replaces_figures(claim, said, figures) and _replaces_names(claim, said, absent)
        return shared if replaced and shared >= LEAST_SHARED else 0.0
    denied = bool(DENIAL.search(claim)) != bool(DENIAL.search(sentence))
    return shared if denied and shared >= LEAST_SHARED_DENIED else 0.0


def _replaces_figures(claim: str, said: str, missing: Sequence[str]) -> bool:
    """True if the text has figures that the claim has not: of the same kind, or as many as are missing."""
    others = plain_figures(said) - facts_of(claim).numbers
    contradictions = Contradictions(claim, said, "")
    return not missing or len(others) == len(missing) or (bool(others) and all(map(contradictions.has, missing)))


def _replaces_names(claim: str, said: str, missing: Sequence[str]) -> bool:
    """True if the text has a name that the claim has not, or none is missing."""
    claimed = {folded(name.text) for name in names(claim)}
    return not missing or any(folded(name.text) not in claimed and not name.opens for name in names(said))
