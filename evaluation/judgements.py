"""A judge model's judgements of the answers, as the metrics read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Ending = Literal["decided", "tie", "contradiction", "identical", "failed"]


@dataclass(frozen=True)
class Pair:
    """Two systems' answers to one example, compared in both orders.

    ``one`` and ``other`` are names of systems. ``first_says`` is the system preferred when the answer of ``one`` came
    first, ``second_says`` when that of ``other`` did; None is a tie or no verdict. ``verdict`` is the name that both
    orders agree on, None if they do not. ``identical`` answers were not compared; ``failed`` if the judge gave no
    verdict in one of the orders.
    """

    example: str
    one: str
    other: str
    first_says: str | None
    second_says: str | None
    verdict: str | None
    identical: bool = False
    failed: bool = False

    @property
    def ending(self) -> Ending:
        """Return what the comparison came to; a contradiction is a verdict that changed with the order."""
        if self.identical or self.failed:
            return "identical" if self.identical else "failed"
        return "decided" if self.verdict else "tie" if self.first_says == self.second_says else "contradiction"


@dataclass(frozen=True)
class Judgements:
    """Judgements by (system, example id); an absent key, or None, was not judged.

    ``faithfulness`` in 0..1 is the share of an answer's claims that follow from the passages that the system read;
    ``relevancy`` in -1..1 is RAGAS' answer relevancy. ``useful`` says of each passage read, in its order, whether it
    helps to arrive at the reference, and ``recall`` in 0..1 is the share of the reference's claims that follow from
    these passages. ``agreement`` in 0..1 is the share of the judge's verdicts that agree with the labels; None without
    labels. Of ``asked`` questions the judge gave no verdict on ``unanswered``, for the ``reason`` that it gave last.
    """

    faithfulness: dict[tuple[str, str], float | None] = field(default_factory=dict)
    relevancy: dict[tuple[str, str], float | None] = field(default_factory=dict)
    useful: dict[tuple[str, str], list[bool] | None] = field(default_factory=dict)
    recall: dict[tuple[str, str], float | None] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    agreement: float | None = None
    asked: int = 0
    unanswered: int = 0
    reason: str | None = None
