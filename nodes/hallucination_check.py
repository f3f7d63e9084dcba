"""Judge whether each claim of each draft follows from the passages that its generator read (ISSUP)."""

from collections import Counter
from typing import Any

from langgraph.runtime import Runtime

from core.passages import is_narrowed, last_heading
from core.types import Claim, Draft, Subject
from grounding.answers import is_yes_or_no, repeats_question
from grounding.claims import Statement, statements
from grounding.compared import Cell, is_of_it_alone, is_said_of
from grounding.comparisons import is_open_question
from nodes.check_claim import Evidence, check_claim, check_statement, criticised, supported_from, unsupported
from nodes.concurrency import gather, off_loop
from nodes.finish import open_cases, wording_of
from prompts.generate import MAX_TOKENS
from run.candidates import is_supported, p_supported
from run.context import Context, Services
from run.segments import MOST_OF_A_PART, drafted_cells, passages_of_things, says_again
from run.state import SelfRAGState, in_segments, question_alone, standalone_question, things_of

LEAST_BOTH = 0.5  # of the product of P(full) + P(partial) for a claim and for its subject's name
MOST_CLAIMS = MAX_TOKENS  # a draft of the default length cannot have more: each claim takes at least one token


async def hallucination_check(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Give every claim, concurrently, a verdict and the verbatim quote that supports it."""
    claims = await gather(_claims_of(draft, state, services, runtime.context) for draft in state["drafts"])
    if subject := state.get("subject"):
        claims = [[with_subject(claim, subject) for claim in one] for one in claims]
    shown = [
        {"text": claim["text"], "verdict": claim["verdict"], "quoted": claim["quote"] is not None}
        for one in claims
        for claim in one
    ]
    return {"claims": claims, "decided": {"claims": shown}}


async def _claims_of(draft: Draft, state: SelfRAGState, services: Services, context: Context) -> list[Claim]:
    """Check each statement as an answer to the question; if others pass, check one that fails as a statement by itself.

    In a long answer only new statements are checked: as parts of the answer or, in the summary of a whole document,
    which answers no question, by themselves.
    """
    if draft["declined"]:
        return []
    if things_of(state) and in_segments(state):
        return await _check_cells(draft, state, services, context)
    if draft.get("copied"):
        context = _for_cells(context)
    text = draft["text"]
    evidence = Evidence(standalone_question(state), draft["passages"], state["passages"])
    found = await off_loop(len(text), statements, text)
    if in_segments(state):
        said = [claim["text"] for segment in state["segments"] for claim in segment["claims"]]
        most, check = (MOST_OF_A_PART, check_statement) if state["whole"] else (MOST_CLAIMS, check_claim)
        new = [one for one in found[:most] if not says_again(one.text, said)]
        return await gather(check(one, evidence, services, context) for one in new)
    if await off_loop(len(text), repeats_question, text, question_alone(state)):
        return [unsupported(one, "It only repeats the question.") for one in found]
    if is_yes_or_no(text) and is_open_question(question_alone(state)):
        return [unsupported(one, "It says yes or no, which the question does not ask.") for one in found]
    checked = await gather(
        check_claim(one, evidence, services, context, text_size=len(text)) for one in found[:MOST_CLAIMS]
    )

    async def by_itself(one: Statement, claim: Claim) -> Claim:
        if claim["verdict"]["label"] != "no support" or not claim["quote"]:
            return claim
        alone = await check_statement(one, evidence, services, context)
        return alone if is_supported(alone) else claim

    if any(map(is_supported, checked)):
        checked = await gather(map(by_itself, found, checked))
    redrafts = state["drafts_left"] > 0 and not context.explain
    # Redrafts from open cases or from the cells of rows do not read the reasons.
    redrafts = redrafts and not any(map(is_narrowed, draft["passages"]))
    if redrafts and not await off_loop(evidence.size, open_cases, draft, checked, state, context):
        checked = await gather(criticised(claim, evidence, services) for claim in checked)
    return checked + [unsupported(one, "There are too many statements to check each.") for one in found[MOST_CLAIMS:]]


async def _check_cells(draft: Draft, state: SelfRAGState, services: Services, context: Context) -> list[Claim]:
    """Check each cell of a comparison as an answer to its own question, against its thing's passages alone.

    If a document was found for several things, the quote or its heading must name the cell's thing. Cells must reach
    the threshold ``segment`` to be supported; if none does, there is no answer.
    """
    context = _for_cells(context)
    passages = {one["id"]: one for one in state["passages"]}
    own = passages_of_things(state)
    sources = Counter(source for found in own.values() for source in {one["source"] for one in found})
    asked, things = wording_of(state["question"]).cell, list(own)

    async def check(cell: Cell) -> Claim:
        question = asked.format(point=cell.point, thing=cell.thing)
        evidence = Evidence(question, own[cell.thing], state["passages"])
        statement = Statement(cell.text, f"{cell.point}:", 0)
        claim = await check_claim(statement, evidence, services, context)
        if not claim["quote"]:
            return claim
        passage, quote = passages[claim["quote"]["passage"]], claim["quote"]
        said = is_said_of(cell.thing, things, passage["text"][quote["start"] : quote["end"]])
        headed = is_of_it_alone(cell.thing, things, last_heading(passage))
        if sources[passage["source"]] > 1 and not said and not headed:
            return unsupported(statement, f"The passage does not say it of {cell.thing}.")
        return claim

    return await gather(map(check, drafted_cells(draft, state, context)))


def _for_cells(context: Context) -> Context:
    """Return the context with the threshold ``segment`` for support, as one of many cells may pass by chance."""
    thresholds = context.effective_thresholds
    return supported_from(max(thresholds.supported, thresholds.segment), context)


def with_subject(claim: Claim, subject: Subject) -> Claim:
    """Add the quote of its subject's name to a supported claim, and multiply its probabilities by that of the name.

    The claim is no longer supported if the product is below ``LEAST_BOTH``.
    """
    verdict, first, second = claim["verdict"], p_supported(subject["verdict"]), p_supported(claim["verdict"])
    if not is_supported(claim) or claim["quote"] == subject["quote"]:
        return claim
    if first is not None and second is not None and verdict["probabilities"]:
        shares = {label: share * first for label, share in verdict["probabilities"].items()}
        verdict = {**verdict, "probabilities": shares | {"no support": 1 - first * second}}
        if first * second < LEAST_BOTH:
            reason = "That it is about what the question describes, and that it is so, are not both sure."
            verdict |= {"label": "no support", "reason": reason}
    return {**claim, "verdict": verdict, "second_quote": subject["quote"]}
