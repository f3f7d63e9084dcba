"""How much of a question the headings above a passage name: words that its own text, and so its vector, may lack."""

import math
from collections import Counter
from collections.abc import Mapping

from langchain_core.documents import Document

from core.passages import section_of
from grounding.stems import stemmed


def section_shares(question: str, passages: Mapping[int, Document]) -> dict[int, float]:
    """Return for each passage the share, 0 to 1, of the question's words that its title and headings have.

    A word counts by its inverse frequency among these passages, so that one that all of them have tells nothing. Empty
    if none has a title or heading.
    """
    sections = {id_: stemmed(section) for id_, passage in passages.items() if (section := section_of(passage.metadata))}
    if not sections:
        return {}
    asked, nothing = stemmed(question), frozenset[str]()
    counts = Counter(
        word
        for id_, passage in passages.items()
        for word in asked & (stemmed(passage.page_content) | sections.get(id_, nothing))
    )
    weights = {word: math.log((len(passages) + 1) / (count + 0.5)) for word, count in counts.items()}
    total = sum(weights.values())
    return {
        id_: sum(weights.get(word, 0.0) for word in asked & words) / total for id_, words in sections.items() if total
    }
