"""The segments of a long answer: what it takes from each draft, and what follows a round."""

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import groupby
from typing import NamedTuple

from core.passages import characters_of, last_heading, stated_by
from core.types import Candidate, Claim, Draft, Next, Passage, Segment
from grounding.claims import with_lead_in
from grounding.compared import Cell, as_table, cells_of, in_rows, points_named, things_compared
from grounding.conditions import conditions_of
from grounding.lengths import asks_for_a_list, subject_asked_for
from grounding.reasons import missing_words
from grounding.stems import stems
from retrieval.near_duplicates import NEGATIONS, word_counts
from run.candidates import candidate, p_supported, round_of, support_level, useful
from run.context import MOST_SEGMENTS, SEGMENTS, Context
from run.state import SelfRAGState, standalone_question, things_of

# Characters of a part of a whole document; each part gets one segment.
SHORTEST_PART, LONGEST_PART = 1_500, 6_000
MOST_READ = MOST_SEGMENTS * LONGEST_PART
MOST_OF_A_PART = 4  # sentences of the summary of a part
AS_BEFORE = 0.8  # a sentence is not new if one of the answer has this share of its words


class Accepted(NamedTuple):
    """The answer's segments after a round, and the sentences left out because no passage surely supports them."""

    segments: list[Segment]
    left_out: list[str]


def accepted_in(state: SelfRAGState, context: Context) -> Accepted:
    """Return the answer's segments followed by those of this round's drafts, by score or in a whole document's order.

    A sentence is taken if it is new and surely supported in full. Others are left out: to redraft them brought nothing
    when it was tried (docs/decisions.md). In a comparison, cells are taken instead of sentences.
    """
    least = context.effective_thresholds.segment
    segments, left_out = list(state.get("segments", [])), list(state.get("left_out", []))
    if things := things_of(state):
        return _table_of(state, things, least, context)
    for one in sorted(round_of(state, context), key=lambda one: 0 if state.get("whole") else -one["score"]):
        if not useful(one):
            continue
        left_out += [claim["text"] for claim in one["claims"] if not is_sure(claim, least)]
        if len(segments) < most_segments(state, context) and (claims := new_claims(one["claims"], segments, least)):
            segments.append(segment_of(one["draft"], claims, as_list=asks_for_a_list(state["question"])))
    said = [claim["text"] for segment in segments for claim in segment["claims"]]
    return Accepted(segments, [one for one in dict.fromkeys(left_out) if not says_again(one, said)])


def _table_of(state: SelfRAGState, things: Sequence[str], least: float, context: Context) -> Accepted:
    """Return the segments of a comparison, and a new one with the surely supported cells of this round's draft.

    In the second round, where each cell is asked for by itself, a cell is left out too if it lacks a condition that its
    passage states: half of such cells missed the point.
    """
    again = len(state["drafted"]) > 1
    segments = list(state.get("segments", []))
    left_out = {line.partition(": ")[0]: line for line in state.get("left_out", [])}
    for one in round_of(state, context):
        sure = {}
        for cell, claim in zip(drafted_cells(one["draft"], state, context), one["claims"], strict=True):
            name = f"{cell.thing}, {cell.point}"
            left_out.pop(name, None)
            if is_sure(claim, least) and not (again and _leaves_out_a_condition(claim, one["draft"])):
                sure[cell] = claim
            else:
                left_out[name] = f"{name}: {cell.text}"
        if sure:
            segments.append(_segment(one["draft"], as_table(list(sure), things), list(sure.values())))
    return Accepted(segments, list(left_out.values()))


def _leaves_out_a_condition(claim: Claim, draft: Draft) -> bool:
    quote, passages = claim["quote"], {passage["id"]: passage for passage in draft["passages"]}
    return quote is not None and bool(conditions_of(passages[quote["passage"]], quote, draft["text"]))


def passages_of_things(state: SelfRAGState) -> dict[str, list[Passage]]:
    """Return the passages that were found for each of the things that are compared."""
    found = {one["id"]: one for one in state["passages"]}
    return {one["thing"]: [found[identity] for identity in one["passages"]] for one in state["compared"]}


def drafted_cells(draft: Draft, state: SelfRAGState, context: Context) -> list[Cell]:
    """Return the cells of a drafted comparison, one for each of its claims."""
    return cells_of(draft["text"], things_of(state), most_segments(state, context))


def missing_cells(state: SelfRAGState, context: Context) -> list[Cell]:
    """Return the cells that a comparison lacks after its first draft, with empty texts; each will get its own question.

    All cells of a point are missing if the question names the point and no row of the draft is about it.
    """
    things, most = things_of(state), most_segments(state, context)
    if len(state["drafted"]) != 1 or not things:
        return []
    points = list(dict.fromkeys(cell.point for one in state["drafts"] for cell in drafted_cells(one, state, context)))
    named = points_named(things_compared(standalone_question(state))[1])
    named = named if len(named) > 1 else []
    points += [one for one in named if not any(stems(one) & stems(point) for point in points)]
    has = {(cell.point, cell.thing) for one in state["segments"] for cell in cells_of(one["text"], things, most)}
    return [Cell(point, thing, "") for point in points[:most] for thing in things if (point, thing) not in has]


def is_sure(claim: Claim, least: float) -> bool:
    """Whether the claim is fully supported, and its P(full) + P(partial), if known, is at least ``least``."""
    p = p_supported(claim["verdict"])
    return support_level(claim) == "fully" and (p is None or p >= least)


def new_claims(claims: Iterable[Claim], segments: Iterable[Segment], least: float) -> list[Claim]:
    """Return the claims that are surely supported in full and say something new.

    If a claim's context is a sentence that was left out, the claim is left out too: nobody would understand it.
    """
    said = [claim["text"] for segment in segments for claim in segment["claims"]]
    taken: list[Claim] = []
    for claim in claims:
        context = claim.get("context", "")
        refers = context and with_lead_in(claim["text"], context) == claim["text"]
        if not is_sure(claim, least) or says_again(claim["text"], said):
            continue
        if not refers or context in said:
            taken.append(claim)
            said.append(claim["text"])
    return taken


def says_again(text: str, others: Iterable[str]) -> bool:
    """True if one of the other sentences has nearly all words of the text, all of its figures, and its negations."""
    words = stems(text)
    figures, denied = {word for word in words if any(map(str.isdigit, word))}, denials(text)
    return any(
        figures <= known and len(words & known) >= AS_BEFORE * len(words) and denials(other) == denied
        for other, known in ((other, stems(other)) for other in others)
    )


def denials(text: str) -> set[str]:
    """Return the negations in a text, such as "not"."""
    return word_counts(text).keys() & NEGATIONS


def segment_of(draft: Draft, claims: Sequence[Claim], *, as_list: bool) -> Segment:
    """Return a draft's accepted ``claims`` as a segment: sentences, or lines in a list or below their lead-in."""
    lines: list[str] = []
    introduced = ""
    for claim in claims:
        lead = claim.get("context", "") if claim.get("context", "").endswith((":", "：")) else ""
        if lead and lead != introduced:
            lines.append(lead)
        introduced = lead
        lines.append(f"- {claim['text']}" if lead or as_list else claim["text"])
    text = reduce(lambda one, other: one + ("\n" if "- " in (other[:2], one[:2]) else " ") + other, lines)
    return _segment(draft, text, claims)


def _segment(draft: Draft, text: str, claims: Sequence[Claim]) -> Segment:
    return Segment(
        drafted=draft["text"],
        text=text,
        claims=list(claims),
        passages=draft["passages"],
        relevance=draft["relevance"],
    )


def candidate_of_segments(
    segments: Sequence[Segment], context: Context, *, things: Sequence[str], as_list: bool, headed: bool
) -> Candidate | None:
    """Return the segments as one candidate, with the claims and passages of all; None without any.

    A comparison of ``things`` becomes one table. With ``headed`` the segments of each section stand below its heading,
    if there are several sections and all have one.
    """
    if not segments:
        return None
    passages = {one["id"]: one for segment in segments for one in segment["passages"]}
    claims = [claim for segment in segments for claim in segment["claims"]]
    sections = list(dict.fromkeys(map(_heading_of, segments)))
    if things:
        cells = [cell for segment in segments for cell in cells_of(segment["text"], things, MOST_SEGMENTS)]
        claim_of, cells = dict(zip(cells, claims, strict=True)), in_rows(cells, things)
        text, claims = as_table(cells, things), [claim_of[cell] for cell in cells]
    elif headed and len(sections) > 1 and all(sections):
        segments = sorted(segments, key=lambda one: sections.index(_heading_of(one)))
        text = "\n\n".join(
            "\n".join([f"{heading}:", *(one["text"] for one in own)]) for heading, own in groupby(segments, _heading_of)
        )
    else:
        text = ("\n" if as_list else "\n\n").join(one["text"] for one in segments)
    draft = Draft(
        text=text,
        passages=list(passages.values()),
        relevance=sum(one["relevance"] for one in segments) / len(segments),
        declined=False,
    )
    return candidate(draft, claims, None, context.weights, context.scoring)


def _heading_of(segment: Segment) -> str:
    return last_heading(segment["passages"][0])


def to_draft(state: SelfRAGState, context: Context) -> list[list[Passage]]:
    """Return the groups of passages to draft from next: each relevant one alone or, of a whole document, its parts.

    For each search made, at most as many groups are drafted from as the answer may have segments. A comparison is
    drafted once from all passages, and its missing cells once more.
    """
    drafted = [one["passages"] for one in state["drafted"]]
    relevant = [one for one in state["passages"] if one["id"] in state["relevant"]]
    if state.get("compared"):
        return [relevant] if not drafted or missing_cells(state, context) else []
    most = most_segments(state, context)
    parts = split_passages(relevant, most) if state.get("whole") else [[one] for one in relevant]
    left = most * state["searched"] - len({*map(tuple, drafted)})
    return [one for one in parts if ids_of(one) not in drafted][: max(0, left)]


def split_passages(passages: Sequence[Passage], most: int) -> list[list[Passage]]:
    """Return the passages in at most ``most`` parts of about the same length; in more, if those would be too long."""
    size = min(LONGEST_PART, max(SHORTEST_PART, characters_of(passages) / most))
    parts: list[list[Passage]] = [[]]
    for passage in passages:
        if parts[-1] and characters_of(parts[-1]) + len(passage["text"]) / 2 > size:
            parts.append([])
        parts[-1].append(passage)
    return [one for one in parts if one]


def most_segments(state: SelfRAGState, context: Context) -> int:
    """Return how many segments the answer may have."""
    return context.effective_limits.segments or (MOST_SEGMENTS if state.get("whole") else SEGMENTS)


def ids_of(passages: Iterable[Passage]) -> list[str]:
    return sorted(passage["id"] for passage in passages)


def next_of(state: SelfRAGState, segments: Sequence[Segment], context: Context) -> Next:
    """Return what follows a round, as the paper's token Retrieve says before each segment.

    The answer goes on with the passages that are left. If none is left, it ends; but if it has no segment, or their
    passages lack words of the question, it searches again while rewrites are left.
    """
    if len(segments) >= most_segments(state, context):
        return "end"
    if to_draft({**state, "segments": list(segments)}, context):
        return "continue"
    read = [stated_by(passage) for segment in segments for passage in segment["passages"]]
    lacks = not segments or missing_words(subject_asked_for(standalone_question(state)), read)
    return "retrieve" if lacks and state["rewrites_left"] > 0 else "end"
