"""Find the name of a subject that the question only describes, such as "the leader of the Skarvik survey"."""

from core.errors import ModelError
from core.types import Subject
from grounding import answers as rules
from grounding.descriptions import description_in, inner_description
from nodes.compare_answers import brief_answer, checked_answer
from nodes.finish import wording_of
from nodes.found_passages import as_passage
from nodes.grade_documents import grades_of
from nodes.retrieve import Search, documents_for
from prompts.delimiters import as_data, readable
from prompts.described import DESCRIBED, MAX_TOKENS
from prompts.grade_documents import RELEVANCE
from run.context import Context, Services

MOST_TRIED = 2  # passages that may have the name


async def description_of(question: str, services: Services) -> tuple[int, int] | None:
    """Let the model find the span in which the question describes its subject; None if it finds none or fails."""
    given = as_data(question)
    try:
        reply = await services.generator.write(DESCRIBED, max_tokens=MAX_TOKENS, hidden=True, question=given)
    except ModelError:  # also a reply that was cut off
        return None
    return description_in(reply, question)


async def subject_of(question: str, span: tuple[int, int], services: Services, context: Context) -> Subject | None:
    """Return the subject of the span, or of a description within it; None if no passage surely names either."""
    for one in filter(None, (span, inner_description(question, span))):
        if subject := await _find_subject(question, one, services, context):
            return subject
    return None


async def _find_subject(question: str, span: tuple[int, int], services: Services, context: Context) -> Subject | None:
    """Return what the span of the question describes, by the first passage that names it; None if none surely does.

    Found passages are graded. The best ones are asked for a short answer until the critic finds an answer supported.
    """
    start, end = span
    asked = wording_of(question).who_or_what.format(described=question[start:end])
    thresholds = context.effective_thresholds
    passages = list(map(as_passage, await documents_for(Search(asked, context.k), services, context)))
    skipped = services.fits.unlikely(asked, passages, thresholds.graded, thresholds.similar)
    passages = [one for one in passages if one["id"] not in skipped]
    verdicts = await grades_of(asked, passages, list(map(readable, passages)), services, context)
    ranked = sorted(zip(passages, verdicts, strict=True), key=lambda one: -RELEVANCE.score(one[1]))
    for passage in [one for one, verdict in ranked if RELEVANCE.is_positive(verdict)][:MOST_TRIED]:
        found = await brief_answer(passage, asked, services)
        answer = await checked_answer(found, asked, services, context) if found else None
        if answer and rules.own_words(answer["answer"], question):
            return Subject(
                description=question[start:end],
                asked=asked,
                name=answer["answer"],
                question=f"{question[:start]}{answer['answer']}{question[end:]}",
                passage=passage,
                quote=answer["quote"],
                verdict=answer["verdict"],
            )
    return None
