"""Write another query for the same question."""

from __future__ import annotations

import re
from typing import Any

from langgraph.runtime import Runtime

from graph.context import Context, Services
from graph.state import SelfRAGState
from prompts.delimiters import as_data
from prompts.rewrite_query import MAX_TOKENS, REWRITE_QUERY

LONGEST_QUERY = 300


async def rewrite_query(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Add a query that was not tried yet; if the model finds none, no rewrites are left."""
    tried = state["queries"]
    written = await services.generator.write(
        REWRITE_QUERY,
        max_tokens=MAX_TOKENS,
        hidden=True,
        question=as_data(state["question"]),
        tried="\n".join(f"- {as_data(query)}" for query in tried),
    )
    query = cleaned(written)
    if not query or query.casefold() in {cleaned(one).casefold() for one in tried}:
        return {"rewrites_left": 0, "decided": {"query": None}}
    return {
        "queries": [*tried, query],
        "rewrites_left": state["rewrites_left"] - 1,
        "drafts_left": runtime.context.effective_limits.drafts,
        "drafts": [],
        "decided": {"query": query},
    }


def cleaned(written: str) -> str:
    """Return the first line without a label, a bullet or quotation marks."""
    line = next((line.strip() for line in written.splitlines() if line.strip()), "")
    line = re.sub(r"^(?:[-*•]|\d+[.)])\s+", "", line)
    line = re.sub(r"^(?:new |search |rewritten |other )*query\s*:\s*", "", line, flags=re.IGNORECASE)
    return " ".join(line.strip("\"'`“”‘’ ").split())[:LONGEST_QUERY]
