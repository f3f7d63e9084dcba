"""The verbatim span of a passage that carries a claim, and what of a claim stands in no passage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from core.types import Passage, Quote
from grounding.instructions import is_instruction
from grounding.language import language_of
from grounding.names import missing_names
from grounding.numbers import missing_figures
from grounding.sentences import sentences
from grounding.stems import stemmed, stems

LEAST_COVERAGE = 0.5
LONGEST_QUOTE = 400
CLOSER = 0.25


def find_quote(claim: str, passages: Sequence[Passage], question: str = "", context: str = "") -> Quote | None:
    """The sentence, or two that follow each other, that covers most of the claim's words; None below a half.

    Words of the question count half: a claim echoes them, so they carry it less. Words of the claim's context,
    which it needs to be understood, choose among the spans that carry it. Of equal spans the shorter, then the
    earlier passage, wins.
    """
    wanted = stems(claim)
    if not wanted:
        return None
    asked = stems(question)
    weight = {word: 0.5 if word in asked else 1.0 for word in wanted}
    total = sum(weight.values())
    around = stems(context) - wanted - asked
    best: tuple[float, int, int] | None = None
    chosen: Quote | None = None
    for order, passage in enumerate(passages):
        for start, end, words in stemmed_spans(passage["text"]):
            covered = sum(weight[word] for word in wanted & words) / total
            if covered <= LEAST_COVERAGE:
                continue
            closer = CLOSER * len(around & words) / len(around) if around else 0.0
            # A longer span must carry clearly more than a shorter one.
            rank = (round(covered + closer - (end - start) / 4000, 6), -(end - start), -order)
            if best is None or rank > best:
                best = rank
                chosen = Quote(passage=passage["id"], start=start, end=end)
    return chosen


def spans_of(text: str) -> list[tuple[int, int]]:
    """The spans that may be quoted: each sentence, and each two that follow each other if not too long.

    A sentence that orders its reader how to answer states nothing, and is in none of them.
    """
    all_ = sentences(text)
    singles = [(start, end) for start, end in all_ if not is_instruction(text[start:end])]
    stating = {*singles}
    pairs = [(one[0], two[1]) for one, two in pairwise(all_) if {one, two} <= stating]
    return singles + [(start, end) for start, end in pairs if end - start <= LONGEST_QUOTE]


@lru_cache(maxsize=256)
def stemmed_spans(text: str) -> list[tuple[int, int, frozenset[str]]]:
    """The spans of a passage, each with its stems: many claims look for their quote there."""
    return [(start, end, stemmed(text[start:end])) for start, end in spans_of(text)]


def missing_facts(
    claim: str, passages: Sequence[Passage], question: str, *, elsewhere: Sequence[Passage] = ()
) -> list[str]:
    """The figures, dates and names of a claim that stand in no passage, in whatever form they might.

    A claim echoes its question. What only the question states is missing too where the quote contradicts it, or can
    be about nothing but what it names itself. ``elsewhere`` are passages that were found and not read: a name
    that one of the same document has is known, and so is one in the name of its file.
    """
    text = "\n".join(passage["text"] for passage in passages)
    quote = find_quote(claim, passages, question)
    near = next(
        (one["text"][quote["start"] : quote["end"]] for one in passages if quote and one["id"] == quote["passage"]), ""
    )
    english = language_of(f"{text}\n{question}") in (None, "en")
    sources = {passage["source"] for passage in passages}
    beside = [re.sub(r"[\W_]+|(?<=[a-z])(?=[A-Z])", " ", source) for source in sources]
    beside += [passage["text"] for passage in elsewhere if passage["source"] in sources]
    figures = missing_figures(claim, text, question, near, english=english)
    names = missing_names(claim, text, question, near, elsewhere="\n".join(beside), english=english)
    return figures + names
