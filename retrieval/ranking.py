"""Fuse what was found by words and by meaning, and leave out what says the same again."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

_ALIKE = 0.1  # of the words of two passages may differ for one to say the same again
_WORD = re.compile(r"\w+")
_NEGATIONS = frozenset(
    "no not nor none never neither without except unless cannot hardly fail fails failed t".split()  # t: of isn't
)


def fuse(similarities: Mapping[int, float], words: Mapping[int, float]) -> dict[int, float]:
    """Return half the one score and half the other, each brought to 0 to 1 over all candidates.

    A passage that no term was found in has the BM25 score 0; every candidate has a similarity.
    """
    by_meaning = _normalised(similarities)
    by_words = _normalised({id_: words.get(id_, 0.0) for id_ in similarities})
    return {id_: (by_meaning[id_] + by_words[id_]) / 2 for id_ in similarities}


def distinct(ranked: Sequence[tuple[int, float]], texts: Mapping[int, str], most: int) -> list[tuple[int, float]]:
    """Keep the ``most`` best, without those that say the same as a better one.

    That is where at most a tenth of their words differ, and no number or negation among these: last
    year's price list is no copy of this year's.
    """
    seen: list[Counter[str]] = []
    kept: list[tuple[int, float]] = []
    for id_, score in ranked:
        words = Counter(_WORD.findall(texts[id_].casefold())) or Counter([texts[id_]])
        if not any(_alike(words, other) for other in seen):
            seen.append(words)
            kept.append((id_, score))
            if len(kept) == most:
                break
    return kept


def _alike(one: Counter[str], other: Counter[str]) -> bool:
    total = one.total() + other.total()
    if abs(one.total() - other.total()) > _ALIKE * total / 2:
        return False
    differing = (one - other) + (other - one)
    if differing.total() > _ALIKE * total / 2:
        return False
    return not any(word in _NEGATIONS or any(map(str.isdigit, word)) for word in differing)


def _normalised(scores: Mapping[int, float]) -> dict[int, float]:
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0 if high > 0 else 0.0)
    return {id_: (score - low) / (high - low) for id_, score in scores.items()}
