"""Ask the critic nothing twice within one question."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.prompts import ChatPromptTemplate

from core.types import UNKNOWN, Verdict
from models.usage import NodeBudget
from prompts.choice import Choice
from prompts.explain import EXPLAIN
from run.context import CriticLike

Key = tuple[str, ...]


class VerdictCache:
    """The verdicts of one question, by prompt and inputs. A second request for one under way awaits the first."""

    def __init__(self) -> None:
        self._verdicts: dict[Key, Verdict] = {}
        self._locks: defaultdict[Key, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, critic: CriticLike, choice: Choice, inputs: dict[str, Any]) -> Verdict:
        """Return the cached verdict, or ask the critic. ``unknown`` is not cached: the next request asks again."""
        key = (choice.name, *(f"{name}={inputs[name]}" for name in sorted(inputs)))
        async with self._locks[key]:
            verdict = self._verdicts.get(key) or await critic.choose(choice, **inputs)
            if verdict["label"] != UNKNOWN:
                self._verdicts[key] = verdict
            return verdict


@dataclass(frozen=True)
class CachedCritic:
    """A critic whose verdicts are cached for one question."""

    critic: CriticLike
    verdicts: VerdictCache

    def with_budget(self, budget: NodeBudget) -> CachedCritic:
        """Return the same critic, whose calls are charged to ``budget``."""
        return replace(self, critic=self.critic.with_budget(budget))

    async def choose(self, choice: Choice, *, explain: bool = False, **inputs: Any) -> Verdict:
        """As the critic's; the reason is not cached."""
        verdict = await self.verdicts.of(self.critic, choice, inputs)
        return await self.explain(choice, verdict, **inputs) if explain else verdict

    async def explain(
        self, choice: Choice, verdict: Verdict, *, prompt: ChatPromptTemplate = EXPLAIN, **inputs: Any
    ) -> Verdict:
        """As the critic's."""
        return await self.critic.explain(choice, verdict, prompt=prompt, **inputs)
