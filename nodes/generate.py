"""Write the draft, or one draft for each relevant passage; redraft with the findings of the checks."""

from collections.abc import Awaitable, Callable, Sequence
from difflib import SequenceMatcher
from functools import partial
from typing import Any

from langchain_core.prompts import ChatPromptTemplate
from langgraph.runtime import Runtime

from core.errors import ModelError
from core.passages import characters_of, is_narrowed, shown_text
from core.types import UNKNOWN, Candidate, Claim, Draft, Drafted, Passage
from grounding.answers import both_ways, is_yes_or_no
from grounding.claims import with_lead_in
from grounding.compared import Cell, as_table, cells_of, in_rows, things_compared, without_repeats
from grounding.language import language_of
from grounding.refusals import declines
from grounding.table_rows import cells_of_rows, with_unit
from models.usage import LimitReachedError
from nodes.concurrency import gather, off_loop
from nodes.finish import open_cases, wording_of
from prompts.delimiters import as_data, delimited
from prompts.generate import (
    ANY_POINTS,
    CELL,
    COMPARISON,
    GENERATE,
    IN_LANGUAGE,
    MAX_TOKENS,
    REDRAFT_NOT_USEFUL,
    REDRAFT_UNSUPPORTED,
    SEGMENT,
    SUMMARY,
)
from prompts.grade_documents import RELEVANCE
from run.candidates import best_of, p_supported, round_of
from run.context import Context, Services
from run.segments import ids_of, missing_cells, most_segments, passages_of_things, to_draft
from run.state import SelfRAGState, in_segments, standalone_question, things_of

MOST_WORDS = 1_000  # of each draft that are compared: the time grows with their square
MOST_CELLS = 16  # that are tried as drafts
MOST_COMPLAINTS = 100  # per draft: an answer with more is beyond repair


async def generate(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Write this round's drafts. A redraft that repeats an earlier draft is dropped: the run would loop.

    Passages from which a draft was written for an earlier query are skipped for the same reason. With fallback
    ``passages`` there may be no relevant passage: then the best of all are drafted from. If the best one holds a row of
    a table that the question names, it is drafted from alone. If some of several drafts fail they are left out; if all
    fail, the first failure is raised. A long answer gets its next segments.
    """
    # Revise the best draft of the last round: that of all rounds might stay, and each redraft get the same prompt.
    write = partial(_write, state, services, runtime.context)
    if in_segments(state):
        # Several are written at once: each is shown when it is accepted.
        return await _draft_segments(partial(write, hidden=True), state, runtime.context)
    last, failed = best_of(round_of(state, runtime.context), runtime.context.constraints), 0
    drafted, cases, copied = state["drafted"], list[Passage](), list[Draft]()
    if last:
        cases = await off_loop(
            characters_of(state["passages"]), open_cases, last["draft"], last["claims"], state, runtime.context
        )
        opposite = _opposite(last, state, runtime.context)
        copied = [] if cases or opposite else await off_loop(characters_of(last["draft"]["passages"]), _cells, last)
        drafts = copied or [opposite or await _redraft(write, last, cases, state["passages"])]
    else:
        passages = [passage for passage in state["passages"] if passage["id"] in state["relevant"]]
        verdicts = state["verdicts"]  # without those from before the question's subject was named
        found = [one for one in state.get("found", state["passages"]) if one["id"] in verdicts]
        ranked = sorted(passages or found, key=lambda passage: -RELEVANCE.score(verdicts[passage["id"]]))
        if not passages:
            passages = ranked[: runtime.context.k]
        elif is_narrowed(ranked[0]):
            passages = ranked[:1]
        subject, apart = state.get("subject"), runtime.context.strategy == "per-passage"
        naming = [subject["passage"]] if subject else []
        others = [one for one in passages if not subject or one["id"] != subject["passage"]["id"]]
        groups = [[*naming, one] for one in others] if apart and others else [[*naming, *others]]
        groups = [group for group in groups if not any(ids_of(group) == one["passages"] for one in drafted)]
        drafts, failed = _succeeded(await gather(_attempt(write(GENERATE, group)) for group in groups))
    new = [draft for draft in drafts if _remembered(draft) not in drafted]
    changes = (
        await off_loop(len(new[0]["text"]), draft_changes, last["draft"]["text"], new[0]["text"])
        if last and new
        else []
    )
    return {
        "drafts": new,
        "drafted": [*drafted, *map(_remembered, new)],
        "claims": [],
        "uses": [],
        "drafts_left": state["drafts_left"] - 1 if new and not cases and not copied else 0,
        "decided": _decided(new, failed, last, changes),
    }


async def _draft_segments(
    write: Callable[..., Awaitable[Draft]], state: SelfRAGState, context: Context
) -> dict[str, Any]:
    """Draft from the next relevant passages, each by itself; a draft that fails is left for the next round."""
    groups = to_draft(state, context)[: context.beam]
    if missing := missing_cells(state, context):
        attempts = [await _attempt(_draft_cells(write, state, group, missing)) for group in groups]
    elif things_of(state):
        attempts = [await _attempt(_draft_table(write, state, group, context)) for group in groups]
    else:
        attempts = await gather(_attempt(write(SUMMARY if state.get("whole") else SEGMENT, group)) for group in groups)
    drafts, failed = _succeeded(attempts)
    read = [group for group, one in zip(groups, attempts, strict=True) if not isinstance(one, Exception)]
    return {
        "drafts": drafts,
        "drafted": [*state["drafted"], *(Drafted(passages=ids_of(group), text="") for group in read)],
        "unread": max(0, state["unread"] - sum(map(len, read))),
        "claims": [],
        "uses": [],
        "decided": _decided(drafts, failed),
    }


async def _draft_table(
    write: Callable[..., Awaitable[Draft]], state: SelfRAGState, passages: list[Passage], context: Context
) -> Draft:
    """Draft a comparison column by column, each from its thing's passages alone: small models mix up columns.

    The first column is given the points that the question names; the others are given those so far, and may add some.
    """
    things, most = things_of(state), most_segments(state, context)
    cells: list[Cell] = []
    failed: Exception | None = None
    points = things_compared(standalone_question(state))[1] or ANY_POINTS
    for thing, own in passages_of_things(state).items():
        draft = await _attempt(write(COMPARISON, own, thing=as_data(thing), points=as_data(points)))
        if isinstance(draft, Exception):
            failed = failed or draft
            continue
        cells += cells_of(draft["text"], [thing], most)
        points = "; ".join(dict.fromkeys(cell.point for cell in cells)) or points
    if failed and not cells:
        raise failed
    text = as_table(in_rows(without_repeats(cells), things), things)
    return Draft(text=text, passages=passages, relevance=1.0, declined=not cells)


async def _draft_cells(
    write: Callable[..., Awaitable[Draft]], state: SelfRAGState, passages: list[Passage], missing: Sequence[Cell]
) -> Draft:
    """Draft the missing cells of a comparison, each as the answer to its own question from its thing's passages."""
    own, things = passages_of_things(state), things_of(state)
    asked = wording_of(state["question"]).cell

    async def ask(cell: Cell) -> Cell:
        question = as_data(asked.format(point=cell.point, thing=cell.thing))
        draft = await _attempt(write(CELL, own[cell.thing], question=question))
        text = "" if isinstance(draft, Exception) or draft["declined"] else draft["text"]
        return cell._replace(text=" ".join(text.replace("|", "/").split()).rstrip("."))

    cells = [cell for cell in await gather(map(ask, missing)) if cell.text]
    text = as_table(in_rows(cells, things), things)
    return Draft(text=text, passages=passages, relevance=1.0, declined=not cells)


def _decided(
    drafts: list[Draft], failed: int, last: Candidate | None = None, changes: Sequence[dict[str, str]] = ()
) -> dict[str, Any]:
    """Return the round's entry in the state's ``path``: its drafts and, if they redraft ``last``, the ``changes``."""
    texts = [draft["text"] for draft in drafts]
    return {
        "drafts": len(drafts),
        "failed": failed,
        "redraft": last is not None,
        "declined": bool(drafts) and all(draft["declined"] for draft in drafts),
        "text": texts[0] if texts else None,
        "texts": texts,
        "changes": list(changes),
    }


async def _attempt(draft: Awaitable[Draft]) -> Draft | ModelError | LimitReachedError:
    """Return the draft, or the error of a failed model call, so that the other drafts go on."""
    try:
        return await draft
    except (ModelError, LimitReachedError) as error:
        return error


def _succeeded(attempts: Sequence[Draft | Exception]) -> tuple[list[Draft], int]:
    """Return the drafts, and how many failed; if all did, the first failure is raised."""
    drafts = [one for one in attempts if not isinstance(one, Exception)]
    errors = [one for one in attempts if isinstance(one, Exception)]
    if errors and not drafts:
        raise errors[0]
    return drafts, len(errors)


def _opposite(last: Candidate, state: SelfRAGState, context: Context) -> Draft | None:
    """Return the opposite of a bare yes or no if the opposite's probability reaches the thresholds, else None."""
    text, thresholds = last["draft"]["text"], context.effective_thresholds
    p = p_supported(last["claims"][0]["verdict"]) if is_yes_or_no(text) and last["claims"] else None
    if p is None or 1 - p < max(thresholds.supported, thresholds.yes_or_no, 0.5):
        return None
    return {**last["draft"], "text": both_ways(text, language_of(state["question"]))[1]}


def _cells(last: Candidate) -> list[Draft]:
    """Return each cell of the rows that the question names as a draft: a small model miscopies what it reads in them.

    Without such rows, or with more than `MOST_CELLS`, there are none.
    """
    named = filter(is_narrowed, last["draft"]["passages"])
    held = dict.fromkeys(cell for one in named for cell in cells_of_rows(shown_text(one), one.get("heading", "")))
    cells = [one for one in held if one != last["draft"]["text"]]
    return [{**last["draft"], "text": one, "copied": True} for one in cells] if len(cells) <= MOST_CELLS else []


def _redraft(
    write: Callable[..., Awaitable[Draft]], last: Candidate, cases: Sequence[Passage], found: Sequence[Passage]
) -> Awaitable[Draft]:
    """Draft from conditions alone if there are any: a small model repeats the rule they limit. Else say what failed."""
    passages, draft = last["draft"]["passages"], as_data(last["draft"]["text"])
    if cases:
        added = {one["id"] for one in cases}.difference(ids_of(passages))
        return write(GENERATE, [*passages, *(one for one in found if one["id"] in added)], passages=delimited(cases))
    failed = [claim for claim in last["claims"] if claim["verdict"]["label"] != "fully supported"]
    if not failed:
        return write(REDRAFT_NOT_USEFUL, passages, draft=draft)
    lines = "\n".join(_complaint(claim) for claim in failed[:MOST_COMPLAINTS])
    return write(REDRAFT_UNSUPPORTED, passages, draft=draft, failed=lines)


def _complaint(claim: Claim) -> str:
    """Format a failed claim, and why the critic says so, as a line of the redraft's instructions."""
    verdict = claim["verdict"]
    reason = verdict["reason"] if verdict["label"] != UNKNOWN else ""  # else it is an error message
    return as_data(f"- {with_lead_in(claim['text'], claim.get('context', ''))}" + (f" ({reason})" if reason else ""))


async def _write(
    state: SelfRAGState,
    services: Services,
    context: Context,
    messages: ChatPromptTemplate,
    passages: list[Passage],
    /,
    *,
    hidden: bool = False,
    **inputs: Any,
) -> Draft:
    text = await services.generator.write(
        messages,
        max_tokens=context.answer_tokens or MAX_TOKENS,
        temperature=context.temperature,
        hidden=hidden,
        language=IN_LANGUAGE.get(language_of(state["question"]) or "en", ""),
        **{"question": as_data(standalone_question(state)), "passages": delimited(passages), **inputs},
    )
    for one in passages:
        text = with_unit(text, shown_text(one), one.get("heading", ""))
    declined = await off_loop(len(text), declines, text)
    verdicts = state["verdicts"]
    scores = [RELEVANCE.score(verdicts[one["id"]]) for one in passages if one["id"] in verdicts]
    return Draft(text=text, passages=passages, relevance=sum(scores) / len(scores), declined=declined)


def _remembered(draft: Draft) -> Drafted:
    return Drafted(passages=ids_of(draft["passages"]), text=draft["text"])


def draft_changes(before: str, after: str) -> list[dict[str, str]]:
    """Return the runs of words that differ, each ``{"removed": str, "added": str}``, of which one may be empty."""
    old, new = before.split()[:MOST_WORDS], after.split()[:MOST_WORDS]
    return [
        {"removed": " ".join(old[begin:end]), "added": " ".join(new[new_begin:new_end])}
        for tag, begin, end, new_begin, new_end in SequenceMatcher(None, old, new).get_opcodes()
        if tag != "equal"
    ]
