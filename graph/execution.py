"""What one question holds while it is under way: its budget, its verdicts, and the search begun ahead."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from langchain_core.documents import Document

from core.background import background_loop, in_background
from core.types import UNKNOWN, Verdict, no_usage
from graph.context import Context, CriticLike, FilteringRetriever, RetrieverLike, Services
from graph.state import SelfRAGState
from models.usage import Budget, NodeBudget
from prompts.choice import Choice
from retrieval.filters import Filter

Key = tuple[str, ...]
T = TypeVar("T")


class VerdictCache:
    """The verdicts of one question. What was asked once is not asked again, also not while the first is under way."""

    def __init__(self) -> None:
        self._given: dict[Key, Verdict] = {}
        self._turns: defaultdict[Key, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, critic: CriticLike, choice: Choice, inputs: dict[str, Any]) -> Verdict:
        """The verdict as given before, or the critic's. One that failed is no verdict: the next asks anew."""
        key = (choice.name, *(f"{name}={inputs[name]}" for name in sorted(inputs)))
        async with self._turns[key]:
            verdict = self._given.get(key) or await critic.choose(choice, **inputs)
            if verdict["label"] != UNKNOWN:
                self._given[key] = verdict
            return verdict


@dataclass(frozen=True)
class CachedCritic:
    """A critic that asks its model nothing twice within one question."""

    critic: CriticLike
    verdicts: VerdictCache

    def with_budget(self, budget: NodeBudget) -> CachedCritic:
        """The same critic, paying from ``budget``."""
        return replace(self, critic=self.critic.with_budget(budget))

    async def choose(self, choice: Choice, *, explain: bool = False, **inputs: Any) -> Verdict:
        """As the critic's; ``explain`` is asked each time."""
        verdict = await self.verdicts.of(self.critic, choice, inputs)
        return await self.explain(choice, verdict, **inputs) if explain else verdict

    async def explain(self, choice: Choice, verdict: Verdict, **inputs: Any) -> Verdict:
        """As the critic's."""
        return await self.critic.explain(choice, verdict, **inputs)


class PrefetchingRetriever:
    """A retriever whose search may begin before it is known to be needed."""

    def __init__(self, retriever: RetrieverLike) -> None:
        self._retriever = retriever
        self._begun: dict[tuple[str, int, Filter | None], asyncio.Task[Sequence[Document]]] = {}

    def begin(self, query: str, k: int, within: Filter | None = None) -> None:
        """Search meanwhile; `ainvoke` with the same query and filter then awaits what comes of it."""
        task = asyncio.ensure_future(self.search(query, k, within))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, if nobody asks for it
        self._begun[query, k, within or None] = task

    async def ainvoke(self, input: str, *, k: int, filter: Filter | None = None) -> Sequence[Document]:  # noqa: A002
        """As the retriever's."""
        task = self._begun.pop((input, k, filter or None), None)
        if task is None or task.get_loop() is not asyncio.get_running_loop():
            return await self.search(input, k, filter)
        return await task

    async def search(self, query: str, k: int, within: Filter | None = None) -> Sequence[Document]:
        """Ask the retriever, which need not know filters where none is set."""
        if within:
            return await cast("FilteringRetriever", self._retriever).ainvoke(query, k=k, filter=within)
        return await self._retriever.ainvoke(query, k=k)

    def drop(self) -> None:
        """End what was begun and is not needed."""
        while self._begun:
            self._begun.popitem()[1].cancel()


@dataclass
class Run:
    """One question under way."""

    total: Budget
    search: PrefetchingRetriever
    verdicts: VerdictCache = field(default_factory=VerdictCache)

    def services(self, services: Services, budget: NodeBudget) -> Services:
        """The services as a node of this question has them, paying from ``budget``."""
        with_budget = services.with_budget(budget)
        return replace(with_budget, critic=CachedCritic(with_budget.critic, self.verdicts), retriever=self.search)


class Execution:
    """One execution of the graph: its question's run, and the nodes that a synchronous caller waits for."""

    def __init__(self) -> None:
        self.run: Run | None = None
        self._nodes: set[Future[Any]] = set()
        self._cancelled = False

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this the execution that the nodes called within belong to."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def run_of(self, state: SelfRAGState, context: Context, retriever: RetrieverLike) -> Run:
        """The run of the question, begun from what its state says: nodes that run side by side share it."""
        if self.run is None:
            self.run = Run(budget_of(state, context), PrefetchingRetriever(retriever))
        self.run.total.adopt_checkpointed_usage(state.get("usage") or no_usage())
        return self.run

    def wait_for(self, node: Coroutine[Any, Any, T]) -> T:
        """Run a node in the background and return what it does. Raises `CancelledError` after `cancel`."""
        return in_background(node, self._begun)

    def cancel(self) -> None:
        """End all that is under way in the background, at once; from any thread."""
        self._cancelled = True
        for future in list(self._nodes):
            future.cancel()
        background_loop().call_soon_threadsafe(self.close)

    def close(self) -> None:
        """Forget the run, and end a search that it began and did not need; on the event loop that runs the nodes.

        A connection that the run opened, and that others use after it, holds on to its context, hence to this object.
        """
        run, self.run = self.run, None
        if run:
            run.search.drop()

    def _begun(self, future: Future[Any]) -> None:
        self._nodes.add(future)
        future.add_done_callback(self._nodes.discard)
        if self._cancelled:
            future.cancel()


_current: ContextVar[Execution] = ContextVar("selfrag_execution")


def current_execution() -> Execution:
    """The execution that the node which asks belongs to; one of its own for a node that is run by itself."""
    return _current.get(None) or Execution()


def budget_of(state: SelfRAGState, context: Context) -> Budget:
    """The budget that is left, by what the state says was spent: seconds are those of its finished nodes."""
    limits = context.effective_limits
    total = Budget(
        calls=limits.model_calls,
        tokens=limits.tokens,
        seconds=limits.seconds,
        spent=state.get("usage") or no_usage(),
    )
    total.began -= sum(step["seconds"] for step in state.get("path") or [])
    return total
