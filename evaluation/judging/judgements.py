"""A judge model's judgements of the answers, as the metrics read them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Pair:
    """Two systems' answers to one example, compared in both orders.

    ``one`` and ``other`` are names of systems. ``first_says`` is the system preferred when the answer of ``one`` came
    first, ``second_says`` when that of ``other`` did; None is a tie or no verdict. ``verdict`` is the name that both
    orders agree on, None if they do not.
    """

    example: str
    one: str
    other: str
    first_says: str | None
    second_says: str | None
    verdict: str | None


@dataclass(frozen=True)
class Judgements:
    """Judgements by (system, example id); an absent key, or None, was not judged.

    ``faithfulness`` in 0..1 is the share of an answer's claims that follow from the passages that the system read;
    ``relevancy`` in -1..1 is RAGAS' answer relevancy. ``agreement`` in 0..1 is the share of the judge's verdicts that
    agree with the labels; None without labels.
    """

    faithfulness: dict[tuple[str, str], float | None] = field(default_factory=dict)
    relevancy: dict[tuple[str, str], float | None] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    agreement: float | None = None
