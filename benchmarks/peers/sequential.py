"""The sequential grader: every passage, then the answer twice, by yes or no, round two loops.

A search, a structured grade for one passage after another, a draft from the relevant ones, then whether it is grounded
and whether it resolves the question. Not grounded: draft again. Nothing relevant, or not resolved: rephrase the
question, which replaces it from then on, and search again. The way has no bounds of its own; here it has
``GENERATIONS`` and ``TRANSFORMATIONS`` a question, after which it answers with what it has.
"""

from __future__ import annotations

from benchmarks.peers.peer import Reached, Talk
from benchmarks.peers.prompts import GRADE_ANSWER, GRADE_GROUNDING, GRADE_PASSAGE, TRANSFORM_QUERY
from core.types import Passage
from prompts.delimiters import as_data, numbered, readable

GENERATIONS = 3
TRANSFORMATIONS = 2


async def sequential(question: str, talk: Talk) -> Reached:
    """Search and draft until an answer is grounded and resolves the question, or a bound is reached."""
    asked = question
    generations, support = 0, None
    answer, reason = "", "nothing_relevant"
    for transformed in range(TRANSFORMATIONS + 1):
        if transformed:
            asked = await talk.rephrase(TRANSFORM_QUERY, asked)
        passages = await _relevant(asked, talk)
        grounded = False
        while passages and not grounded and generations < GENERATIONS:
            answer = await talk.draft(asked, passages)
            generations += 1
            grounded = await talk.says_yes(GRADE_GROUNDING, passages=numbered(passages), answer=as_data(answer))
            support, reason = float(grounded), "not_useful" if grounded else "claims_unsupported"
            talk.note("grounded", yes=grounded)
        if grounded:
            useful = await talk.says_yes(GRADE_ANSWER, question=as_data(asked), answer=as_data(answer))
            talk.note("useful", yes=useful)
            if useful:
                return Reached(answer, "accepted", support=1.0)
        if generations == GENERATIONS:
            break
    return Reached(answer, reason, support=support)


async def _relevant(question: str, talk: Talk) -> list[Passage]:
    async def grade(passage: Passage) -> bool:
        return await talk.says_yes(GRADE_PASSAGE, passage=readable(passage), question=as_data(question))

    return await talk.filter(await talk.search(question), grade)
