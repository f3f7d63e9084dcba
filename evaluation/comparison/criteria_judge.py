"""Ask the chat model to compare two answers on the criteria, in both orders; every reply is saved."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from evaluation.comparison.criteria import COMPARE, CRITERIA, MAX_TOKENS, fields_of, label_of, reference_text
from evaluation.judging.judge import passages_of, shown
from evaluation.judging.saved_replies import Replies, model_name
from evaluation.records import Example, Record
from nodes.concurrency import gather_bounded
from prompts.delimiters import as_data, numbered
from run.context import GeneratorLike

TIE = "tie"
IDENTICAL, DISAGREED, UNREADABLE, FAILED = "identical", "orders_disagree", "unreadable", "failed"
NAMED = re.compile(r"\b(?:the )?(first|second) answer\b", re.IGNORECASE)


@dataclass(frozen=True)
class Opinion:
    """What the model said when the answer of the system ``first`` stood first.

    ``preferred`` and the values of ``criteria`` are names of systems or ``tie``, None where the reply names none.
    ``failure`` is the error of a call that failed or was refused.
    """

    first: str
    preferred: str | None
    criteria: Mapping[str, str | None] = field(default_factory=dict)
    reason: str = ""
    failure: str | None = None


@dataclass(frozen=True)
class Judged:
    """Both opinions on one pair of answers; none if the answers are identical, which is not asked about."""

    opinions: tuple[Opinion, ...]

    @property
    def preference(self) -> str:
        """Return the system that both orders prefer, or ``tie``, or why there is no preference."""
        if not self.opinions:
            return IDENTICAL
        if any(one.failure for one in self.opinions):
            return FAILED
        said = [one.preferred for one in self.opinions]
        return UNREADABLE if None in said else _agreed(said)

    @property
    def failure(self) -> str | None:
        return next((one.failure for one in self.opinions if one.failure), None)

    @property
    def reasons(self) -> list[str]:
        """Return the reasons, each once, where both orders agree on the preference."""
        if self.preference in (IDENTICAL, DISAGREED, UNREADABLE, FAILED):
            return []
        return list(dict.fromkeys(one.reason for one in self.opinions if one.reason))

    def criterion(self, name: str) -> str | None:
        """Return what both orders say on one criterion, ``orders_disagree``, or None if one of them says nothing."""
        said = [one.criteria.get(name) for one in self.opinions]
        return None if not said or None in said else _agreed(said)


def _agreed(said: Sequence[str | None]) -> str:
    return str(said[0]) if len(set(said)) == 1 else DISAGREED


@dataclass(frozen=True)
class CriteriaJudge:
    """Compares pairs of answers with a model that writes."""

    generator: GeneratorLike
    replies: Replies
    concurrency: int = 1

    @property
    def name(self) -> str:
        return model_name(self.generator)

    async def compare_all(
        self, pairs: Sequence[tuple[Example, Record, Record]], progress: Callable[[int, int], None] | None = None
    ) -> list[Judged]:
        """Compare each pair. Raises `ModelError` if the server cannot be reached or refuses the key."""
        return await gather_bounded((partial(self.compare, *pair) for pair in pairs), self.concurrency, progress)

    async def compare(self, example: Example, one: Record, other: Record) -> Judged:
        """Compare two answers in both orders; identical ones without a call."""
        if shown(one) == shown(other):
            return Judged(())
        return Judged((await self._opinion(example, one, other), await self._opinion(example, other, one)))

    async def _opinion(self, example: Example, first: Record, second: Record) -> Opinion:
        systems = {"first": first["system"], "second": second["system"], TIE: TIE}
        # The passages in one order, whichever answer stands first: both calls share the prefix.
        passages = passages_of(*sorted((first, second), key=lambda record: record["system"]))
        reference = as_data(" / ".join(example.references)) if example.references else None
        about = {"kind": "criteria", "example": example.id, "first": first["system"], "second": second["system"]}
        text, failure = await self.replies.get_or_write(
            self.generator,
            COMPARE,
            about,
            MAX_TOKENS,
            passages=numbered(passages),
            question=as_data(example.question),
            reference=reference_text(reference),
            first=as_data(shown(first)),
            second=as_data(shown(second)),
        )
        said = fields_of(text)

        def named(field_: str) -> str | None:
            label = label_of(said.get(field_))
            return systems[label] if label else None

        return Opinion(
            first=first["system"],
            preferred=named("preferred"),
            criteria={name: named(name) for name in CRITERIA},
            reason=NAMED.sub(lambda match: f"the answer of {systems[match[1].lower()]}", said.get("reason", "")),
            failure=failure,
        )
