"""Every prompt, by the name of its snapshot."""

from prompts.answer_check import USEFULNESS
from prompts.compare_answers import BRIEF_ANSWER
from prompts.contextualize import CONTEXTUALIZE
from prompts.decide import RETRIEVE
from prompts.described import DESCRIBED
from prompts.direct_generate import DIRECT_GENERATE
from prompts.explain import EXPLAIN
from prompts.generate import (
    CELL,
    COMPARISON,
    GENERATE,
    PLAIN,
    REDRAFT_NOT_USEFUL,
    REDRAFT_UNSUPPORTED,
    SEGMENT,
    SUMMARY,
)
from prompts.grade_documents import RELEVANCE
from prompts.hallucination_check import SUPPORT
from prompts.query_table import FITS, QUERY_TABLE, REQUERY_TABLE
from prompts.rewrite_query import REWRITE_QUERY

PROMPTS = {
    "answer_check": USEFULNESS.messages,
    "compare_answers-brief": BRIEF_ANSWER,
    "contextualize": CONTEXTUALIZE,
    "decide": RETRIEVE.messages,
    "described": DESCRIBED,
    "direct_generate": DIRECT_GENERATE,
    "explain": USEFULNESS.messages + EXPLAIN,
    "generate": GENERATE,
    "generate-cell": CELL,
    "generate-not-useful": REDRAFT_NOT_USEFUL,
    "generate-plain": PLAIN,
    "generate-segment": SEGMENT,
    "generate-summary": SUMMARY,
    "generate-comparison": COMPARISON,
    "generate-unsupported": REDRAFT_UNSUPPORTED,
    "grade_documents": RELEVANCE.messages,
    "hallucination_check": SUPPORT.messages,
    "query_table": QUERY_TABLE,
    "query_table-again": REQUERY_TABLE,
    "query_table-fits": FITS.messages,
    "rewrite_query": REWRITE_QUERY,
}
