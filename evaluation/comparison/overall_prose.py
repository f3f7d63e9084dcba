"""Let the chat model write about a set's figures, in both orders; its text stands only where these agree."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.prompts import ChatPromptTemplate

from evaluation.comparison.comparison import BASELINE, OURS, Comparison, shared
from evaluation.comparison.criteria_judge import DISAGREED, FAILED, TIE, UNREADABLE, CriteriaJudge
from evaluation.comparison.overall import Figure, figures

MAX_TOKENS = 300
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
class Prose:
    """The model's text about a set and the system that it prefers, or why its text is left out."""

    text: str
    preferred: str
    failure: str | None = None

    @property
    def left_out(self) -> str | None:
        """Return a sentence on why there is no text; None if there is one."""
        if self.preferred not in LEFT_OUT:
            return None
        return f"The model's own text is left out: {LEFT_OUT[self.preferred]}."


async def prose_of(judge: CriteriaJudge, comparisons: Sequence[Comparison]) -> Prose:
    """Ask twice, with the systems in both orders. Raises `ModelError` if the server cannot be reached."""
    found = figures(shared(comparisons))
    first, failure = await _written(judge, found, (OURS, BASELINE))
    other, other_failure = await _written(judge, found, (BASELINE, OURS))
    if failure or other_failure:
        return Prose("", FAILED, failure or other_failure)
    said = [CONCLUSION.search(text) for text in (first, other)]
    names = [match[1].lower() for match in said if match]
    text = first[: said[0].start()].strip() if said[0] else ""
    if len(names) < len(said) or not text:
        return Prose("", UNREADABLE)
    if names[0] != names[1]:
        return Prose("", DISAGREED)
    return Prose(text, names[0] if names[0] in (OURS, BASELINE) else TIE)


async def _written(judge: CriteriaJudge, found: Sequence[Figure], order: tuple[str, str]) -> tuple[str, str | None]:
    about = {"kind": "analysis", "first": order[0], "second": order[1]}
    lines = "\n".join(_line(one, order) for one in found)
    return await judge.replies.get_or_write(judge.generator, ANALYSE, about, MAX_TOKENS, figures=lines)


def _line(figure: Figure, order: tuple[str, str]) -> str:
    name, ours, plain = figure
    values = {OURS: ours, BASELINE: plain}
    return f"{name}: " + ", ".join(f"{system} {values[system]:,.1f}".removesuffix(".0") for system in order)
