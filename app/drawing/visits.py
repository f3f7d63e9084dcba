"""What a run did at each node, in texts short enough for a picture."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import Any, Self

from langgraph.graph import END, START

from app.drawing.layout import EDGES
from core.step_wording import summarise_step
from core.text import one_line
from core.words import CJK

SPENT = ("model_calls", "input_tokens", "output_tokens")
VISITS = 3  # lines that a node has for its visits
LONGEST = 2_000  # characters of a text that are read; far fewer are shown
MEAN, WIDE = 0.62, 1.0  # width of a character by the font's size: a sans-serif's, and a Chinese one


@dataclass(frozen=True)
class Visits:
    """What a run did: the steps of each node in order, and how often each edge was taken."""

    steps: Mapping[str, Sequence[Mapping[str, Any]]]
    edges: Counter[tuple[str, str]]

    @classmethod
    def of(cls, path: Iterable[Mapping[str, Any]]) -> Self:
        """Read the steps of a result's ``path``; a draft's two checks follow each other there, but ran side by side."""
        steps: dict[str, list[Mapping[str, Any]]] = {}
        rounds: list[list[str]] = [[START]]
        for step in path:
            name = step["node"]
            steps.setdefault(name, []).append(step)
            beside = (rounds[-1][-1], name)
            if set(beside) == {"hallucination_check", "answer_check"}:
                rounds[-1].append(name)
            else:
                rounds.append([name])
        if rounds[-1] == ["finish"]:
            rounds.append([END])
        taken = Counter((one, other) for here, there in pairwise(rounds) for one in here for other in there)
        return cls(steps, Counter({edge: count for edge, count in taken.items() if edge in EDGES}))


def visit_lines(steps: Sequence[Mapping[str, Any]], width: float) -> list[str]:
    """Describe what a node decided, in at most three lines; of more than three visits only the last are described."""
    if len(steps) == 1:
        return wrapped(summarise_step(steps[0]["node"], steps[0]), width, 11, VISITS)
    told = steps if len(steps) <= VISITS else steps[-VISITS + 1 :]
    first = len(steps) - len(told)
    lines = [f"… {first} earlier"] if first else []
    for number, step in enumerate(told, first + 1):
        most = VISITS - len(lines) if step is steps[-1] else 1
        lines += wrapped(f"{number}. {summarise_step(step['node'], step)}", width, 11, most)
    return lines


def cost_of(steps: Sequence[Mapping[str, Any]]) -> str:
    """Describe what a node's visits cost; return "" if the steps do not say it."""
    calls, read, written = (sum(step.get(key) or 0 for step in steps) for key in SPENT)
    return f"{calls} call{'' if calls == 1 else 's'} · {read:,} tokens read, {written:,} written" if calls else ""


def wrapped(text: str, width: float, size: float, most: int) -> list[str]:
    """Return at most ``most`` lines of about ``width`` pixels each; a longer text ends in an ellipsis."""
    line = one_line(text[:LONGEST])
    lines = wrap(line, int(width / (size * (WIDE if CJK.search(line) else MEAN))))
    shown = lines[:most]
    if shown and (len(lines) > most or len(text) > LONGEST):
        shown[-1] = shown[-1][:-1].rstrip() + "…"
    return shown
