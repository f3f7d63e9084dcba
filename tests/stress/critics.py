"""Ask with critics that say no, no to drafts, yes, or anything: no question passes its limits or claims too much.

    python -m tests.stress.critics [--questions 200] [--seed 1]

No network is used: the models are scripted, and the generator never repeats itself. What is claimed is compared with
the recorded verdicts and with the passages. It writes ``bench/critics.json`` and ends with 1 if anything was
violated.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import median
from typing import Any, cast

from langchain_core.documents import Document

from benchmarks.harness import listed, option_parser, show_progress
from graph.builder import build_graph
from prompts.answer_check import USEFULNESS
from prompts.choice import Choice
from prompts.decide import RETRIEVE
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from run.context import Context
from run.state import SelfRAGState
from tests.integration.graph.invariants import violations
from tests.scripted import ScriptedCritic, ScriptedGenerator, services
from tests.stress.harness import Tally

CHOICES = (RETRIEVE, RELEVANCE, SUPPORT, USEFULNESS)
TRUE = "Air scatters blue light more than red light."
FALSE = "Blue paint is poured into the sky by 40 painters."
YES = {"retrieve": "retrieve", "relevance": "relevant", "support": "fully supported", "usefulness": "5"}
NO = {"retrieve": "retrieve", "relevance": "irrelevant", "support": "no support", "usefulness": "1"}
NO_DRAFTS = {**NO, "relevance": "relevant"}
Judge = Callable[[Choice], str]


@dataclass(frozen=True)
class Finds:
    """Return the same passages, and one that is new for each query."""

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        others = ("Salt lowers the melting point of ice.", "Bees make honey.", f"The museum is called {input}.")
        return [Document(text, id=text, metadata={"source": "notes.txt"}) for text in (TRUE, *others)]


def main() -> None:
    options = option_parser(__doc__, questions=200, seed=1).parse_args()
    tally = Tally()
    rows = [(name, asyncio.run(ask_all(tally, name, options.questions, options.seed))) for name in CRITICS]
    tally.conclude("critics", rows, seed=options.seed)


async def ask_all(tally: Tally, critic: str, questions: int, seed: int) -> str:
    """Ask all questions of one critic; return what it cost and how they ended."""
    calls, outcomes = list[int](), Counter[str]()
    for number in range(questions):
        question = f"Why is the sky of country {number} blue?"
        final = await ask(question, critic, Random(f"{seed}/{critic}/{number}"))
        calls.append(final["usage"]["model_calls"])
        outcomes[str(final["outcome"])] += 1
        found = violations(final, question, Context())
        tally.violated += [f"{critic}, question {number}: {text}" for text in found]
        show_progress(f"{critic}: {number + 1} of {questions}")
    tally.questions += questions
    tally.outcomes += outcomes
    tally.counts[f"most calls, {critic}"] = max(calls)
    return f"{median(calls):.0f} calls, at most {max(calls)}; {listed(outcomes)}"


async def ask(question: str, critic: str, dice: Random) -> SelfRAGState:
    judge = CRITICS[critic](dice)

    def said(choice: Choice, _: str) -> str:
        return judge(choice)

    def written(name: str, turn: int) -> str:
        return f"other words {dice.randrange(10**9)}" if name == "query" else drafted(dice)

    scripted = ScriptedCritic(otherwise={one.name: partial(said, one) for one in CHOICES})
    graph = build_graph(services(ScriptedGenerator(forever=written), scripted, Finds()))
    start: Any = {"question": question}
    return cast("SelfRAGState", await graph.ainvoke(start))


def drafted(dice: Random) -> str:
    said = dice.choice(((TRUE,), (FALSE,), (TRUE, FALSE)))
    return " ".join([*said, f"Colour number {dice.randrange(10**9)} is blue."] if dice.random() < 0.5 else said)


def at_random(dice: Random) -> Judge:
    return lambda choice: dice.choice((*choice.labels, "3" if choice is USEFULNESS else choice.cautious))


CRITICS: dict[str, Callable[[Random], Judge]] = {
    "always no": lambda dice: lambda choice: NO[choice.name],
    "no drafts": lambda dice: lambda choice: NO_DRAFTS[choice.name],
    "always yes": lambda dice: lambda choice: YES[choice.name],
    "at random": at_random,
}


if __name__ == "__main__":
    main()
