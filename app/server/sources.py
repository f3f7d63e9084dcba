"""Where a quote stands: in its passage with what is around it, and on the page of a PDF."""

from __future__ import annotations

from typing import Any

from core.passages import section_of
from core.text import location
from core.types import Citation


def source_of(citation: Citation) -> dict[str, Any]:
    """Return a citation's quote in its passage; ``before`` and ``after`` are the passage's own text around it."""
    passage, start, end = citation["passage"], citation["start"], citation["end"]
    return {
        "kind": "text",
        "before": passage[:start],
        "quote": passage[start:end],
        "after": passage[end:],
        "section": section_of(citation),
        "place": location(citation["source"], citation["page"], citation["row"]),
        "source": citation["source"],
        "page": citation["page"],
        "row": citation["row"],
        "date": citation.get("date"),
    }
