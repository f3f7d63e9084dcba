"""The verbatim span of a passage that carries a claim, and what of a claim stands in no passage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from evidence.claims import sentences
from evidence.words import SCALED, figures, fold, numbers, plain_figure, scaled, stems
from graph.state import Passage, Quote

LEAST_COVERAGE = 0.5
LONGEST_QUOTE = 400
NAME = re.compile(r"\b[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{2,}\b")


def find_quote(claim: str, passages: Sequence[Passage], question: str = "") -> Quote | None:
    """The sentence, or two that follow each other, that covers most of the claim's words; None below a half.

    Words of the question count half: a claim echoes them, so they carry it less. Of equal spans the shorter,
    then the earlier passage, wins.
    """
    wanted = stems(claim)
    if not wanted:
        return None
    asked = stems(question)
    weight = {word: 0.5 if word in asked else 1.0 for word in wanted}
    total = sum(weight.values())
    best: tuple[float, int, int] | None = None
    chosen: Quote | None = None
    for order, passage in enumerate(passages):
        for start, end in spans_of(passage["text"]):
            covered = sum(weight[word] for word in wanted & stems(passage["text"][start:end])) / total
            # A longer span must carry clearly more than a shorter one.
            rank = (round(covered - (end - start) / 4000, 6), -(end - start), -order)
            if covered > LEAST_COVERAGE and (best is None or rank > best):
                best = rank
                chosen = Quote(passage=passage["id"], start=start, end=end)
    return chosen


def spans_of(text: str) -> list[tuple[int, int]]:
    """The spans that may be quoted: each sentence, and each two that follow each other if not too long."""
    singles = sentences(text)
    pairs = [(one[0], two[1]) for one, two in pairwise(singles) if two[1] - one[0] <= LONGEST_QUOTE]
    return singles + pairs


def missing_facts(claim: str, passages: Sequence[Passage], question: str) -> list[str]:
    """The figures and names of a claim that stand neither in a passage nor in the question."""
    text = "\n".join(passage["text"] for passage in passages) + "\n" + question
    known = numbers(text)
    missing = sorted(figures(claim) - known - _stated_in_full(claim, known))
    words = fold(text)
    inner = claim[1:] if claim[:1].isupper() else claim
    for match in NAME.finditer(inner):
        before = inner[: match.start()].rstrip()
        opens = not before or before[-1] in ".:!?\"'“‘(-–—•*_"
        if not opens and match.group() not in missing and not _names(words, fold(match.group())):
            missing.append(match.group())
    return missing


def _stated_in_full(claim: str, known: set[str]) -> set[str]:
    """The figures of a claim's ``2.5 million`` where the passages write ``2,500,000``."""
    pairs = SCALED.findall(fold(claim))
    return {plain_figure(amount) for amount, scale in pairs if amount[0].isdigit() and scaled(amount, scale) in known}


def _names(words: str, name: str) -> bool:
    """Whether the folded text has the name, also where the claim has its plural."""
    return name in words or (name.endswith("s") and re.search(rf"\b{re.escape(name[:-1])}\b", words) is not None)
