"""Find the sentence of a passage that contradicts a claim: by another figure, another name, or the opposite."""

from collections.abc import Sequence
from itertools import accumulate, groupby

from core.passages import section_of
from core.types import Passage, Quote
from core.words import STOP_WORDS
from grounding.amounts import facts_of, plain_figures
from grounding.capitals import WORD, names
from grounding.dates import MONTHS
from grounding.instructions import is_instruction
from grounding.language import is_english
from grounding.names import DENIAL, folded, missing_names
from grounding.numbers import contradicted, missing_figures
from grounding.numerals import in_digits
from grounding.sentences import sentences
from grounding.stems import stem, stemmed

LEAST_SHARED = 0.65  # of the claim's words, but for the figures and names that differ
LEAST_SHARED_DENIED = 0.8  # of the claim's words, where only a denial differs
LEAST_WORDS = 2


def find_contradiction(claim: str, passages: Sequence[Passage]) -> Quote | None:
    """Return the sentence that contradicts the claim and shares most words with it; None if no sentence contradicts it.

    Such a sentence shares most of the claim's words, but states other figures or names in place of the claim's; or it
    shares nearly all words, and only one of the two is a denial. Only English is read.
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
    if shared < LEAST_SHARED:
        return 0.0
    if figures or absent:
        # Missing figures must be replaced by as many others, or by others of their kind, and each missing name by
        # another. A date is missing only if another replaces it.
        figures = [one for one in figures if " " not in one]
        others = plain_figures(said) - facts_of(claim).numbers
        counted = not figures or len(others) == len(figures) or (others and contradicted(claim, said, "") >= {*figures})
        return shared if counted and _others_in_place(claim, absent, said) else 0.0
    denied = bool(DENIAL.search(claim)) != bool(DENIAL.search(sentence))
    return shared if denied and shared >= LEAST_SHARED_DENIED else 0.0


def _others_in_place(claim: str, absent: Sequence[str], said: str) -> bool:
    """True if ``said`` has another name in place of each ``absent`` name of the claim.

    The new name stands beside the same word as the absent one. A month can replace only another month.
    """
    missing, claimed = set(map(folded, absent)), {folded(name.text) for name in names(claim)}
    others = {folded(name.text) for name in names(said) if not name.opens} - claimed
    places = _beside(others if missing & MONTHS.keys() else others - MONTHS.keys(), said)
    for place in _beside(missing, claim):
        found = next((one for one in places if one & place), None)
        if found is None:
            return False
        places.remove(found)
    return True


def _beside(called: set[str], text: str) -> list[set[str]]:
    """Return the stems beside the names ``called``, as a set for each run of adjacent names that has one of them: the
    stems of the run's other names and of the nearest words around it that are neither names nor stop words.
    """
    words = [folded(word) for word in WORD.findall(text)]
    within = called | {folded(name.text) for name in names(text) if not name.opens}

    def nearest(last: str, word: str) -> str:
        return last if word in within or word in STOP_WORDS else word

    before = [*accumulate(words, nearest, initial="")]
    after = [*accumulate(reversed(words), nearest, initial="")][::-1]
    places = []
    for named, run in groupby(range(len(words)), lambda at: words[at] in within):
        first, *rest = run
        own = words[first : first + 1 + len(rest)]
        if named and called.intersection(own):
            beside = (before[first], *own, after[first + len(own)])
            places.append({stem(word) for word in beside if word and word not in called})
    return places
