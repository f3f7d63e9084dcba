"""Check a claim against the documents (a stand-in: the real module comes with `SelfRAG.averify`)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from core.types import Citation


class VerifiedClaim(BaseModel):
    """A claim, its verdict, and the quotes that decide it."""

    model_config = ConfigDict(frozen=True)

    text: str
    label: Literal["fully supported", "partially supported", "no support", "contradicted", "no claim"]
    probabilities: dict[str, float] | None
    reason: str | None
    citations: list[Citation]
