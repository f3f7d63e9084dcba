"""Passages, claims and costs for tests of scores and reports."""

from __future__ import annotations

from evaluation.records import Cost, Said, Seen


def seen(text: str, relevance: float | None = None, source: str = "a.md", relevant: bool | None = None) -> Seen:
    judged = relevant if relevant is not None or relevance is None else relevance >= 0.5
    return Seen(text=text, source=source, page=None, row=None, similarity=None, relevance=relevance, relevant=judged)


def said(text: str, score: float | None = None, label: str | None = None, quote: str | None = None) -> Said:
    judged = label if label is not None or score is None else "fully supported" if score >= 0.5 else "no support"
    return Said(text=text, label=judged, score=score, quote=quote)


def cost(seconds: float = 1.0, read: int = 100, cached: int = 40) -> Cost:
    return Cost(
        model_calls=3, input_tokens=read, cached_input_tokens=cached, output_tokens=7, seconds=seconds, estimated=False
    )
