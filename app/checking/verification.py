"""Check sentences that somebody wrote against the documents. Each has a search of its own, and no draft is written."""

from collections.abc import Sequence

from app.results.result import JudgedClaim
from core.errors import ModelError, RequestError
from core.passages import stated_by
from core.text import clean, is_blank, shortened
from core.types import Citation, Claim, Passage, Quote, Usage, Verdict
from grounding.checkable import Checkable
from grounding.claims import LONGEST_CLAIM, Statement, with_lead_in
from grounding.contradictions import find_contradiction
from grounding.quotes import missing_facts
from grounding.stems import stems
from models.calibration import coverage
from models.usage import Budget, NodeBudget
from nodes.check_claim import Evidence, check_claim, check_statement
from nodes.concurrency import gather, off_loop
from nodes.finish import cite, quotes_of
from nodes.found_passages import as_passage
from nodes.grade_documents import grades_of
from nodes.retrieve import fused
from prompts.delimiters import readable
from prompts.grade_documents import RELEVANCE
from run.candidates import is_supported
from run.context import Context, Services

WEIGHTS = (1.0, 0.5)  # of the search for a sentence, and of the one with its subject or for its question
CONTRADICTED, NO_CLAIM = "contradicted", "no claim"


def require_claim(claim: str) -> str:
    """Return the sentence without space around it. Raises `RequestError` for an empty or a very long one."""
    if is_blank(claim):
        raise RequestError("The claim is empty: write a sentence.")
    if len(claim) > LONGEST_CLAIM:
        raise RequestError(f"The claim is longer than {LONGEST_CLAIM:,} characters: check it as a text.")
    return clean(claim).strip()


class VerifiedClaim(JudgedClaim):
    """A sentence and what the documents say of it, by itself or as an answer to ``question``.

    ``label`` is a label of claims in answers, ``contradicted`` if a passage says otherwise, or ``no claim``;
    ``citations`` are the quotes that support or contradict it.
    """

    question: str | None = None
    citations: list[Citation]


async def verify_sentence(
    one: Checkable, services: Services, context: Context, question: str | None = None
) -> tuple[VerifiedClaim, Usage]:
    """Check a sentence against the passages that `passages_for` finds; return the verdict and the cost.

    If the sentence answers ``question``, it is judged as the graph judges a claim of an answer. Raises `ModelError`
    when the model fails or a limit of the context is reached.
    """
    context = services.completed(context)
    limits = context.effective_limits
    budget = NodeBudget(Budget(limits.model_calls, limits.tokens, limits.seconds))
    if one.no_claim:
        said = Verdict(label=NO_CLAIM, probabilities=None, reason=one.no_claim)
        return VerifiedClaim(text=one.statement.text, question=question, **said, citations=[]), budget.spent
    passages = await passages_for(one, services, context, question)
    charged = services.with_budget(budget)
    if question:
        claim = await verdict_on_answer(one.statement, question, passages, charged, context)
    else:
        claim = await verdict_on(one.statement, passages, charged, context)
    if budget.limit:
        setting = f"SELFRAG_{budget.limit.upper()}"
        raise ModelError(f"“{shortened(one.statement.text, 100)}” could not be checked within {setting}: raise it.")
    return verified_claim(claim, passages, question), budget.spent


async def passages_for(
    one: Checkable, services: Services, context: Context, question: str | None = None
) -> list[Passage]:
    """Return the ``k`` best passages of two searches.

    The first is for the sentence, the second for ``question`` or, without one, for the sentence with its subject.
    """
    whole = " ".join(part for part in (one.statement.context, one.statement.text) if part)
    other = question or (f"{one.subject}: {whole}" if one.subject else "")
    queries = [whole, other] if other else [whole]
    within = {"filter": context.filter} if context.filter else {}
    found = await gather(services.retriever.ainvoke(query, k=context.k, **within) for query in queries)
    rankings = [[as_passage(document) for document in documents] for documents in found]
    return fused(rankings, WEIGHTS[: len(rankings)])[: context.k]


async def verdict_on(one: Statement, passages: list[Passage], services: Services, context: Context) -> Claim:
    """Judge a claim without a question; the claim is contradicted if a sentence of the passages says otherwise.

    The critic reads the passage that has most of the claim's words. A claim labelled supported can be contradicted only
    if its quote lacks a figure or a name of the claim.
    """
    whole = with_lead_in(one.text, one.context)
    size = len(whole) + sum(len(passage["text"]) for passage in passages)
    read = await off_loop(size, _nearest, f"{one.context} {one.text}", passages)
    alone = context.model_copy(update={"caution": None})
    claim = await check_statement(one, Evidence("", read, elsewhere=passages), services, alone)
    unsupported = claim["verdict"]["label"] == "no support"
    quoted = [_quoted_passage(quote, passages) for quote in quotes_of(claim)]
    if not unsupported and not await off_loop(size, missing_facts, whole, quoted, ""):
        return claim
    contradicted = await _contradicted(claim, whole, passages)
    return contradicted or ({**claim, "quote": None} if unsupported else claim)


async def verdict_on_answer(
    one: Statement, question: str, passages: list[Passage], services: Services, context: Context
) -> Claim:
    """Judge a claim as the graph does in an answer; an unsupported claim that a sentence denies is contradicted.

    The critic reads the passages that are relevant to the question, or all passages if none is relevant.
    """
    grades = await grades_of(question, passages, [readable(one) for one in passages], services, context)
    relevant = [passage for passage, grade in zip(passages, grades, strict=True) if RELEVANCE.is_positive(grade)]
    evidence = Evidence(question, relevant or passages, elsewhere=passages)
    claim = await check_claim(one, evidence, services, context)
    if is_supported(claim):
        return claim
    return await _contradicted(claim, with_lead_in(one.text, one.context), passages) or claim


async def _contradicted(claim: Claim, whole: str, passages: Sequence[Passage]) -> Claim | None:
    """Return the claim labelled contradicted, quoting a sentence that denies ``whole``; None if no sentence does."""
    size = len(whole) + sum(len(passage["text"]) for passage in passages)
    otherwise = await off_loop(size, find_contradiction, whole, passages)
    if otherwise is None:
        return None
    reason = claim["verdict"]["reason"] or "A passage says otherwise."
    verdict = Verdict(label=CONTRADICTED, probabilities=claim["verdict"]["probabilities"], reason=reason)
    return {**claim, "verdict": verdict, "quote": otherwise}


def _nearest(claim: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return the passage that has most of the claim's words, as a list; the first of several such passages."""
    wanted = stems(claim)
    return sorted(passages, key=lambda one: -coverage(wanted, stems(stated_by(one))))[:1]


def _quoted_passage(quote: Quote, passages: Sequence[Passage]) -> Passage:
    """Return the passage of a quote, with the quote as its text."""
    passage = next(one for one in passages if one["id"] == quote["passage"])
    return {**passage, "text": passage["text"][quote["start"] : quote["end"]]}


def verified_claim(claim: Claim, passages: Sequence[Passage], question: str | None = None) -> VerifiedClaim:
    """Return the claim with its verdict; if it is supported or contradicted, its quotes are numbered citations."""
    by_id, citations = {one["id"]: one for one in passages}, list[Citation]()
    if is_supported(claim) or claim["verdict"]["label"] == CONTRADICTED:
        for quote in quotes_of(claim):
            cite(quote, by_id[quote["passage"]], citations)
    return VerifiedClaim(text=claim["text"], question=question, **claim["verdict"], citations=citations)
