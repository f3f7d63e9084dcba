"""``ask``: run the graph over one question and show it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, cast

from app.options import require_docs
from app.screen import Screen
from app.settings import Settings, load_settings
from core.errors import ModelError, RequestError

if TYPE_CHECKING:
    from graph.compiled import SelfRAGGraph
    from graph.context import Context
    from graph.state import SelfRAGState
    from retrieval.filters import Filter

# The options that beat a setting.
OVERRIDES = {
    "mode": "selfrag_mode",
    "strategy": "selfrag_strategy",
    "k": "selfrag_k",
    "fallback": "selfrag_fallback",
    "retrieve_threshold": "selfrag_threshold_retrieve",
    "relevance_threshold": "selfrag_threshold_relevant",
    "support_threshold": "selfrag_threshold_supported",
    "weights": "selfrag_weights",
    "constraints": "selfrag_constraints",
}


def ask(options: argparse.Namespace) -> int:
    """Answer; exit code 0 for every outcome but a model that failed before there was any."""
    screen = Screen(quiet=options.quiet or options.json)
    # Bytes of the command line that are no text come as surrogates, which nothing can be written with.
    question = " ".join(options.question).encode("utf-8", "replace").decode().strip()
    settings = overridden(load_settings(), options)
    check(question, options)
    state = answer(question, settings, options, screen)
    from app.result import result_of

    if options.json:
        from core.text import as_json

        readable = (sys.stdout.encoding or "").lower().startswith("utf")
        print(as_json(result_of(state), ensure_ascii=not readable, indent=2), flush=True)
    else:
        from app.show import show

        show(state, screen)
    if state["outcome"] == "stopped" and state["stop_reason"] == "model_failed":
        raise ModelError(state["stops"][0]["failure"] or "The model failed.")
    return 0


def check(question: str, options: argparse.Namespace) -> None:
    """Refuse at once what cannot be answered, before any model is loaded."""
    from graph.node_wrapper import require_question

    require_question(question)
    require_docs(options.docs)


def overridden(settings: Settings, options: argparse.Namespace) -> Settings:
    """The settings with the options that were given."""
    given = {
        setting: getattr(options, option)
        for option, setting in OVERRIDES.items()
        if getattr(options, option, None) is not None
    }
    if not 1 <= given.get("selfrag_k", 1) <= 50:
        raise RequestError(f"--k is {given['selfrag_k']}: choose from 1 to 50.")
    return settings.model_copy(update=given)


def filter_of(options: argparse.Namespace) -> Filter | None:
    """The filter that the options name, if they do."""
    from retrieval.filters import Filter

    if options.since and options.until and options.since > options.until:
        raise RequestError(f"--since {options.since} is after --until {options.until}: swap them, or leave one out.")
    sources = tuple(options.source or ())
    return Filter(sources=sources, pages=options.page, since=options.since, until=options.until) or None


def answer(question: str, settings: Settings, options: argparse.Namespace, screen: Screen) -> SelfRAGState:
    """Bring the documents in step, load the models, and run the graph, tracing it as it goes."""
    from app.compose import context_of, services_of
    from app.libraries import library_to_ask
    from graph.builder import build_graph

    within = filter_of(options)
    with library_to_ask(options.docs, settings, screen, within) as library:
        with screen.downloads() as progress:
            services = services_of(settings, library.store.as_retriever(), progress)
        context = context_of(settings, explain=options.explain, within=within)
        graph = build_graph(services, tracing=settings.selfrag_tracing == "langsmith")
        return asyncio.run(_run(question, graph, context, screen))


async def _run(question: str, graph: SelfRAGGraph, context: Context, screen: Screen) -> SelfRAGState:
    from app.show import Trace

    final: SelfRAGState | None = None
    with Trace(screen, context.filter) as trace:
        stream = graph.astream({"question": question}, context=context, stream_mode=["updates", "values"])
        async for mode, chunk in stream:
            if mode == "values":
                final = cast("SelfRAGState", chunk)
            else:
                for node, update in cast("dict[str, SelfRAGState]", chunk).items():
                    trace.step(node, update)
    if final is None:
        raise RuntimeError("the graph ended without a state")
    return final
