"""How a run looks while it goes on: a line for each node as it ends, and on a terminal the draft as it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from app.screen import Screen
from core.text import location, one_line, shortened
from core.types import Verdict

if TYPE_CHECKING:
    from types import TracebackType

    from rich.status import Status

    from app.front_door import DraftToken, NodeFinished, NodeStarted
    from retrieval.filters import Filter

DRAFT_LINES = 6  # of the draft that is being written
MOST_CHANGES = 4  # of a redraft that are shown


class Trace:
    """One line for each node as it ends; on a terminal also the draft as it is written, dim, and a spinner.

    Each of several drafts has a paragraph below that line and, with ``explain``, so has each verdict, with its reason.
    """

    def __init__(self, screen: Screen, within: Filter | None = None, *, explain: bool = False) -> None:
        self._screen = screen
        self._within = within
        self._explain = explain
        self._status: Status | None = screen.err.status("thinking …") if screen.live else None
        self._draft = ""

    def __enter__(self) -> Trace:
        if self._status:
            self._status.start()
        return self

    def show(self, event: NodeStarted | DraftToken | NodeFinished) -> None:
        """Show an event of a run."""
        from app.front_door import DraftToken, NodeStarted

        if isinstance(event, NodeStarted):
            self.node(event)
        elif isinstance(event, DraftToken):
            self.token(event)
        else:
            self.step(event)

    def node(self, begun: NodeStarted) -> None:
        """Clear the draft when another one, or the end, begins: until then it is not checked."""
        if begun.node in ("generate", "direct_generate", "finish"):
            self._draft = ""
            self._show_draft()

    def token(self, written: DraftToken) -> None:
        """Add to the draft that is shown."""
        self._draft += written.text
        self._show_draft()

    def _show_draft(self) -> None:
        if self._status:
            room = self._screen.err.width * DRAFT_LINES
            draft = one_line(self._draft)
            draft = draft if len(draft) <= room else "…" + draft[1 - room :]
            self._status.update(Text.assemble("thinking …", (f"  {draft}" if draft else "", "dim")))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    def step(self, ended: NodeFinished) -> None:
        """Print what the node decided."""
        within = shortened(self._within.as_options(), 60) if ended.node == "retrieve" and self._within else ""
        parts = verdicts_of(ended.node, ended.decided) if self._explain else []
        parts = parts or drafts_of(ended.node, ended.decided)
        self._screen.line(
            ("{:20}", ended.node, "bold"),
            ("{:6.1f} s  ", ended.seconds, "dim"),
            headline(ended.node, ended.decided) if parts else describe(ended.node, ended.decided),
            (" {}", within, "dim"),
        )
        for part in parts:
            self._screen.paragraph(part)


def describe(node: str, decided: dict[str, Any]) -> str:
    """What a node decided, in a few words on one line."""
    return one_line(_described(node, decided))


def _described(node: str, decided: dict[str, Any]) -> str:
    if decided.get("stop"):
        return f"stopped: {decided['stop']}" + (f": {decided['failure']}" if decided.get("failure") else "")
    match node:
        case "contextualize":
            leaning = decided["leans"] or decided["rewritten"]
            return f"taken as “{shortened(decided['standalone'], 90)}”" if leaning else "stands alone"
        case "decide":
            if "mode" in decided:
                return f"{decided['route']} (mode {decided['mode']})"
            return f"{decided['route']}  {said(decided['verdict'])}"
        case "retrieve":
            return f"{decided['retrieved']} passages for “{shortened(decided['query'], 70)}”"
        case "grade_documents":
            marks = ", ".join(f"{place(grade)} {said(grade['verdict'])}" for grade in decided["grades"])
            return f"{decided['relevant']} relevant: {marks}" if marks else "nothing to grade"
        case "rewrite_query":
            return f"“{decided['query']}”" if decided["query"] else "no other query found"
        case "generate":
            if decided["declined"]:
                return "the draft declines"
            return _drafted(decided)
        case "hallucination_check":
            return (
                "; ".join(
                    f"{claim['verdict']['label']}{_sure(claim['verdict'])}: {shortened(claim['text'], 50)}"
                    for claim in decided["claims"]
                )
                or "nothing to check"
            )
        case "answer_check":
            return "usefulness " + ", ".join(said(verdict) for verdict in decided["usefulness"])
        case "direct_generate":
            return f"draft: {shortened(decided['text'], 90)}"
        case "select":
            if decided.get("reconsidered"):
                return "not accepted: the documents are searched after all"
            return "accepted" if decided["accepted"] else "not accepted"
        case "compare_answers":
            return _compared(decided)
        case _:
            return f"{decided['outcome']} ({decided['stop_reason']})"


def _compared(decided: dict[str, Any]) -> str:
    """What documents answer that differ, and how many were asked by themselves."""
    answers = " | ".join(f"“{shortened(one['answer'], 60)}”" for one in decided["answers"])
    if answers:
        return f"{len(decided['answers'])} answers differ: {answers}"
    return f"no other answer in {decided['asked']} documents" if decided["asked"] else "the documents agree"


def _drafted(decided: dict[str, Any]) -> str:
    """What was drafted: of a redraft what it changed, of several drafts the beginning of each."""
    if decided["redraft"]:
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


def drafts_of(node: str, decided: dict[str, Any]) -> list[str]:
    """Each draft of a round that wrote several, uncut."""
    texts = decided.get("texts") or []
    return texts if node == "generate" and len(texts) > 1 else []


def verdicts_of(node: str, decided: dict[str, Any]) -> list[str]:
    """Each verdict of a node, uncut: its label, how sure, what it judges, and why."""
    match node:
        case "decide":
            if "verdict" in decided:
                return [_explained(decided["verdict"])]
            return [f"{decided['route']} · {decided['reason']}"] if "reason" in decided else []
        case "grade_documents":
            return [_explained(grade["verdict"], place(grade)) for grade in decided.get("grades", [])]
        case "hallucination_check":
            return [_explained(claim["verdict"], f"“{claim['text']}”") for claim in decided.get("claims", [])]
        case "answer_check":
            return [_explained(verdict) for verdict in decided.get("usefulness", [])]
        case _:
            return []


def headline(node: str, decided: dict[str, Any]) -> str:
    """What a node decided, without the verdicts that follow."""
    if decided.get("stop"):
        return describe(node, decided)
    match node:
        case "grade_documents":
            return f"{decided['relevant']} of {len(decided['grades'])} relevant"
        case "hallucination_check":
            supported = [one for one in decided["claims"] if one["verdict"]["label"] == "fully supported"]
            return f"{len(supported)} of {len(decided['claims'])} claims fully supported"
        case "answer_check":
            return "usefulness"
        case "generate":
            return f"{len(decided['texts'])} drafts"
        case _:
            return f"{decided['route']} (mode {decided['mode']})" if "mode" in decided else str(decided["route"])


def _explained(verdict: Verdict, judged: str = "") -> str:
    parts = (f"{verdict['label']}{_sure(verdict)}", judged, verdict["reason"] or "")
    return " · ".join(part for part in parts if part)


def said(verdict: Verdict) -> str:
    """A verdict in a few words: its label, how sure, and why."""
    why = f" ({verdict['reason']})" if verdict["reason"] else ""
    return f"{verdict['label']}{_sure(verdict)}{why}"


def _sure(verdict: Verdict) -> str:
    if not verdict["probabilities"]:
        return ""
    return f" {verdict['probabilities'].get(verdict['label'], 0):.2f}"


def place(found: Any) -> str:
    """Where a passage stands: its file, and its page or row."""
    return location(found["source"], found["page"], found["row"])
