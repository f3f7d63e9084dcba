"""Decide, filter, generate, flag: passages are graded on how they begin, and a doubtful answer is given with a flag.

No loop: one search, one draft, one check of the whole answer. With nothing kept it says that it found nothing.
"""

from __future__ import annotations

from benchmarks.peers.peer import Reached, Talk
from benchmarks.peers.prompts import CHECK_ANSWER, FILTER_PASSAGE, NEEDS_SEARCH
from core.types import Passage
from core.wording import WORDINGS
from prompts.delimiters import as_data, numbered

READ_CHARACTERS = 300
FLAG = WORDINGS["en"].marks["no support"]  # our own mark for the same thing: scores leave it out of every answer alike
DOUBTFUL = 0.5


async def filter_flag(question: str, talk: Talk) -> Reached:
    """Answer from the kept passages; flag what the check does not find supported."""
    searches = (await talk.word(NEEDS_SEARCH, question=as_data(question))).startswith("yes")
    talk.note("decide", search=searches)
    if not searches:
        return Reached(await talk.closed_book(question), "not_needed", route="direct", decided=True)

    async def keep(passage: Passage) -> bool:
        beginning = as_data(passage["text"][:READ_CHARACTERS])
        said = await talk.word(FILTER_PASSAGE, question=as_data(question), passage=beginning)
        return said.startswith("yes")

    kept = await talk.filter(await talk.search(question), keep)
    if not kept:
        return Reached("", "nothing_relevant", decided=True)
    answer = await talk.draft(question, kept)
    said = await talk.word(CHECK_ANSWER, passages=numbered(kept), answer=as_data(answer))
    supported = said.startswith("yes")
    talk.note("check", supported=supported)
    if supported:
        return Reached(answer, "accepted", support=1.0, decided=True)
    return Reached(answer, "flagged", confidence=DOUBTFUL, support=0.0, flag=FLAG, decided=True)
