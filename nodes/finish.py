"""Report the best candidate with the outcome that its checks justify."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from core.passages import characters_of, place_of
from core.text import location, shortened
from core.types import (
    Candidate,
    Citation,
    Claim,
    Conflict,
    DocumentAnswer,
    Draft,
    Outcome,
    Passage,
    Quote,
    StopReason,
)
from core.wording import WORDINGS, Wording
from grounding.answers import LONGEST_ANSWER
from grounding.claims import claim_ends
from grounding.conditions import cases_of, conditions_of
from grounding.language import language_of
from grounding.quotes import LONGEST_QUOTE
from grounding.reasons import sentence_for
from nodes.concurrency import off_loop
from nodes.unnamed import unnamed
from prompts.grade_documents import RELEVANCE
from run.candidates import (
    ANSWERED,
    failure_of,
    is_supported,
    outcome_of,
    p_supported,
    relabel_conditional,
    relabel_unnamed,
    support_level,
    weakest,
    with_reasons,
)
from run.context import Context, Services
from run.state import SelfRAGState, question_alone, standalone_question

MOST_SOURCES = 3  # of one answer that are named
MOST_LEFT_OUT = 3  # statements that are named


async def finish(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Set the outcome, the reason for stopping, the answer, its citations, and why each candidate was chosen or not."""
    best = state["best"]
    if best is not None and not state.get("queried"):
        # In a long answer each claim would be held against each of up to hundreds of passages.
        others = [] if state.get("segments") else best["draft"]["passages"]
        found = await off_loop(characters_of(best["draft"]["passages"]), with_conditions, best, others)
        best = relabel_conditional(found, runtime.context.effective_thresholds.unconditional)
        state = {**state, "best": best}
    if best is not None and (names := await _unnamed(best, state, services)):
        best = relabel_unnamed(best, names)
        state = {**state, "best": best}
    outcome, reason = outcome_of(state, runtime.context)
    failure = failure_of(state) if outcome == "abstained" else None
    if failure:
        outcome, reason = "stopped", "model_failed"
    if best is not None and outcome in ANSWERED:
        answer = await off_loop(len(best["draft"]["text"]), mark_claims, best, question=state["question"])
        conflicts, citations = conflicts_of(state.get("differing", []), citations_of(best), state.get("found", []))
        if state["route"] == "fallback":
            answer = f"{wording_of(state['question']).not_from_documents}\n\n{answer}"
        answer = with_notes(answer, best, state, conflicts, citations)
    else:
        notes = await off_loop(characters_of(state.get("found", [])), nearest_to, state)
        answer = "\n\n".join([sentence(state["question"], outcome, reason, best), *notes])
        citations, conflicts = [], []
    return {
        "best": best,
        "outcome": outcome,
        "stop_reason": reason,
        "answer": answer,
        "citations": citations,
        "conflicts": conflicts,
        "candidates": with_reasons(
            state.get("candidates", []), best, outcome, runtime.context.constraints, state.get("segments", [])
        ),
        "decided": {"outcome": outcome, "stop_reason": reason},
        "failure": failure,
    }


async def _unnamed(best: Candidate, state: SelfRAGState, services: Services) -> list[str]:
    """Return the names in the question that no document has from which a supported claim is quoted."""
    passages = state.get("found", [])
    quoted = {quote["passage"] for one in best["claims"] if is_supported(one) for quote in quotes_of(one)}
    sources = {one["source"] for one in passages if one["id"] in quoted}
    if queried := state.get("queried"):
        sources |= set(queried.get("sources", ()))
    return await unnamed(question_alone(state), sources, passages, services)


def with_notes(
    answer: str,
    best: Candidate,
    state: SelfRAGState,
    conflicts: Sequence[Conflict],
    citations: Sequence[Citation],
    *,
    numbers: bool = False,
) -> str:
    """Return an answer followed by its notes: the name of what the question describes, conditions, how far a document
    was read, what was left out, what other documents say, and the query over a table.
    """
    wording, subject = wording_of(state["question"]), state.get("subject")
    quoted = [quote for claim in best["claims"] for quote in quotes_of(claim)]
    notes = []
    if subject and subject["quote"] in quoted:  # a draft that did not know the name may still be the best
        notes.append(wording.meant.format(described=subject["description"], name=subject["name"]))
    notes += [wording.condition.format(condition=one) for one in conditions_on(best)]
    if names := dict.fromkeys(chain.from_iterable(one.get("unnamed", ()) for one in best["claims"])):
        notes.append(wording.unnamed.format(names=", ".join(names)))
    if (whole := state.get("whole")) and (unread := state["unread"]):
        read = sum(len(one["passages"]) for one in state["drafted"])
        notes.append(wording.unread.format(source=Path(whole).name, read=read, passages=read + unread))
    if state.get("segments"):
        shown = [wording.quoted.format(text=shortened(one, 200)) for one in state["left_out"][:MOST_LEFT_OUT]]
        notes += [wording.left_out.format(claims="; ".join(shown))] if shown else []
    notes += [disagreement(conflicts, citations, state["question"], numbers=numbers)] if conflicts else []
    if queried := state.get("queried"):
        files = [Path(one).name for one in queried.get("sources") or [queried["source"]]]
        named = f"{files[0]}, …, {files[-1]} ({len(files)})" if len(files) > MOST_SOURCES else ", ".join(files)
        notes.append(wording.queried.format(**{**queried, "source": named}))
    return "\n\n".join([answer, *notes])


def sentence(question: str, outcome: Outcome, reason: StopReason, best: Candidate | None = None) -> str:
    """Write the sentence that says that there is no answer, and why, in the question's language.

    If the documents support some claims of the ``best`` candidate, but hard constraints refuse it, the sentence names
    the claim that failed.
    """
    asked, wording = shortened(question, 200), wording_of(question)
    if reason in ("claims_unsupported", "fallback") and best and any(map(is_supported, best["claims"])):
        failed = weakest(best["claims"])
        if support_level(failed) != "fully":
            claim = shortened(failed["text"], 200).rstrip(".。")
            return wording.no_answer.format(asked=asked, why=wording.failed.format(claim=claim))
    judged = reason in ("nothing_relevant", "declined", "claims_unsupported", "fallback")
    # An interrupted run cannot speak for the documents.
    form = wording.unanswered if outcome == "abstained" and judged else wording.no_answer
    return form.format(asked=asked, why=wording.why[reason])


def nearest_to(state: SelfRAGState) -> list[str]:
    """Return notes that quote the most relevant passage: the sentence nearest to the question, and its conditions.

    There are none if no passage is relevant, or for a table: one row of it would mislead.
    """
    found = {one["id"]: one for one in state.get("found", [])}
    scores = {
        name: RELEVANCE.score(verdict)
        for name, verdict in state["verdicts"].items()
        if name in found and verdict["label"] == RELEVANCE.positive
    }
    if not scores or any(step["node"] == "query_table" for step in state["path"]):
        return []
    passage = found[max(scores, key=scores.__getitem__)]
    text, said = passage["text"], sentence_for(standalone_question(state), passage)
    if said is None or passage["row"] is not None:
        return []
    start = text.index(said)
    quote = Quote(passage=passage["id"], start=start, end=start + len(said))
    wording, place = wording_of(state["question"]), place_of(passage)
    spans = [slice(one["start"], one["end"]) for one in conditions_of(passage, quote, "")]
    return [
        wording.nearest.format(place=place, quote=shortened(said, LONGEST_QUOTE)),
        *(wording.condition.format(condition=shortened(text[span], LONGEST_QUOTE)) for span in spans),
    ]


def wording_of(question: str) -> Wording:
    """Return the texts in the question's language; in English where there are none, or the language is not clear."""
    return WORDINGS.get(language_of(question) or "en", WORDINGS["en"])


def mark_claims(best: Candidate, numbers: Sequence[Sequence[int]] = (), *, question: str = "") -> str:
    """Return the draft with a mark after each unsupported claim and, if given, each claim's numbers after it.

    The marks are in the question's language.
    """
    text = best["draft"]["text"]
    ends = claim_ends(text, [claim["text"] for claim in best["claims"]])
    below = any(claim["verdict"]["label"] in WORDINGS["en"].marks for claim in best["claims"])
    marks = wording_of(question).marks if below else {}
    notes = [
        "".join(f" [{number}]" for number in own) + marks.get(claim["verdict"]["label"], "")
        for claim, own in zip(best["claims"], numbers or [()] * len(best["claims"]), strict=True)
    ]
    begins = [0, *ends]
    parts = [text[begin:end] + note for begin, end, note in zip(begins, ends, notes, strict=False)]
    return "".join([*parts, text[begins[-1] :]])


def quotes_of(claim: Claim) -> list[Quote]:
    """Return the claim's quotes: none, one, one in each of two passages, or those of a table's rows."""
    quotes = (claim["quote"], claim.get("second_quote"), *claim.get("row_quotes", ()))
    return [quote for quote in quotes if quote]


def with_conditions(best: Candidate, others: Sequence[Passage]) -> Candidate:
    """Add to each supported claim the conditions, in its passage and the ``others``, that the draft leaves out."""
    passages = {passage["id"]: passage for passage in best["draft"]["passages"]}
    claims = []
    for claim in best["claims"]:
        quote = claim["quote"] if is_supported(claim) else None
        found = conditions_of(passages[quote["passage"]], quote, best["draft"]["text"], others) if quote else []
        claims.append({**claim, "conditions": found} if found else claim)
    return {**best, "claims": claims}


def open_cases(draft: Draft, claims: Sequence[Claim], state: SelfRAGState, context: Context) -> list[Passage]:
    """Return the conditions that a draft's not surely supported claims leave out: one may be the case asked about."""
    least = context.effective_thresholds.unconditional
    probable = [(p_supported(claim["verdict"]), claim) for claim in claims]
    doubtful = [claim for p, claim in probable if support_level(claim) != "fully" or (p is not None and p < least)]
    return cases_of(draft, doubtful, state["passages"])


def conditions_on(best: Candidate) -> list[str]:
    """Return the conditions that the supported claims leave out, each once."""
    texts = {passage["id"]: passage["text"] for passage in best["draft"]["passages"]}
    quotes = [quote for claim in best["claims"] for quote in claim.get("conditions", ())]
    return list(dict.fromkeys(texts[one["passage"]][one["start"] : one["end"]] for one in quotes))


def citations_of(best: Candidate) -> list[Citation]:
    """Return the quotes of the supported claims, each once, numbered from 1 in the order of the claims."""
    passages = {passage["id"]: passage for passage in best["draft"]["passages"]}
    citations: list[Citation] = []
    for claim in best["claims"]:
        for quote in quotes_of(claim) if is_supported(claim) else ():
            cite(quote, passages[quote["passage"]], citations)
    return citations


def conflicts_of(
    groups: Sequence[Sequence[DocumentAnswer]], citations: Sequence[Citation], found: Sequence[Passage]
) -> tuple[list[Conflict], list[Citation]]:
    """Return the answers that differ, each with the ids of its citations, and all citations, new ones at the end."""
    passages, cited = {passage["id"]: passage for passage in found}, list(citations)
    conflicts = [
        Conflict(
            answer=group[0]["answer"],
            citations=[cite(one["quote"], passages[one["quote"]["passage"]], cited) for one in group],
        )
        for group in groups
    ]
    return conflicts, cited


def disagreement(
    conflicts: Sequence[Conflict], citations: Sequence[Citation], question: str = "", *, numbers: bool = False
) -> str:
    """Write a line for each answer that documents give, with their names and dates and, if asked, citation numbers.

    The words around them are in the question's language.
    """
    wording = wording_of(question)
    by_id = {citation["id"]: citation for citation in citations}
    lines = [wording.disagree]
    for conflict in conflicts:
        ids = conflict["citations"]
        sources = []
        for one in map(by_id.__getitem__, ids[:MOST_SOURCES]):
            dated = f", {one['date']}" if one.get("date") else ""
            place = location(one["source"], one["page"], one["row"])
            sources.append(place + dated + (f" [{one['id']}]" if numbers else ""))
        more = [wording.more.format(count=len(ids) - MOST_SOURCES)] if len(ids) > MOST_SOURCES else []
        lines.append(f"- {shortened(conflict['answer'], LONGEST_ANSWER)} ({'; '.join([*sources, *more])})")
    return "\n".join(lines)


def cite(quote: Quote, passage: Passage, citations: list[Citation]) -> int:
    """Return the id of the quote's citation; add the citation if there is none."""
    place = (passage["source"], passage["page"], passage["row"], passage["text"], quote["start"], quote["end"])
    for one in citations:
        if (one["source"], one["page"], one["row"], one["passage"], one["start"], one["end"]) == place:
            return one["id"]
    citations.append(
        Citation(
            id=len(citations) + 1,
            source=passage["source"],
            title=passage.get("title"),
            heading=passage.get("heading"),
            page=passage["page"],
            row=passage["row"],
            passage=passage["text"],
            quote=passage["text"][quote["start"] : quote["end"]],
            start=quote["start"],
            end=quote["end"],
            date=passage.get("date"),
        )
    )
    return len(citations)
