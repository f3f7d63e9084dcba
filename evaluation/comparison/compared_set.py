"""A finished comparison, of one question or of a set: everything that is shown and written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.comparison.comparison import BASELINE, OURS, Comparison, shared
from evaluation.comparison.overall import figures, sections
from evaluation.comparison.overall_prose import Prose


@dataclass(frozen=True)
class ComparedSet:
    """The comparisons in the order of the questions; ``name`` is None for a single question without a set.

    ``judge`` is the name of the chat model that compares.
    """

    name: str | None
    judge: str
    comparisons: Sequence[Comparison]
    prose: Prose | None = None

    def as_json(self) -> dict[str, Any]:
        """Return plain data for ``json.dumps``."""
        overall: dict[str, Any] | None = None
        if self.name is not None:
            overall = {
                "sections": [{"title": one.title, "lines": one.lines} for one in sections(self.comparisons)],
                "figures": [
                    {"name": name, OURS: ours, BASELINE: plain}
                    for name, ours, plain in figures(shared(self.comparisons))
                ],
                "model": {
                    "preference": self.prose.preferred,
                    "text": self.prose.text or None,
                    "left_out": self.prose.left_out,
                    "failure": self.prose.failure,
                }
                if self.prose
                else None,
            }
        return {
            "set": self.name,
            "judge": self.judge,
            "questions": [one.as_json() for one in self.comparisons],
            "overall": overall,
        }
