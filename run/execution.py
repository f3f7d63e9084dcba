"""One execution of the graph: the question's budget, its caches, and its running nodes."""

import asyncio
from collections import defaultdict
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from langchain_core.prompts import ChatPromptTemplate
from opentelemetry.trace import Span

from core.background import background_loop, in_background
from core.types import UNKNOWN, Verdict, no_usage
from models.telemetry import recording
from models.usage import Budget, NodeBudget
from prompts.choice import Choice
from prompts.explain import EXPLAIN
from run.context import Context, CriticLike, RetrieverLike, Services
from run.prefetch import PrefetchingRetriever
from run.state import SelfRAGState

T = TypeVar("T")
Key = tuple[str, ...]


@dataclass(frozen=True)
class CachedCritic:
    """A critic whose verdicts are cached for one question, by prompt and inputs.

    A second request for a verdict under way awaits the first. ``unknown`` is not cached: the next request asks again.
    """

    critic: CriticLike
    verdicts: dict[Key, Verdict]
    locks: defaultdict[Key, asyncio.Lock]

    def with_budget(self, budget: NodeBudget) -> Self:
        return replace(self, critic=self.critic.with_budget(budget))

    async def choose(self, choice: Choice, **inputs: Any) -> Verdict:
        key = (choice.name, *(f"{name}={inputs[name]}" for name in sorted(inputs)))
        async with self.locks[key]:
            verdict = self.verdicts.get(key) or await self.critic.choose(choice, **inputs)
            if verdict["label"] != UNKNOWN:
                self.verdicts[key] = verdict
            return verdict

    async def explain(
        self, choice: Choice, verdict: Verdict, *, prompt: ChatPromptTemplate = EXPLAIN, **inputs: Any
    ) -> Verdict:
        return await self.critic.explain(choice, verdict, prompt=prompt, **inputs)


@dataclass
class SharedResources:
    """What the nodes of one question share."""

    budget: Budget
    retriever: PrefetchingRetriever
    verdicts: dict[Key, Verdict] = field(default_factory=dict)
    locks: defaultdict[Key, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    def services_for(self, services: Services, budget: NodeBudget) -> Services:
        """Return the services for one node of this question, whose calls are charged to ``budget``."""
        charged = services.with_budget(budget)
        critic = CachedCritic(charged.critic, self.verdicts, self.locks)
        return replace(charged, critic=critic, retriever=self.retriever)


class Execution:
    """One call of ``invoke``, ``stream`` or the like: what its nodes share, and which of them are running."""

    def __init__(self, span: Span | None = None) -> None:
        """Record nodes and model calls as children of ``span``, if there is one; the span ends with the execution."""
        self.shared: SharedResources | None = None
        self._span = span
        self._nodes: set[Future[Any]] = set()
        self._cancelled = False

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this the execution of all nodes that are called within."""
        token = _current.set(self)
        try:
            with recording(self._span):
                yield
        finally:
            _current.reset(token)

    def shared_by_nodes(self, state: SelfRAGState, context: Context, retriever: RetrieverLike) -> SharedResources:
        """Return what the question's nodes share. The first call creates it from the state, perhaps a checkpoint's."""
        if self.shared is None:
            self.shared = SharedResources(budget_of(state, context), PrefetchingRetriever(retriever))
        self.shared.budget.adopt_checkpointed_usage(state.get("usage") or no_usage())
        return self.shared

    def wait_for(self, node: Coroutine[Any, Any, T]) -> T:
        """Run a node on the background loop and return its update. Raises `CancelledError` after `cancel`."""
        return in_background(node, self._started)

    def cancel(self) -> None:
        """Cancel the nodes that are running on the background loop; from any thread."""
        self._cancelled = True
        for future in list(self._nodes):
            future.cancel()
        background_loop().call_soon_threadsafe(self.close)

    def close(self) -> None:
        """Cancel an unused prefetch, release what nodes share and end the span; call it on the event loop of the nodes.

        Otherwise it stays in memory: a pooled connection keeps the context in which it was opened, and so this object.
        """
        run, self.shared = self.shared, None
        if run:
            run.retriever.cancel()
        if self._span:
            self._span.end()

    def _started(self, future: Future[Any]) -> None:
        self._nodes.add(future)
        future.add_done_callback(self._nodes.discard)
        if self._cancelled:
            future.cancel()


_current: ContextVar[Execution] = ContextVar("selfrag_execution")


def current_execution() -> Execution:
    """Return the execution of the calling node; a new one for a node that is called outside the graph."""
    return _current.get(None) or Execution()


def budget_of(state: SelfRAGState, context: Context) -> Budget:
    """Return the question's budget, less the time that the state says its finished nodes took."""
    limits = context.effective_limits
    budget = Budget(calls=limits.model_calls, tokens=limits.tokens, seconds=limits.seconds)
    budget.began -= sum(step["seconds"] for step in state.get("path") or [])
    return budget
