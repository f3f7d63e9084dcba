"""Show the end of a run to a person: the answer, its citations, and what it cost."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from app.results.result import SPENT, Result, ResultPassage, numbers_of
from app.terminal.screen import Screen
from core.passages import place_of
from core.step_wording import spent
from core.types import Citation, Passage
from models.chat import estimated_tokens
from nodes.finish import mark_claims, with_notes
from prompts.delimiters import as_data, delimited
from prompts.generate import PLAIN
from run.candidates import ANSWERED, confidence
from run.state import SelfRAGState

STYLES = {
    "grounded": "bold green",
    "partially_grounded": "bold yellow",
    "abstained": "bold magenta",
    "direct": "bold cyan",
    "stopped": "bold red",
}
COST_COLUMNS = (
    ("{:24}", "phase"),
    ("{:>6}", "calls"),
    ("{:>10}", "read"),
    ("{:>10}", "cached"),
    ("{:>9}", "written"),
    ("{:>9}", "seconds"),
)


def show(state: SelfRAGState, screen: Screen) -> None:
    """Print the answer to stdout, then its citations and cost: on a terminal to stdout too, else to stderr."""
    outcome = state["outcome"] or "stopped"
    on_terminal = screen.out.is_terminal
    if on_terminal:
        screen.with_tables("\n" + numbered_answer(state))
    else:
        screen.text(state["answer"])
    line = screen.result if on_terminal and not screen.err.quiet else screen.line
    show_citations(state["citations"], line)
    sure = confidence(state["best"]) if state["best"] and outcome in ANSWERED else None
    said = state["stop_reason"] if sure is None else f"{state['stop_reason']} · confidence {sure:.2f}"
    cost = f"{said} · {spent(state['usage'], state['seconds'])}"
    style = STYLES.get(outcome, "")
    line(("{}", outcome, style), (" · {}", cost, f"{style} dim"))


def show_citations(citations: Sequence[Citation], line: Callable[..., None]) -> None:
    """Print a line for each quote, with where it stands."""
    for citation in citations:
        line(
            ("  [{}] ", citation["id"], "cyan"),
            ("{}  ", place_of(citation), "cyan"),
            ("“{}”", citation["quote"], "cyan italic"),
        )


def show_costs(result: Result, screen: Screen) -> None:
    """Print to stderr what each node cost, their total, and about how many tokens one plain RAG call would read."""
    screen.line(*((form, name, "bold") for form, name in COST_COLUMNS))
    for node in dict.fromkeys(step["node"] for step in result.path):
        turns = [step for step in result.path if step["node"] == node]
        times = f" ×{len(turns)}" if len(turns) > 1 else ""
        _cost_line(screen, node + times, {name: sum(turn[name] for turn in turns) for name in (*SPENT, "seconds")})
    _cost_line(screen, "total", dict(result.usage), "bold")
    if found := first_search(result):
        form = f"One plain call over the {len(found)} passages first found would read about {{:,}} tokens (estimate)."
        screen.line((form, plain_tokens(result.standalone, found), "dim"))


def first_search(result: Result) -> list[ResultPassage]:
    """Return the passages of the first search, in its order; none if nothing was searched for."""
    found = next((step["retrieved"] for step in result.path if step["node"] == "retrieve" and "retrieved" in step), 0)
    return result.passages[:found]


def plain_tokens(question: str, passages: Sequence[ResultPassage]) -> int:
    """Estimate what plain retrieve-and-generate would read: the tokens of one prompt with all of these passages."""
    read = [cast("Passage", {**one.model_dump(exclude={"verdict"})}) for one in passages]
    return estimated_tokens(PLAIN.format_messages(passages=delimited(read), question=as_data(question)))


def _cost_line(screen: Screen, phase: str, cost: dict[str, Any], style: str = "") -> None:
    row = [phase, *(f"{cost[name]:,}" for name in SPENT), f"{cost['seconds']:.1f}"]
    screen.line(*((form, cell, style) for (form, _), cell in zip(COST_COLUMNS, row, strict=True)))


def numbered_answer(state: SelfRAGState) -> str:
    """Return the answer with the numbers of its citations behind each claim."""
    best = state["best"]
    if best is None or not state["citations"]:
        return state["answer"]
    answer = mark_claims(
        best, [numbers_of(claim, best, state["citations"]) for claim in best["claims"]], question=state["question"]
    )
    return with_notes(answer, best, state, state.get("conflicts", []), state["citations"], numbers=True)
