"""Ask each relevant document that may contradict the draft for its own answer.

A draft from several passages hides that they disagree: it gives one answer, or joins several. No vote decides between
documents, since in an attack the false ones are the majority.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from core.errors import ModelError
from core.passages import characters_of, stated_by
from core.text import shortened
from core.types import DocumentAnswer, Passage, Quote
from grounding import answers as rules
from models.usage import LimitReachedError
from nodes.check_claim import support_of
from nodes.concurrency import gather, off_loop
from prompts.compare_answers import BRIEF_ANSWER, MAX_TOKENS, NO_ANSWER
from prompts.delimiters import as_data, delimited, readable
from run.candidates import ANSWERED, is_supported, outcome_of
from run.context import Context, Services
from run.documents import document_of, relevant_documents, without_copies
from run.state import SelfRAGState, standalone_question

MOST_DOCUMENTS = 8  # that are asked by themselves
Found = tuple[Passage, str, Quote]


async def compare_answers(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Group the answers of single documents by agreement, the draft's first; two or more groups are a conflict.

    A document that states the draft's first supported claim agrees, and is not asked for an answer. An answer
    counts if its words stand together in the passage, and the critic finds the answer supported. Answers differ only
    if code can tell that they do: where only a human reader could tell, no conflict is reported.
    """
    question, best = standalone_question(state), state["best"]
    claim = next(filter(is_supported, best["claims"]), None) if best else None
    asked: list[Passage] = []
    groups: list[list[DocumentAnswer]] = []
    # A follow-up may ask otherwise than the question that it is joined to.
    asked_as = (question, state["question"])
    answered = outcome_of(state, runtime.context)[0] in ANSWERED
    if claim and claim["quote"] and answered and all(map(rules.asks_for_one_fact, asked_as)):
        documents = relevant_documents(state)
        size = sum(map(characters_of, documents))
        agreeing, others = await off_loop(size, split_documents, claim["text"], question, documents)
        asked = others[:MOST_DOCUMENTS]
        drafted = DocumentAnswer(answer=claim["text"], verdict=claim["verdict"], quote=claim["quote"])
        found = [one for one in await gather(brief_answer(one, question, services) for one in asked) if one]
        told = [rules.agree(answer, claim["text"], question) for _, answer, _ in found]
        # A draft that no document gives, but that agrees with an answer, may join several answers; one that can be
        # compared with none may answer something else. Then the documents' answers are compared with each other alone.
        # Agreement with an answer that only repeats the question does not count.
        joined = not agreeing and any(
            same and rules.own_words(answer, question) for same, (_, answer, _) in zip(told, found, strict=True)
        )
        apart = joined or not any(same is not None for same in told)
        quoted = claim["quote"]["passage"]
        cited = next((document_of(one) for some in documents for one in some if one["id"] == quoted), None)
        new = [
            one for one, same in zip(found, told, strict=True) if apart or (not same and document_of(one[0]) != cited)
        ]
        sure = await gather(checked_answer(one, question, services, runtime.context) for one in new)
        answers = [one for one in (None if apart else drafted, *sure) if one]
        groups = await off_loop(size, grouped, answers, question, state.get("found", state["passages"]))
    differing = groups if len(groups) > 1 else []
    shown = [{"answer": one[0]["answer"], "documents": len(one)} for one in differing]
    return {"differing": differing, "decided": {"asked": len(asked), "answers": shown}}


def split_documents(
    claim: str, question: str, documents: Sequence[list[Passage]]
) -> tuple[list[Passage], list[Passage]]:
    """Return a passage giving the claim from each document that has one, and the best passage of each other document.

    A passage that is nearly a copy of another document's is left out.
    """
    agreeing: list[Passage] = []
    others: list[Passage] = []
    for passages in without_copies(documents):
        giving = [one for one in passages if rules.gives(one, claim, question)]
        (agreeing if giving else others).append((giving or passages)[0])
    return agreeing, others


async def brief_answer(passage: Passage, question: str, services: Services) -> Found | None:
    """Answer from one passage; return passage, answer and quote, or None if the passage lacks the answer's words."""
    try:
        reply = await services.generator.write(
            BRIEF_ANSWER, max_tokens=MAX_TOKENS, hidden=True, question=as_data(question), passage=readable(passage)
        )
    except (ModelError, LimitReachedError):  # also a reply that was cut off: no short answer
        return None
    answer = reply.strip().strip("\"“”'`*").rstrip(".").strip()
    if not answer or len(answer) > rules.LONGEST_ANSWER or answer.casefold() == NO_ANSWER:
        return None
    quote = await off_loop(len(passage["text"]), rules.quoted_answer, answer, passage, question)
    return (passage, answer, quote) if quote else None


async def checked_answer(found: Found, question: str, services: Services, context: Context) -> DocumentAnswer | None:
    """Return the answer if the critic finds it fully supported by its passage, else None."""
    passage, answer, quote = found
    claim = {"question": as_data(question), "passages": delimited([passage]), "claim": as_data(answer)}
    verdict = await support_of(claim, services, context)
    if verdict["label"] != "fully supported":
        return None
    return DocumentAnswer(answer=shortened(answer, rules.LONGEST_ANSWER), verdict=verdict, quote=quote)


def grouped(
    answers: Sequence[DocumentAnswer], question: str, passages: Sequence[Passage]
) -> list[list[DocumentAnswer]]:
    """Group the answers that agree; answers of two groups exclude each other.

    An answer is left out if no passage of its document has a name of the question, or if code cannot tell whether it
    agrees with an earlier group.
    """
    by_id = {passage["id"]: passage for passage in passages}
    groups: list[list[DocumentAnswer]] = []
    for one in answers:
        document = document_of(by_id[one["quote"]["passage"]])
        if not rules.has_subjects(
            question, "\n".join(stated_by(each) for each in passages if document_of(each) == document)
        ):
            continue
        told = [_agreement(one, group[0], question, by_id) for group in groups]
        if True in told:
            groups[told.index(True)].append(one)
        elif None not in told:
            groups.append([one])
    return groups


def _agreement(one: DocumentAnswer, other: DocumentAnswer, question: str, by_id: Mapping[str, Passage]) -> bool | None:
    """Tell whether two answers agree; None if code cannot tell, or if both may hold."""
    same = rules.agree(one["answer"], other["answer"], question)
    if same is not False:
        return same
    quotes = [
        by_id[each["quote"]["passage"]]["text"][slice(each["quote"]["start"], each["quote"]["end"])]
        for each in (one, other)
    ]
    return False if rules.comparable(question, [one["answer"], other["answer"]], quotes) else None
