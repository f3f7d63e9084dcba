"""The common ways to build a self-reflecting answerer: their behaviour, not their code."""

import re

from benchmarks.peers import prompts
from benchmarks.peers.peer import Reached, Talk
from core.types import Passage
from core.wording import WORDINGS
from prompts.delimiters import as_data, delimited, readable

GENERATIONS = 3
TRANSFORMATIONS = 2
SUPPORT_FACTOR = 5
FULL, PARTIAL, NONE = 1.0, 0.5, 0.0
MIDDLE_UTILITY = 3
BEST = SUPPORT_FACTOR * FULL + 5
READ_CHARACTERS = 300
FLAG = WORDINGS["en"].marks["no support"]  # our own mark for the same thing: scores leave it out of every answer alike
DOUBTFUL = 0.5


async def sequential(question: str, talk: Talk) -> Reached:
    """Grade every passage, then the answer twice, by yes or no, round two loops.

    A search, a structured grade for one passage after another, a draft from the relevant ones, then whether it is
    grounded and whether it resolves the question. Not grounded: draft again. Nothing relevant, or not resolved:
    rephrase the question, which replaces it from then on, and search again. The way has no bounds of its own; here it
    has ``GENERATIONS`` and ``TRANSFORMATIONS`` a question, after which it answers with what it has.
    """
    asked = question
    generations, support = 0, None
    answer, reason = "", "nothing_relevant"
    for transformed in range(TRANSFORMATIONS + 1):
        if transformed:
            asked = await talk.rephrase(prompts.TRANSFORM_QUERY, asked)
        passages = await _relevant(asked, talk)
        grounded = False
        while passages and not grounded and generations < GENERATIONS:
            answer = await talk.draft(asked, passages)
            generations += 1
            grounded = await talk.says_yes(
                prompts.GRADE_GROUNDING, passages=delimited(passages), answer=as_data(answer)
            )
            support, reason = float(grounded), "not_useful" if grounded else "claims_unsupported"
            talk.note("grounded", yes=grounded)
        if grounded:
            useful = await talk.says_yes(prompts.GRADE_ANSWER, question=as_data(asked), answer=as_data(answer))
            talk.note("useful", yes=useful)
            if useful:
                return Reached(answer, "accepted", support=1.0)
        if generations == GENERATIONS:
            break
    return Reached(answer, reason, support=support)


async def _relevant(question: str, talk: Talk) -> list[Passage]:
    async def grade(passage: Passage) -> bool:
        return await talk.says_yes(prompts.GRADE_PASSAGE, passage=readable(passage), question=as_data(question))

    return await talk.filter(await talk.search(question), grade)


async def best_of(question: str, talk: Talk) -> Reached:
    """Give the best of one answer for each passage: support × 5 + utility, rated in words and digits.

    Whether to search is asked first. Each passage found relevant gets an answer of its own, a rating of its support and
    one of its utility; the best is given, the first of equals. With nothing relevant it answers without documents.
    """
    searches = "yes" in await talk.word(prompts.NEEDS_SEARCH, question=as_data(question))
    talk.note("decide", search=searches)
    if not searches:
        return Reached(await talk.closed_book(question), "not_needed", route="direct", decided=True)

    async def grade(passage: Passage) -> bool:
        said = await talk.word(prompts.RATE_RELEVANCE, question=as_data(question), passage=readable(passage))
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
    support = support_of(await talk.word(prompts.RATE_SUPPORT, passage=readable(passage), answer=about))
    utility = utility_of(await talk.word(prompts.RATE_UTILITY, question=as_data(question), answer=about))
    score = SUPPORT_FACTOR * support + utility
    talk.note("rate", support=support, utility=utility, score=score)
    return Reached(answer, "best", confidence=score / BEST, support=support, usefulness=(utility - 3) / 2, decided=True)


def support_of(reply: str) -> float:
    """Return the rating that the words name; ``NONE`` if they name none."""
    if "full" in reply:
        return FULL
    return PARTIAL if "partial" in reply else NONE


def utility_of(reply: str) -> int:
    """Return the first digit from 1 to 5; the middle if there is none."""
    digit = re.search(r"[1-5]", reply)
    return int(digit.group()) if digit else MIDDLE_UTILITY


async def filter_flag(question: str, talk: Talk) -> Reached:
    """Decide, filter, generate, flag: grade passages on how they begin, and give a doubtful answer with a flag.

    No loop: one search, one draft, one check of the whole answer. With nothing kept it says that it found nothing.
    """
    searches = (await talk.word(prompts.NEEDS_SEARCH, question=as_data(question))).startswith("yes")
    talk.note("decide", search=searches)
    if not searches:
        return Reached(await talk.closed_book(question), "not_needed", route="direct", decided=True)

    async def keep(passage: Passage) -> bool:
        beginning = as_data(passage["text"][:READ_CHARACTERS])
        said = await talk.word(prompts.FILTER_PASSAGE, question=as_data(question), passage=beginning)
        return said.startswith("yes")

    kept = await talk.filter(await talk.search(question), keep)
    if not kept:
        return Reached("", "nothing_relevant", decided=True)
    answer = await talk.draft(question, kept)
    said = await talk.word(prompts.CHECK_ANSWER, passages=delimited(kept), answer=as_data(answer))
    supported = said.startswith("yes")
    talk.note("check", supported=supported)
    if supported:
        return Reached(answer, "accepted", support=1.0, decided=True)
    return Reached(answer, "flagged", confidence=DOUBTFUL, support=0.0, flag=FLAG, decided=True)
