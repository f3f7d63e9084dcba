"""Ask with critics that always say no, always say yes, or answer at random: what it costs and what is claimed.

    python -m tests.stress.critics [--questions 200] [--seed 1] [--most 20000]

Each is put before this program's graph and before the loop that tutorials draw, in the same run: retrieve, grade,
rewrite until something is relevant; generate, check, generate until it is supported; rewrite until it is useful; with
nothing counted. That loop is cut off after ``--most`` calls. No network is used: the models are scripted. A claim is
too much where an outcome does not follow from the recorded verdicts (ours), and where an answer is handed out that
the same code finds in no passage (both). It writes ``bench/critics.json`` and ends with 1 if ours broke a limit or
claimed too much.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from statistics import median
from typing import Any, cast

from langchain_core.documents import Document

from benchmarks.harness import aligned, end, end_progress, listed, option_parser, show_progress
from graph.builder import SelfRAGGraph, build_graph
from grounding.quotes import find_quote
from nodes.retrieve import as_passage
from prompts.answer_check import USEFULNESS
from prompts.choice import Choice
from prompts.decide import RETRIEVE
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from run.context import Context, Services
from run.state import SelfRAGState
from tests.integration.graph.invariants import violations
from tests.scripted import ScriptedCritic, ScriptedGenerator

CHOICES = (RETRIEVE, RELEVANCE, SUPPORT, USEFULNESS)
TRUE = "Air scatters blue light more than red light."
FALSE = "Blue paint is poured into the sky by 40 painters."
OTHER = ("Salt lowers the melting point of ice.", "Bees make honey.", "The museum opened in 1911.")
YES = {"retrieve": "retrieve", "relevance": "relevant", "support": "fully supported", "usefulness": "5"}
NO = {"retrieve": "retrieve", "relevance": "irrelevant", "support": "no support", "usefulness": "1"}
Judge = Callable[[Choice], str]


@dataclass(frozen=True)
class Finds:
    """Return the same passages, and one that is new for each query."""

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        """As LangChain's retrievers."""
        texts = (TRUE, *OTHER[:2], f"{OTHER[2]} It is called {input}.")
        return [Document(text, id=text, metadata={"source": "notes.txt"}) for text in texts]


@dataclass
class Row:
    """The results of one critic with one way of asking."""

    name: str
    calls: list[int] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    violated: list[str] = field(default_factory=list)
    unfounded: int = 0

    def figures(self) -> dict[str, Any]:
        """The figures for JSON."""
        return {
            "calls": {"median": median(self.calls), "most": max(self.calls)},
            "outcomes": dict(self.outcomes),
            "unfounded_answers": self.unfounded,
            "violations": len(self.violated),
        }


def main() -> None:
    """Ask both ways, count, print."""
    options = option_parser(__doc__, questions=200, seed=1, most=20_000).parse_args()
    rows = asyncio.run(measure(options.questions, options.seed, options.most))
    table = [("critic", "way", "calls: median", "most", "unfounded", "violations", "outcomes")]
    for (critic, way), row in rows.items():
        calls = (f"{median(row.calls):,.0f}", f"{max(row.calls):,}")
        table.append((critic, way, *calls, str(row.unfounded), str(len(row.violated)), listed(row.outcomes)))
    print(aligned(table))
    figures: dict[str, Any] = {"questions": options.questions, "seed": options.seed, "most": options.most}
    for (critic, way), row in rows.items():
        figures.setdefault(critic, {})[way] = row.figures()
    violated = [one for (_, way), row in rows.items() if way == "ours" for one in row.violated]
    end("critics", figures, violated)


async def measure(questions: int, seed: int, most: int) -> dict[tuple[str, str], Row]:
    """A row for each critic and way."""
    rows: dict[tuple[str, str], Row] = {}
    for name, judge_of in CRITICS.items():
        ours = rows[name, "ours"] = Row(name)
        naive = rows[name, "loop"] = Row(name)
        for number in range(questions):
            question = f"Why is the sky of country {number} blue?"
            dice = Random(f"{seed}/{name}/{number}")
            await ask(graph_of(judge_of(dice), dice), question, ours)
            dice = Random(f"{seed}/{name}/{number}")
            if number < NAIVE_QUESTIONS:
                await ask_naively(judge_of(dice), dice, question, most, naive)
            show_progress(f"{name}: {number + 1} of {questions}")
        end_progress()
    return rows


def graph_of(judge: Judge, dice: Random) -> SelfRAGGraph:
    """Build the graph with this critic, and a generator that never repeats itself."""
    critic = ScriptedCritic(otherwise={one.name: partial(_said, judge, one) for one in CHOICES})
    generator = ScriptedGenerator(forever=lambda name, turn: rewritten(dice) if name == "query" else drafted(dice))
    return build_graph(Services(generator, critic, Finds()))


def _said(judge: Judge, choice: Choice, _: str) -> str:
    return judge(choice)


def rewritten(dice: Random) -> str:
    """A query that is unlikely to repeat an earlier one."""
    return f"other words {dice.randrange(10**9)}"


async def ask(graph: SelfRAGGraph, question: str, row: Row) -> None:
    """Ask the graph, and check the invariants."""
    final = cast("SelfRAGState", await graph.ainvoke(cast("SelfRAGState", {"question": question})))
    row.calls.append(final["usage"]["model_calls"])
    row.outcomes[str(final["outcome"])] += 1
    row.violated += violations(final, question, Context())
    if final["outcome"] == "grounded":
        row.unfounded += unfounded(final["answer"], [one["passage"] for one in final["citations"]], question)


async def ask_naively(judge: Judge, dice: Random, question: str, most: int, row: Row) -> None:
    """Ask the tutorials' loop; every verdict and text is a call; cut off at ``most``."""
    loop = Loop(judge, dice, most)
    answer = await loop.run(question)
    row.calls.append(loop.calls)
    row.outcomes["cut off" if answer is None else "answered"] += 1
    if answer is not None:
        row.unfounded += unfounded(answer, loop.shown, question)


@dataclass
class Loop:
    """The tutorials' loop: retrieve, grade, rewrite, generate and check until all verdicts are good."""

    judge: Judge
    dice: Random
    most: int
    calls: int = 0
    shown: list[str] = field(default_factory=list)

    async def run(self, question: str) -> str | None:
        """The answer; None when cut off."""
        query = question
        while self.calls < self.most:
            found = await Finds().ainvoke(query, k=4)
            self.shown = [one.page_content for one in found if self._says(RELEVANCE) == "relevant"]
            while self.shown and self.calls < self.most:
                self.calls += 1
                draft = drafted(self.dice)
                if self._says(SUPPORT) != "fully supported":
                    continue
                if int(self._says(USEFULNESS)) >= 3:
                    return draft
                break
            self.calls += 1
            query = rewritten(self.dice)
        return None

    def _says(self, choice: Choice) -> str:
        self.calls += 1
        return self.judge(choice)


def drafted(dice: Random) -> str:
    """A draft that is unlikely to repeat an earlier one."""
    said = dice.choice(((TRUE,), (FALSE,), (TRUE, FALSE)))
    return " ".join([*said, f"Colour number {dice.randrange(10**9)} is blue."] if dice.random() < 0.5 else said)


def unfounded(answer: str, passages: Sequence[str], question: str) -> bool:
    """True if the answer contains a known falsehood or a sentence found in no passage."""
    known = [as_passage(Document(text, id=text)) for text in passages]
    sentences = [one.strip() + "." for one in answer.split(".") if one.strip()]
    return any(find_quote(one, known, question) is None or one == FALSE for one in sentences)


def at_random(dice: Random) -> Judge:
    """Choose any label at random, or the cautious verdict."""
    return lambda choice: dice.choice((*choice.labels, "3" if choice is USEFULNESS else choice.cautious))


CRITICS: dict[str, Callable[[Random], Judge]] = {
    "always no": lambda dice: lambda choice: NO[choice.name],
    "no drafts": lambda dice: lambda choice: (YES if choice in (RETRIEVE, RELEVANCE) else NO)[choice.name],
    "always yes": lambda dice: lambda choice: YES[choice.name],
    "at random": at_random,
}
NAIVE_QUESTIONS = 20  # each may take all the calls that there are


if __name__ == "__main__":
    main()
