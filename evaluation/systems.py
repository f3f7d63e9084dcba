"""The systems that Self-RAG is compared with, and the surroundings of each: the models and the documents."""

import asyncio
import time
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

from core.fingerprint import fingerprint
from core.types import Passage
from evaluation.records import ClaimRecord, Cost, Example, Record, System, seen_of
from grounding.claims import split_claims
from grounding.refusals import declines
from models.tracing import tracing
from models.usage import Budget, LimitReachedError, NodeBudget
from nodes.found_passages import as_passage
from prompts.delimiters import as_data, delimited
from prompts.direct_generate import DIRECT_GENERATE
from prompts.direct_generate import MAX_TOKENS as DIRECT_TOKENS
from prompts.generate import MAX_TOKENS as DRAFT_TOKENS
from prompts.generate import PLAIN
from run.context import Context, Services

S = TypeVar("S", bound=System)
WRITER = (
    *("models/chat.py", "models/connect.py", "models/embedded.py", "models/generator.py"),
    *("grounding/claims.py", "grounding/sentences.py", "prompts/delimiters.py", "core/text.py"),
    "evaluation/systems.py",
)
PLAIN_CODE = (*WRITER, "prompts/generate.py", "nodes/retrieve.py", "models/embeddings.py", "retrieval")
CLOSED_BOOK = (*WRITER, "prompts/direct_generate.py")


@dataclass
class OneDraft:
    """A system that writes one draft with our prompt, and decides and checks nothing. With ``k`` 0 it does not search.

    Its confidence is the geometric mean of its tokens' probabilities, 1 where the model gives none.
    """

    name: str
    fingerprint: str
    services: Services
    context: Context
    k: int = 0

    async def ask(self, example: Example) -> Record:
        """Answer one question. Raises `ModelError` when the model fails after its retries."""
        began = time.perf_counter()
        limits = self.context.effective_limits
        budget = NodeBudget(Budget(calls=limits.model_calls, tokens=limits.tokens, seconds=limits.seconds))
        passages: list[Passage] = []
        draft, sure, stop = "", None, None
        try:
            async with asyncio.timeout(limits.seconds):
                if self.k:
                    with tracing():
                        found = await self.services.retriever.ainvoke(example.question, k=self.k)
                    passages = [as_passage(document) for document in found[: self.k]]
                prompt, most_tokens = (PLAIN, DRAFT_TOKENS) if self.k else (DIRECT_GENERATE, DIRECT_TOKENS)
                read: dict[str, Any] = {"passages": delimited(passages)} if self.k else {}
                draft, sure = await self.services.with_budget(budget).generator.write_scored(
                    prompt,
                    max_tokens=self.context.answer_tokens or most_tokens,
                    temperature=self.context.temperature,
                    question=as_data(example.question),
                    **read,
                )
        except LimitReachedError as reached:
            stop = str(reached.reason)
        except TimeoutError:
            stop = "limit_seconds"
        cost = Cost(**budget.spent, seconds=time.perf_counter() - began)
        return self._record(example, passages, draft, 1.0 if sure is None else sure, stop, cost)

    def _record(
        self, example: Example, passages: list[Passage], draft: str, sure: float, stop: str | None, cost: Cost
    ) -> Record:
        answered = bool(draft) and not declines(draft)
        return Record(
            system=self.name,
            example=example.id,
            question=example.question,
            route="retrieve" if self.k else "direct",
            route_score=None,
            outcome="answered" if answered else "stopped" if stop else "abstained",
            stop_reason=stop or (None if answered else "declined"),
            answer=draft if answered else "",
            confidence=sure if answered else 0.0,
            queries=[example.question] if self.k else [],
            seen=[seen_of(passage) for passage in passages],
            said=[ClaimRecord(text=claim, label=None, score=None, quote=None) for claim in split_claims(draft)]
            if answered
            else [],
            citations=[],
            usefulness=None,
            cost=cost,
            decisions=[{"node": "generate", "text": draft, **({"stop": stop} if stop else {})}],
            error=None,
        )


def plain(services: Services, context: Context, name: str = "plain") -> OneDraft:
    """Return the system that searches once, puts all passages into one prompt, and answers."""
    context = services.completed(context)
    settings = {"k": context.k, **_settings_of(context)}
    return OneDraft(name, fingerprint(name, settings, PLAIN_CODE), services, context, context.k)


def closed_book(services: Services, context: Context, name: str = "closed-book") -> OneDraft:
    """Return the system that answers from the model's own knowledge."""
    context = services.completed(context)
    return OneDraft(name, fingerprint(name, _settings_of(context), CLOSED_BOOK), services, context)


def _settings_of(context: Context) -> dict[str, Any]:
    """Return the settings that a draft depends on; unset ones are left out, so that older fingerprints still match."""
    drafts = {"temperature": context.temperature, "answer_tokens": context.answer_tokens}
    limits = context.effective_limits.model_dump(mode="json")
    return {"limits": limits, **{name: value for name, value in drafts.items() if value is not None}}


def with_surroundings(system: S, surroundings: Mapping[str, Any]) -> S:
    """Return the system with its fingerprint extended by ``surroundings``: the models' names, the documents."""
    changed = copy(system)
    changed.fingerprint = fingerprint(system.fingerprint, surroundings, ())
    return changed
