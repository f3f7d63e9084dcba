"""What the peers share: their models and search, paid for as ours are, and the record of what they reached."""

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate

from core.fingerprint import fingerprint
from core.types import Passage
from evaluation.records import ClaimRecord, Cost, Example, Record, Seen, seen_of
from grounding.refusals import declines
from models.chat import Chat, text_of
from models.critic import STRUCTURED_TOKENS, Critic, schema_of_word
from models.usage import NodeBudget, unlimited
from nodes.found_passages import as_passage
from prompts.delimiters import as_data, delimited
from prompts.direct_generate import DIRECT_GENERATE
from prompts.direct_generate import MAX_TOKENS as DIRECT_TOKENS
from prompts.generate import MAX_TOKENS as DRAFT_TOKENS
from prompts.generate import PLAIN
from run.context import RetrieverLike, Services

WORD_TOKENS, QUERY_TOKENS = 20, 80
CODE = (
    *("benchmarks/peers", "prompts/generate.py", "prompts/direct_generate.py"),
    *("models/chat.py", "models/connect.py", "models/embedded.py", "models/embeddings.py", "retrieval"),
    *("models/critic.py", "nodes/retrieve.py", "grounding"),
)
GRADE = schema_of_word("grade", "binary_score", ["yes", "no"])


@dataclass
class Talk:
    """One question's calls, one after another; ``decisions`` is what came of them.

    ``found`` are the first search's passages and ``relevant`` each passage's first grade, by id.
    """

    writer: Chat
    grader: Chat
    retriever: RetrieverLike
    k: int
    budget: NodeBudget = field(default_factory=unlimited)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    found: list[Passage] = field(default_factory=list)
    relevant: dict[str, bool] = field(default_factory=dict)

    async def search(self, query: str) -> list[Passage]:
        """Return at most ``k`` passages for ``query``, best first."""
        found = [as_passage(document) for document in (await self.retriever.ainvoke(query, k=self.k))[: self.k]]
        self.found = found if not self.queries else self.found
        self.queries.append(query)
        self.note("search", query=query, passages=[passage["text"] for passage in found])
        return found

    async def filter(self, passages: Sequence[Passage], grade: Callable[[Passage], Awaitable[bool]]) -> list[Passage]:
        """Return the passages whose grade is a yes, graded one after another."""
        grades = [await grade(passage) for passage in passages]
        for passage, relevant in zip(passages, grades, strict=True):
            self.relevant.setdefault(passage["id"], relevant)
        self.note("grade", relevant=grades)
        return [passage for passage, relevant in zip(passages, grades, strict=True) if relevant]

    async def draft(self, question: str, passages: Sequence[Passage]) -> str:
        """Answer from the passages, by the prompt of plain retrieve-and-generate."""
        inputs = {"question": as_data(question), "passages": delimited(passages)}
        text = await self._ask(self.writer, PLAIN, DRAFT_TOKENS, inputs)
        self.note("generate", text=text)
        return text

    async def closed_book(self, question: str) -> str:
        """Answer without documents, by our own prompt for it."""
        text = await self._ask(self.writer, DIRECT_GENERATE, DIRECT_TOKENS, {"question": as_data(question)})
        self.note("closed_book", text=text)
        return text

    async def rephrase(self, prompt: ChatPromptTemplate, question: str) -> str:
        """Return another question for the same thing; the same one if the model writes none."""
        text = await self._ask(self.writer, prompt, QUERY_TOKENS, {"question": as_data(question)})
        return " ".join(text.split()) or question

    async def word(self, prompt: ChatPromptTemplate, **inputs: str) -> str:
        """Return the grader's short reply, casefolded, without the punctuation around it."""
        text = await self._ask(self.grader, prompt, WORD_TOKENS, inputs)
        return text.casefold().strip(" \n\t\"'`*.:,!()[]<>")

    async def says_yes(self, prompt: ChatPromptTemplate, **inputs: str) -> bool:
        """Whether the grader's structured reply is a yes; False if it cannot be parsed."""
        text = await self._ask(self.grader, prompt, STRUCTURED_TOKENS, inputs, {"response_format": GRADE})
        try:
            reply = json.loads(text)
        except (ValueError, RecursionError):
            return False
        return isinstance(reply, dict) and str(reply.get("binary_score")).strip().casefold() == "yes"

    def graded(self) -> list[Seen]:
        """Return what the first search found, with the grades."""
        grades = ((passage, self.relevant.get(passage["id"])) for passage in self.found)
        return [seen_of(passage, None if grade is None else float(grade), grade) for passage, grade in grades]

    def note(self, node: str, **what: Any) -> None:
        """Add to the trace."""
        self.decisions.append({"node": node, **what})

    async def _ask(
        self,
        chat: Chat,
        prompt: ChatPromptTemplate,
        tokens: int,
        inputs: Mapping[str, str],
        bind: Mapping[str, Any] | None = None,
    ) -> str:
        messages = prompt.format_messages(**inputs)
        reply: AIMessage = await chat.ask(messages, self.budget, max_tokens=tokens, tags=["nostream"], bind=bind)
        return text_of(reply)


@dataclass(frozen=True)
class Reached:
    """Where a peer ended. ``support`` in 0..1 is its verdict on the whole answer, None where it gave none."""

    answer: str
    stop_reason: str
    confidence: float = 1.0
    support: float | None = None
    usefulness: float | None = None
    route: Literal["retrieve", "direct"] = "retrieve"
    decided: bool = False
    flag: str = ""


@dataclass
class Peer:
    """A `System` that answers in its own ``way`` with the models, the search and the ``k`` of ours."""

    name: str
    way: Callable[[str, Talk], Awaitable[Reached]]
    services: Services
    k: int
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        """Make the fingerprint from the peers' code."""
        self.fingerprint = fingerprint(self.name, {"k": self.k}, CODE)

    async def ask(self, example: Example) -> Record:
        """Answer one question. Raises `ModelError` when the model fails after its retries."""
        writer, grader = self.services.generator, cast("Critic", self.services.critic)
        talk = Talk(writer.chat, grader.chat, self.services.retriever, self.k)
        began = time.perf_counter()
        reached = await self.way(example.question, talk)
        answered = bool(reached.answer) and not declines(reached.answer)
        return Record(
            system=self.name,
            example=example.id,
            question=example.question,
            route=reached.route,
            route_score=float(reached.route == "retrieve") if reached.decided else None,
            outcome="answered" if answered else "abstained",
            stop_reason="declined" if reached.answer and not answered else reached.stop_reason,
            answer=reached.answer + reached.flag if answered else "",
            confidence=reached.confidence if answered else 0.0,
            queries=talk.queries,
            seen=talk.graded(),
            said=[_claim_record(reached.answer, reached.support)] if answered and reached.support is not None else [],
            citations=[],
            usefulness=reached.usefulness,
            cost=Cost(**talk.budget.spent, seconds=time.perf_counter() - began),
            decisions=talk.decisions,
            error=None,
        )


def _claim_record(answer: str, support: float) -> ClaimRecord:
    label = {1.0: "fully supported", 0.0: "no support"}.get(support, "partially supported")
    return ClaimRecord(text=answer, label=label, score=support, quote=None)
