"""``ask``: run the graph over one question and show it."""

import argparse
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING

from pydantic import ValidationError

from app.drawing.picture import SUFFIXES
from app.front_door import SelfRAG
from app.options import as_text, require_docs, require_output
from app.results.events import DraftToken, Event, Finished, NodeFinished, NodeStarted
from app.settings import OF_A_QUESTION, load_settings
from app.terminal.screen import Screen
from app.terminal.show import show, show_costs
from app.terminal.trace import Trace
from core.errors import ModelError, RequestError
from retrieval.filters import Filter
from run.context import Context, Thresholds, Weights
from run.initial_state import require_question

if TYPE_CHECKING:  # a single question needs no database
    from app.conversations.answering import NotKept

# The option that sets each threshold; "verified" is for a claim that is checked by itself.
THRESHOLDS = {
    "retrieve": "retrieve_threshold",
    "relevant": "relevance_threshold",
    "supported": "support_threshold",
    "verified": "support_threshold",
}


def ask(options: argparse.Namespace) -> int:
    """Answer a question and return exit code 0. Raises `ModelError` if the model failed before there was an answer."""
    screen = Screen(quiet=options.quiet or options.json)
    question = as_text(" ".join(options.question))
    check_options(question, options)
    finished = answer(question, options, screen)
    if options.json:
        screen.json(finished.result.model_dump(mode="json"))
    else:
        show_answer(finished, options, screen)
    if options.picture:
        finished.result.picture().save(options.picture)
        screen.line(f"drawn into {options.picture}")
    require_model(finished)
    return 0


def answer(question: str, options: argparse.Namespace, screen: Screen) -> Finished:
    """Open the documents and ask, showing each node as it ends."""
    settings, context = load_settings(), context_from_options(options)
    with SelfRAG.open(*options.docs or (), settings=settings, context=context, screen=screen) as rag:
        return traced(rag.stream(question, tokens=shows_drafts(rag, options, screen)), rag, screen)


def show_answer(finished: Finished, options: argparse.Namespace, screen: Screen) -> None:
    """Show the answer with its evidence and, with ``--costs``, what each phase cost."""
    show(finished.state, screen)
    if options.costs:
        show_costs(finished.result, screen)


def require_model(finished: Finished) -> None:
    """Raise `ModelError` if the model failed before there was an answer."""
    state = finished.state
    if state["outcome"] == "stopped" and state["stop_reason"] == "model_failed":
        raise ModelError(state["stops"][0]["failure"] or "The model failed.")


def check_options(question: str, options: argparse.Namespace) -> None:
    """Raise `RequestError` for a question or option that is wrong, before any model is loaded."""
    require_question(question)
    require_docs(options.docs)
    if options.picture:
        require_output(options.picture, *SUFFIXES)


def context_from_options(options: argparse.Namespace) -> Context | None:
    """Return a context of the options that were given, or None if none was. Raises `RequestError` for a wrong value."""
    named = {name: getattr(options, name) for name in OF_A_QUESTION}
    given = {name: value for name, value in named.items() if value is not None}
    if options.weights:
        given["weights"] = Weights(**dict(zip(("relevance", "support", "usefulness"), options.weights, strict=True)))
    thresholds = {name: value for name, option in THRESHOLDS.items() if (value := getattr(options, option)) is not None}
    if thresholds:
        given["thresholds"] = Thresholds(**thresholds)
    if options.explain:
        given["explain"] = True
    if within := filter_of(options):
        given["filter"] = within
    try:
        return Context(**given) if given else None
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]).replace("_", "-")
        raise RequestError(f"--{option} is {first['input']}: {first['msg']}.") from None


def filter_of(options: argparse.Namespace) -> Filter | None:
    """Return the filter that the options describe, or None. Raises `RequestError` if --since is after --until."""
    if options.since and options.until and options.since > options.until:
        raise RequestError(f"--since {options.since} is after --until {options.until}: swap them, or leave one out.")
    sources = tuple(options.source or ())
    return Filter(sources=sources, pages=options.page, since=options.since, until=options.until) or None


def shows_drafts(rag: SelfRAG, options: argparse.Namespace, screen: Screen) -> bool:
    """True if drafts are to be streamed: on a terminal, without ``--no-stream``, and if no two are written at once."""
    return screen.live and not options.no_stream and rag.context.strategy == "combined"


def traced(events: "Generator[Event | NotKept, None, None]", rag: SelfRAG, screen: Screen) -> Finished:
    """Show each node as it ends and drafts as they are written, and return how the question ended."""
    with Trace(screen, rag.context.filter, explain=rag.context.explain) as trace, closing(events):
        for event in events:
            if isinstance(event, Finished):
                finished = event
            elif isinstance(event, NodeStarted | DraftToken | NodeFinished):
                trace.show(event)
            else:
                screen.note(event.message)
    return finished
