"""The graph of Self-RAG: its nodes and its edges."""

from dataclasses import replace
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from graph import edges
from graph.compiled import SelfRAGGraph
from graph.node_wrapper import WrappedNode
from nodes.answer_check import answer_check
from nodes.compare_answers import compare_answers
from nodes.contextualize import contextualize
from nodes.decide import decide
from nodes.direct_generate import direct_generate
from nodes.finish import finish
from nodes.generate import generate
from nodes.grade_documents import grade_documents
from nodes.hallucination_check import hallucination_check
from nodes.query_table import query_table
from nodes.retrieve import retrieve
from nodes.rewrite_query import rewrite_query
from nodes.select import select
from retrieval.adapter import adapted
from run.context import MOST_STEPS, Context, Services
from run.state import GraphInput, SelfRAGState

__all__ = ["SelfRAGGraph", "build_graph"]


def build_graph(
    services: Services,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    *,
    tracing: bool = False,
    telemetry: bool = False,
) -> SelfRAGGraph:
    """Compile the graph over ``services``. Without ``tracing`` nothing is ever sent to LangSmith.

    With ``telemetry`` each question, node and model call is a span of OpenTelemetry.

    The input is ``{"question": str}``, with ``conversation`` and ``given_standalone`` if the question follows others.
    The context is a `Context`. ``invoke``, ``ainvoke``, ``stream`` and ``astream`` take both. LangGraph's recursion
    limit is set above the number of steps that any `Limits` allow.
    """
    services = replace(services, retriever=adapted(services.retriever))
    graph = StateGraph(SelfRAGState, context_schema=Context, input_schema=GraphInput)
    for node in (contextualize, decide, retrieve, query_table, grade_documents, rewrite_query, generate):
        graph.add_node(node.__name__, WrappedNode(node, services))
    for node in (hallucination_check, answer_check, direct_generate, select, compare_answers, finish):
        graph.add_node(node.__name__, WrappedNode(node, services))

    # LangGraph reads where an edge may lead from its return type, unless that is a list.
    # A follow-up is completed first; any other question begins with `decide`.
    graph.add_conditional_edges(START, edges.before_decide)
    graph.add_edge("contextualize", "decide")
    graph.add_conditional_edges("decide", edges.after_decide)

    # Search until something is relevant: the re-query loop.
    graph.add_conditional_edges("retrieve", edges.after_retrieve)
    graph.add_conditional_edges("query_table", edges.after_query_table)
    graph.add_conditional_edges("grade_documents", edges.after_grade_documents)
    graph.add_conditional_edges("rewrite_query", edges.after_rewrite_query)

    # Draft, run both checks concurrently, keep the best draft, and redraft what failed: the regenerate loop. A direct
    # answer that fails leads to the search after all.
    graph.add_conditional_edges("generate", edges.after_generate, ["hallucination_check", "answer_check", "select"])
    graph.add_edge("hallucination_check", "select")
    graph.add_edge("answer_check", "select")
    graph.add_conditional_edges("select", edges.after_select)

    # Show what other documents answer.
    graph.add_edge("compare_answers", "finish")

    graph.add_edge("direct_generate", "answer_check")
    graph.add_edge("finish", END)
    compiled = SelfRAGGraph(
        tracing=tracing, telemetry=telemetry, **vars(graph.compile(checkpointer=checkpointer, name="self-rag"))
    )
    return compiled.with_config(recursion_limit=MOST_STEPS)
