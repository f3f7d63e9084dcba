"""The best of one answer for each passage: support × 5 + utility, rated in words and digits.

Whether to search is asked first. Each passage found relevant gets an answer of its own, a rating of its support and one
of its utility; the best is given, the first of equals. With nothing relevant it answers without documents.
"""

from __future__ import annotations

import re

from benchmarks.peers.peer import Reached, Talk
from benchmarks.peers.prompts import NEEDS_SEARCH, RATE_RELEVANCE, RATE_SUPPORT, RATE_UTILITY
from core.types import Passage
from prompts.delimiters import as_data, readable

SUPPORT_FACTOR = 5
FULL, PARTIAL, NONE = 1.0, 0.5, 0.0
MIDDLE_UTILITY = 3
BEST = SUPPORT_FACTOR * FULL + 5


async def best_of(question: str, talk: Talk) -> Reached:
    """Answer from each relevant passage by itself and give the best."""
    searches = "yes" in await talk.word(NEEDS_SEARCH, question=as_data(question))
    talk.note("decide", search=searches)
    if not searches:
        return Reached(await talk.closed_book(question), "not_needed", route="direct", decided=True)

    async def grade(passage: Passage) -> bool:
        said = await talk.word(RATE_RELEVANCE, question=as_data(question), passage=readable(passage))
        return said.startswith("relevant")

    candidates = [
        await _candidate(question, passage, talk) for passage in await talk.filter(await talk.search(question), grade)
    ]
    if not candidates:
        return Reached(await talk.closed_book(question), "nothing_relevant", confidence=0.0, decided=True)
    return max(candidates, key=lambda one: one.confidence)


async def _candidate(question: str, passage: Passage, talk: Talk) -> Reached:
    answer = await talk.draft(question, [passage])
    about = as_data(answer)
    support = support_of(await talk.word(RATE_SUPPORT, passage=readable(passage), answer=about))
    utility = utility_of(await talk.word(RATE_UTILITY, question=as_data(question), answer=about))
    score = SUPPORT_FACTOR * support + utility
    talk.note("rate", support=support, utility=utility, score=score)
    return Reached(answer, "best", confidence=score / BEST, support=support, usefulness=(utility - 3) / 2, decided=True)


def support_of(reply: str) -> float:
    """The rating that the words stand for; none when they name none."""
    if "full" in reply:
        return FULL
    return PARTIAL if "partial" in reply else NONE


def utility_of(reply: str) -> int:
    """The first digit from 1 to 5; the middle when there is none."""
    digit = re.search(r"[1-5]", reply)
    return int(digit.group()) if digit else MIDDLE_UTILITY
