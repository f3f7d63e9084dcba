"""Comparisons and a model that compares, for tests."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from langchain_core.prompts import ChatPromptTemplate

from evaluation.comparison.compared_set import ANALYSE
from evaluation.comparison.comparison import Comparison
from evaluation.judging.criteria import COMPARE
from evaluation.judging.judge import Judge
from evaluation.judging.judge_prompts import QUESTIONS
from evaluation.judging.saved_replies import Replies
from evaluation.records import Example, Pair
from models.usage import NodeBudget
from run.context import Services
from tests.unit.evaluation.sample_records import answered, compared, seen

QUESTION = "Why is the sky blue?"
EXAMPLE = Example(id="e1", question=QUESTION, route="retrieve", answerable=True, references=("air scatters light",))


def reply(preferred: str, reason: str = "The first answer says more.", **criteria: str) -> str:
    """A reply in the form asked for, with all criteria as ``preferred`` but those given."""
    names = ("relevance", "accuracy", "completeness", "conciseness")
    lines = [f"{name}: {criteria.get(name, preferred)}" for name in names]
    return "\n".join([*lines, f"reason: {reason}", f"preferred: {preferred}"])


@dataclass
class Writer:
    """Writes what ``says`` makes of the inputs of a prompt; an exception is raised."""

    says: Callable[[dict[str, Any]], str | Exception]
    asked: list[dict[str, Any]] = field(default_factory=list)

    def with_budget(self, budget: NodeBudget) -> "Writer":
        return self

    async def write(self, messages: ChatPromptTemplate, *, max_tokens: int, hidden: bool = False, **inputs: Any) -> str:
        messages.format_messages(**inputs)
        assert hidden or messages not in (ANALYSE, COMPARE, QUESTIONS)
        self.asked.append(inputs)
        said = self.says(inputs)
        if isinstance(said, Exception):
            raise said
        return said

    async def write_scored(self, messages: ChatPromptTemplate, **given: Any) -> tuple[str, float | None]:
        return await self.write(messages, **given), None


def judge_of(writer: Writer, replies: Replies) -> Judge:
    nothing: Any = None
    return Judge(Services(cast("Any", writer), nothing, nothing), replies)


async def judged_by(
    says: Callable[[dict[str, Any]], str | Exception], folder: Path, one: Comparison | None = None
) -> tuple[Pair, Writer]:
    one, writer = one or comparison(), Writer(says)
    with Replies(folder / "judgements.jsonl") as replies:
        return await judge_of(writer, replies).pair(*one.records, one.example.references), writer


def comparison(
    ours: str = "Air scatters light.",
    plain: str = "Light is blue.",
    *,
    example: Example = EXAMPLE,
    judged: Pair | None = None,
    **changes: Any,
) -> Comparison:
    """A comparison of two answers; ``changes`` are of Self-RAG's record. An empty answer is an abstention."""
    graded = [seen("Air scatters blue light.", 0.9, "notes.txt"), seen("Whales sing.", 0.1, "notes.txt")]
    decisions = [
        {"node": "decide", "seconds": 1.0, "route": "retrieve"},
        {"node": "grade_documents", "seconds": 2.0, "relevant": 1, "grades": [{}, {}]},
        {"node": "generate", "seconds": 1.0, "text": ours},
    ]
    given = {"question": example.question, "seen": graded, "read": graded[:1], "decisions": decisions}
    found = {**given, "outcome": "grounded" if ours else "abstained", **changes}
    read = [{**one, "relevance": None, "relevant": None} for one in graded]
    return Comparison(
        example,
        answered("self-rag", ours, example=example.id, **found),
        answered("plain", plain, example=example.id, question=example.question, seen=read, read=read),
        judged,
    )


def opinions(*preferred: str | None, reason: str = "It says more.", failure: str | None = None) -> Pair:
    """What two orders say, the same on every criterion."""
    return compared("e1", "self-rag", "plain", *preferred, reason=reason, failure=failure)
