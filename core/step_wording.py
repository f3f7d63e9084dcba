"""Describe for a person what each node of a run decided, and what the run cost."""

from collections.abc import Iterable, Mapping
from typing import Any

from core.passages import place_of
from core.text import one_line, shortened
from core.types import Usage, Verdict

FOLLOWS = {"continue": "goes on", "retrieve": "searches again", "end": "ends"}  # after a round of a long answer
MOST_CHANGES = 4  # shown of a redraft


def describe(node: str, decided: Mapping[str, Any]) -> str:
    """Describe what a node decided, in a few words on one line."""
    return one_line(_described(node, decided))


def _described(node: str, decided: Mapping[str, Any]) -> str:
    if decided.get("stop"):
        return f"stopped: {decided['stop']}" + (f": {decided['failure']}" if decided.get("failure") else "")
    match node:
        case "contextualize":
            leaning = decided["leans"] or decided["rewritten"]
            return f"taken as “{shortened(decided['standalone'], 90)}”" if leaning else "stands alone"
        case "decide":
            why = f" (mode {decided['mode']})" if "mode" in decided else f"  {describe_verdict(decided['verdict'])}"
            return f"{decided['route']}{why}{_long(decided)}"
        case "retrieve":
            named = f", {count} only with the rows it names" if (count := decided.get("narrowed")) else ""
            files = f", first in {', '.join(files[:3])}" if (files := decided.get("named")) else ""
            return f"{decided['retrieved']} passages for “{shortened(decided['query'], 70)}”{files}{named}"
        case "query_table":
            return _queried(decided)
        case "grade_documents":
            marks = ", ".join(f"{place_of(grade)} {describe_verdict(grade['verdict'])}" for grade in decided["grades"])
            return f"{decided['relevant']} relevant: {marks}" if marks else "nothing to grade"
        case "rewrite_query":
            return _searched_next(decided)
        case "generate":
            return "the draft declines" if decided["declined"] else _drafted(decided)
        case "hallucination_check":
            claims = (
                f"{describe_verdict(one['verdict'], why=False)}: {shortened(one['text'], 50)}"
                for one in decided["claims"]
            )
            return "; ".join(claims) or "nothing to check"
        case "answer_check":
            return "usefulness " + ", ".join(describe_verdict(verdict) for verdict in decided["usefulness"])
        case "direct_generate":
            return f"draft: {shortened(decided['text'], 90)}"
        case "select":
            return _accepted(decided)
        case "compare_answers":
            return _compared(decided)
        case _:
            return f"{decided['outcome']} ({decided['stop_reason']})"


def _long(decided: Mapping[str, Any]) -> str:
    """Describe the limits of a long answer; return "" for a short one."""
    if not (within := decided.get("limits")):
        return ""
    most = f"{within['model_calls']:,} model calls, {within['tokens']:,} tokens and {within['seconds']:,.0f} s"
    return f" · a long answer, within {most}"


def _accepted(decided: Mapping[str, Any]) -> str:
    """Say whether a draft was accepted; for a long answer, list the accepted segments and say how the run goes on."""
    if decided.get("reconsidered"):
        return "not accepted: the documents are searched after all"
    if "onward" not in decided:
        return "accepted" if decided["accepted"] else "not accepted"
    taken = " | ".join(f"“{shortened(one['text'], 90)}”" for one in decided["segments"])
    return f"{taken or 'nothing new'}; {FOLLOWS[decided['onward']]}"


def _searched_next(decided: Mapping[str, Any]) -> str:
    """Return the next query, after the name found for a description, if any; say so if there is no next query."""
    described = decided.get("description")
    if not decided["query"]:
        return f"nothing names “{described}”" if described else "no other query found"
    return f"{described}: {decided['name']}; “{decided['query']}”" if described else f"“{decided['query']}”"


def _queried(decided: Mapping[str, Any]) -> str:
    """Return the query on a table and its result; if no result was accepted, return the reason instead."""
    if not decided["query"]:
        return "no table to ask"
    why = decided["failed"] or ("" if decided["accepted"] else "not what is asked")
    result = why or f"{', '.join(decided['result'][:3])} {describe_verdict(decided['verdict'])}"
    return f"{shortened(decided['query'], 120)}: {shortened(result, 90)}"


def _compared(decided: Mapping[str, Any]) -> str:
    """List the documents' differing answers; if there are none, say how many other documents were asked."""
    answers = " | ".join(f"“{shortened(one['answer'], 60)}”" for one in decided["answers"])
    if answers:
        return f"{len(decided['answers'])} answers differ: {answers}"
    return f"no other answer in {decided['asked']} documents" if decided["asked"] else "the documents agree"


def _drafted(decided: Mapping[str, Any]) -> str:
    """Return what ``generate`` did: the changes of a redraft, or the beginning of each draft."""
    if decided["redraft"] and len(decided.get("texts") or ()) < 2:
        changes = decided.get("changes") or []
        return "redraft: " + (
            "; ".join(map(_change, changes[:MOST_CHANGES])) or shortened(decided["text"] or "the same as before", 90)
        )
    texts = decided.get("texts") or [decided["text"] or "none that is new"]
    if len(texts) == 1:
        return f"draft: {shortened(texts[0], 90)}"
    return f"{len(texts)} drafts: " + " | ".join(shortened(text, 60) for text in texts)


def _change(one: dict[str, str]) -> str:
    removed, added = (f"“{shortened(one[key], 60)}”" if one[key] else "" for key in ("removed", "added"))
    if removed and added:
        return f"{added} instead of {removed}"
    return f"without {removed}" if removed else f"with {added}"


def drafts_of(node: str, decided: Mapping[str, Any]) -> list[str]:
    """Return each draft of a round that wrote several, not shortened; nothing for a single draft."""
    texts = decided.get("texts") or []
    return texts if node == "generate" and len(texts) > 1 else []


def segments_of(node: str, decided: Mapping[str, Any]) -> list[str]:
    """Return each accepted segment of a long answer, not shortened, with its quotes and their places."""
    return [
        " ".join([one["text"], *(f"[{place_of(quote)}: “{quote['quote']}”]" for quote in one["quotes"])])
        for one in (decided.get("segments") or [] if node == "select" else [])
    ]


def verdicts_of(node: str, decided: Mapping[str, Any]) -> list[str]:
    """Return each verdict of a node, not shortened: its label, its probability, what it judges, and why."""
    match node:
        case "decide":
            if "verdict" in decided:
                return [_explained(decided["verdict"])]
            return [f"{decided['route']} · {decided['reason']}"] if "reason" in decided else []
        case "grade_documents":
            return [_explained(grade["verdict"], place_of(grade)) for grade in decided.get("grades", [])]
        case "rewrite_query" | "query_table" if decided.get("verdict"):
            return [_explained(decided["verdict"], f"“{decided.get('name') or decided['query']}”")]
        case "hallucination_check":
            return [_explained(claim["verdict"], f"“{claim['text']}”") for claim in decided.get("claims", [])]
        case "answer_check":
            return [_explained(verdict) for verdict in decided.get("usefulness", [])]
        case _:
            return []


def summarise_step(node: str, decided: Mapping[str, Any]) -> str:
    """Summarise what a node decided, shorter than `describe`: verdicts without what they judge."""
    if not decided.get("stop"):
        match node:
            case "decide" if "verdict" in decided:
                return _grouped([decided["verdict"]])
            case "query_table":
                return _grouped([decided["verdict"]]) if decided["accepted"] else "no query"
            case "grade_documents":
                return _grouped(grade["verdict"] for grade in decided["grades"]) or "nothing to grade"
            case "hallucination_check":
                return _grouped(claim["verdict"] for claim in decided["claims"]) or "nothing to check"
            case "select" if decided.get("segments"):
                return f"{len(decided['segments'])} accepted; {FOLLOWS[decided['onward']]}"
            case "answer_check":
                return f"usefulness {_grouped(decided['usefulness'])}"
    return describe(node, decided)


def _grouped(verdicts: Iterable[Verdict]) -> str:
    """List the labels, each with its verdicts' probabilities, or with their number if one of them has none."""
    groups: dict[str, list[str]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict["label"].removesuffix(" supported"), []).append(_sure(verdict))
    return "; ".join(
        label + (",".join(sure) if all(sure) else f" ×{len(sure)}" if len(sure) > 1 else "")
        for label, sure in groups.items()
    )


def _explained(verdict: Verdict, judged: str = "") -> str:
    parts = (describe_verdict(verdict, why=False), judged, verdict["reason"] or "")
    return " · ".join(part for part in parts if part)


def describe_verdict(verdict: Verdict, *, why: bool = True) -> str:
    """Put a verdict in a few words: its label, its probability and, if ``why``, the reason."""
    reason = f" ({verdict['reason']})" if why and verdict["reason"] else ""
    return f"{verdict['label']}{_sure(verdict)}{reason}"


def _sure(verdict: Verdict) -> str:
    if not verdict["probabilities"]:
        return ""
    return f" {verdict['probabilities'].get(verdict['label'], 0):.2f}"


def spent(usage: Usage, seconds: float) -> str:
    """Describe what a run cost, on one line."""
    about = "about " if usage["estimated"] else ""
    cached = f" ({usage['cached_input_tokens']:,} from the cache)" if usage["cached_input_tokens"] else ""
    return (
        f"{usage['model_calls']} model calls · {about}{usage['input_tokens']:,} tokens read{cached}, "
        f"{usage['output_tokens']:,} written · {seconds:.1f} s"
    )
