"""What one question holds while it is under way: its budget, its verdicts, and the search begun ahead."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, cast

from langchain_core.documents import Document

from graph.context import Chooses, Context, Searches, SearchesWithin, Services
from graph.state import SelfRAGState
from models.usage import Meter, Tab, no_usage
from prompts.choice import UNKNOWN, Choice, Verdict
from retrieval.filters import Filter

MOST_RUNS = 4096
Key = tuple[str, ...]


class Verdicts:
    """The verdicts of one question. What was asked once is not asked again, also not while the first is under way."""

    def __init__(self) -> None:
        self._given: dict[Key, Verdict] = {}
        self._turns: defaultdict[Key, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, critic: Chooses, choice: Choice, inputs: dict[str, Any]) -> Verdict:
        """The verdict as given before, or the critic's. One that failed is no verdict: the next asks anew."""
        key = (choice.name, *(f"{name}={inputs[name]}" for name in sorted(inputs)))
        async with self._turns[key]:
            verdict = self._given.get(key) or await critic.choose(choice, **inputs)
            if verdict["label"] != UNKNOWN:
                self._given[key] = verdict
            return verdict


@dataclass(frozen=True)
class Recalling:
    """A critic that asks its model nothing twice within one question."""

    critic: Chooses
    verdicts: Verdicts

    def metered(self, tab: Tab) -> Recalling:
        """The same critic, paying from ``tab``."""
        return replace(self, critic=self.critic.metered(tab))

    async def choose(self, choice: Choice, *, explain: bool = False, **inputs: Any) -> Verdict:
        """As the critic's; ``explain`` is asked each time."""
        verdict = await self.verdicts.of(self.critic, choice, inputs)
        return await self.explain(choice, verdict, **inputs) if explain else verdict

    async def explain(self, choice: Choice, verdict: Verdict, **inputs: Any) -> Verdict:
        """As the critic's."""
        return await self.critic.explain(choice, verdict, **inputs)


class Ahead:
    """A retriever whose search may begin before it is known to be needed."""

    def __init__(self, retriever: Searches) -> None:
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
            return await cast("SearchesWithin", self._retriever).ainvoke(query, k=k, filter=within)
        return await self._retriever.ainvoke(query, k=k)

    def drop(self) -> None:
        """End what was begun and is not needed."""
        while self._begun:
            self._begun.popitem()[1].cancel()


@dataclass
class Run:
    """One question under way."""

    meter: Meter
    search: Ahead
    verdicts: Verdicts = field(default_factory=Verdicts)

    def services(self, services: Services, tab: Tab) -> Services:
        """The services as a node of this question has them, paying from ``tab``."""
        metered = services.metered(tab)
        return replace(metered, critic=Recalling(metered.critic, self.verdicts), retriever=self.search)


class Runs:
    """The questions under way. One that is not here, as after a restart, is taken up from its state."""

    def __init__(self, services: Services) -> None:
        self._retriever = services.retriever
        self._runs: dict[str, Run] = {}
        self._lock = Lock()

    def of(self, state: SelfRAGState, context: Context) -> Run:
        """The run that ``state`` belongs to; its nodes that run side by side share it."""
        with self._lock:
            run = self._runs.get(state["run"])
            if run is None:
                while len(self._runs) >= MOST_RUNS:
                    del self._runs[next(iter(self._runs))]
                run = self._runs[state["run"]] = Run(meter_of(state, context), Ahead(self._retriever))
            run.meter.know_of(state.get("usage") or no_usage())
            return run

    def close(self, state: SelfRAGState) -> None:
        """Forget a question that is finished."""
        with self._lock:
            run = self._runs.pop(state["run"], None)
        if run is not None:
            run.search.drop()


def meter_of(state: SelfRAGState, context: Context) -> Meter:
    """The budget that is left, by what the state says was spent: seconds are those of its finished nodes."""
    limits = context.bounds
    meter = Meter(
        calls=limits.model_calls,
        tokens=limits.tokens,
        seconds=limits.seconds,
        spent=state.get("usage") or no_usage(),
    )
    meter.began -= sum(step["seconds"] for step in state.get("path") or [])
    return meter
