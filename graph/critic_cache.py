"""Ask the critic nothing twice within one question."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.prompts import ChatPromptTemplate

from core.types import UNKNOWN, Verdict
from graph.context import CriticLike
from models.usage import NodeBudget
from prompts.choice import Choice
from prompts.explain import EXPLAIN

Key = tuple[str, ...]


class VerdictCache:
    """The verdicts of one question, by prompt and inputs. A second request for one under way awaits the first."""

    def __init__(self) -> None:
        self._verdicts: dict[Key, Verdict] = {}
        self._locks: defaultdict[Key, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def of(self, critic: CriticLike, choice: Choice, inputs: dict[str, Any]) -> Verdict:
        """Return the cached verdict, or ask the critic. ``unknown`` is not cached: the next request asks again."""
        key = _key(choice, inputs)
        async with self._locks[key]:
            verdict = self._verdicts.get(key) or await critic.choose(choice, **inputs)
            if verdict["label"] != UNKNOWN:
                self._verdicts[key] = verdict
            return verdict

    async def of_all(self, critic: CriticLike, choice: Choice, many: Sequence[Mapping[str, Any]]) -> dict[int, Verdict]:
        """Return by position the cached verdicts, and what the critic says of the others together."""
        keys = [_key(choice, inputs) for inputs in many]
        new = [number for number, key in enumerate(keys) if key not in self._verdicts]
        found = await critic.choose_together(choice, [many[number] for number in new])
        self._verdicts |= {keys[new[at]]: verdict for at, verdict in found.items()}
        return {number: self._verdicts[key] for number, key in enumerate(keys) if key in self._verdicts}


def _key(choice: Choice, inputs: Mapping[str, Any]) -> Key:
    return (choice.name, *(f"{name}={inputs[name]}" for name in sorted(inputs)))


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

    async def choose_together(self, choice: Choice, many: Sequence[Mapping[str, Any]]) -> dict[int, Verdict]:
        """As the critic's, with what is cached."""
        return await self.verdicts.of_all(self.critic, choice, many)

    async def explain(
        self, choice: Choice, verdict: Verdict, *, prompt: ChatPromptTemplate = EXPLAIN, **inputs: Any
    ) -> Verdict:
        """As the critic's."""
        return await self.critic.explain(choice, verdict, prompt=prompt, **inputs)
