"""Write another query for the same question."""

import re
from typing import Any

from langgraph.runtime import Runtime

from core.passages import characters_of, stated_by
from core.text import first_line, shortened
from core.types import UNKNOWN
from grounding.reasons import missing_words, sentence_for
from nodes.concurrency import off_loop
from nodes.subjects import description_of, subject_of
from prompts.delimiters import as_data
from prompts.rewrite_query import MAX_TOKENS, REWRITE_QUERY
from run.context import Context, Services
from run.state import SelfRAGState, standalone_question

LONGEST_QUERY = 300
LONGEST_KNOWN = 250  # characters of a sentence that is known
MOST_KNOWN = 3  # sentences
MOST_MISSING = 6  # words
LABEL = re.compile(r"^(?:new |search |rewritten |other )*query\s*:\s*", re.IGNORECASE)


async def rewrite_query(state: SelfRAGState, services: Services, runtime: Runtime[Context]) -> dict[str, Any]:
    """Add a query that was not tried yet; if there is none, no rewrites are left.

    If the question describes its subject, and a passage names the subject, the query is the question with the name in
    place of the description; the run goes on with this question. Else the model writes a query from what is known and
    what is missing; with ``rewriting`` "names" it writes none.
    """
    tried, question = state["queries"], standalone_question(state)
    if state.get("describes"):
        span = await description_of(question, services)
        if span and (subject := await subject_of(question, span, services, runtime.context)):
            # This search is the last. Earlier passages are dropped, except those that could not be judged.
            update = _new_query(state, subject["question"], runtime.context)
            update["decided"] |= {key: subject[key] for key in ("description", "name", "verdict")}
            verdicts = {name: one for name, one in state["verdicts"].items() if one["label"] == UNKNOWN}
            update |= {"describes": None, "rewrites_left": 0, "drafted": [], "verdicts": verdicts, "relevant": []}
            return {**update, "subject": subject}
        relevant = [] if span else state["relevant"]  # what does not name its subject hardly answers the question
        if not state["drafted"] and (span or relevant or not state["rewrites_left"]):
            decided = {"query": None} | ({"description": question[slice(*span)]} if span else {})
            return {"describes": None, "relevant": relevant, "decided": decided}
    query = await written_query(state, services) if runtime.context.rewriting != "names" else ""
    if not query or cleaned(query).casefold() in {cleaned(one).casefold() for one in tried}:
        return {"rewrites_left": 0, "decided": {"query": None}}
    return _new_query(state, query, runtime.context)


def _new_query(state: SelfRAGState, query: str, context: Context) -> dict[str, Any]:
    return {
        "queries": [*state["queries"], query],
        "rewrites_left": state["rewrites_left"] - 1,
        "drafts_left": context.effective_limits.drafts,
        "drafts": [],
        "decided": {"query": query},
    }


async def written_query(state: SelfRAGState, services: Services) -> str:
    """Let the model write a query."""
    known = await off_loop(characters_of(state["passages"]), known_so_far, state)
    written = await services.generator.write(
        REWRITE_QUERY,
        max_tokens=MAX_TOKENS,
        hidden=True,
        question=as_data(standalone_question(state)),
        tried="\n".join(f"- {as_data(query)}" for query in state["queries"]),
        known=known,
    )
    return cleaned(written)


def known_so_far(state: SelfRAGState) -> str:
    """Return prompt lines: what relevant passages say, and the question's words they lack; "" if they say nothing."""
    question = standalone_question(state)
    known = [one for one in state["passages"] if one["id"] in state["relevant"]][:MOST_KNOWN]
    lines = [sentence_for(question, passage) for passage in known]
    if not any(lines):
        return ""
    missing = ", ".join(missing_words(question, list(map(stated_by, known)))[:MOST_MISSING])
    said = "".join(f"\n- {as_data(shortened(line, LONGEST_KNOWN))}" for line in lines if line)
    return f"\nKnown:{said}\nMissing: {as_data(missing) or 'the answer itself'}"


def cleaned(written: str) -> str:
    """Return the first line of a written query, without its label, cut to ``LONGEST_QUERY`` characters."""
    return first_line(written, LABEL)[:LONGEST_QUERY]
