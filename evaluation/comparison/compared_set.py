"""Compare the records of two systems, of one question or of a set, and let the chat model write about a set's figures.

The model writes once with each system named first. Its text is used only if it prefers the same system both times.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from langchain_core.prompts import ChatPromptTemplate

from core.errors import ModelError
from evaluation.comparison.comparison import Comparison, shared
from evaluation.comparison.overall import Figure, sections, summary_figures
from evaluation.judging.judge import Judge
from evaluation.judging.saved_replies import model_name
from evaluation.records import BASELINE, DISAGREED, FAILED, OURS, TIE, UNREADABLE, Example, Opinion, Pair, Record
from nodes.concurrency import gather_bounded

ANALYSIS_MAX_TOKENS = 300
LEFT_OUT = {
    DISAGREED: "its conclusion changed when the order of the two systems was changed",
    UNREADABLE: "it did not reply in the form asked for",
    FAILED: "it failed or refused",
}
CONCLUSION = re.compile(rf"^[^\w\n]*preferred[^\w\n:]*:[^\w\n]*({OURS}|{BASELINE}|neither)\b", re.I | re.M)
# Without an example: a small model repeats an example's text as if it were about these figures.
ANALYSE = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "You are given figures of two systems that answered the same questions from the same documents: "
            f"{OURS}, which decides whether to search, grades what it finds and checks its claims, and {BASELINE}, "
            "which searches and writes one draft. Say in English, in at most five sentences, when each of them is the "
            "better choice, by these figures and nothing else. On the last line write preferred: and one of "
            f"{OURS}, {BASELINE}, neither.",
        ),
        ("human", "{figures}\n\nWhich is the better choice, and when?"),
    ]
)


@dataclass(frozen=True)
class ComparedSet:
    """The comparisons in the order of the questions; ``name`` is None for a single question without a set.

    ``judge`` is the name of the chat model that compares. ``summed_up`` has this model's two opinions on the set's
    figures, one for each order of the systems; the ``reason`` of an opinion is the text that the model wrote.
    """

    name: str | None
    judge: str
    comparisons: Sequence[Comparison]
    summed_up: Pair | None = None

    @property
    def left_out(self) -> str | None:
        """Return a sentence on why the model's text about the set is not used; None if it is, or there is no text."""
        why = LEFT_OUT.get(self.summed_up.preference) if self.summed_up else None
        return f"The model's own text is left out: {why}." if why else None

    def as_json(self) -> dict[str, Any]:
        """Return plain data for ``json.dumps``."""
        overall: dict[str, Any] | None = None
        if self.name is not None:
            overall = {
                "sections": [{"title": title, "lines": lines} for title, lines in sections(self.comparisons).items()],
                "figures": [
                    {"name": name, OURS: ours, BASELINE: plain}
                    for name, ours, plain in summary_figures(shared(self.comparisons))
                ],
                "model": {
                    "preference": self.summed_up.preference,
                    "text": next(iter(self.summed_up.reasons), None),
                    "left_out": self.left_out,
                    "failure": self.summed_up.failure,
                }
                if self.summed_up
                else None,
            }
        return {
            "set": self.name,
            "judge": self.judge,
            "questions": [one.as_json() for one in self.comparisons],
            "overall": overall,
        }


async def compare_all(
    name: str | None,
    examples: Sequence[Example],
    records: Sequence[Record],
    judge: Judge,
    concurrency: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[ComparedSet, ModelError | None]:
    """Return the comparison, and the error if the judge's server fails; ``name`` is None for a single question."""
    by_key = {(record["system"], record["example"]): record for record in records}
    comparisons = [Comparison(one, by_key[OURS, one.id], by_key[BASELINE, one.id]) for one in examples]
    compared = ComparedSet(name, model_name(judge.services.generator), comparisons)
    known = shared(comparisons)
    try:
        calls = [partial(judge.pair, *one.records, one.example.references) for one in known]
        judged = {pair.example: pair for pair in await gather_bounded(calls, concurrency, progress)}
        comparisons = [replace(one, judged=judged.get(one.example.id)) for one in comparisons]
        compared = replace(compared, comparisons=comparisons)
        summed_up = await sum_up(judge, name, comparisons) if known and name is not None else None
    except ModelError as error:
        return compared, error
    return replace(compared, summed_up=summed_up), None


async def sum_up(judge: Judge, name: str, comparisons: Sequence[Comparison]) -> Pair:
    """Let the model write about a set's figures twice, once with each system named first. Raises `ModelError`."""
    found = summary_figures(shared(comparisons))
    opinions = await _opinion_on_set(judge, found, OURS, BASELINE), await _opinion_on_set(judge, found, BASELINE, OURS)
    return Pair(name, OURS, BASELINE, opinions)


async def _opinion_on_set(judge: Judge, found: Sequence[Figure], first: str, second: str) -> Opinion:
    about = {"kind": "analysis", "first": first, "second": second}
    lines = "\n".join(_line(one, first, second) for one in found)
    text, failure = await judge.write(ANALYSE, about, ANALYSIS_MAX_TOKENS, figures=lines)
    conclusion = CONCLUSION.search(text)
    reason = text[: conclusion.start()].strip() if conclusion else ""
    preferred = conclusion[1].lower().replace("neither", TIE) if conclusion and reason else None
    return Opinion(first, preferred, reason=reason, failure=failure)


def _line(figure: Figure, *order: str) -> str:
    name, ours, plain = figure
    values = {OURS: ours, BASELINE: plain}
    return f"{name}: " + ", ".join(f"{system} {values[system]:,.1f}".removesuffix(".0") for system in order)
