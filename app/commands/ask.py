"""``ask``: run the graph over one question and show it."""

import argparse
import asyncio

from app.drawing.picture import SUFFIXES
from app.front_door import SelfRAG
from app.options import as_text, require_docs, require_output
from app.results.events import Finished
from app.settings import OF_A_QUESTION, Settings, bounds_of, load_settings
from app.terminal.screen import Screen
from app.terminal.show import show, show_costs
from app.terminal.trace import Trace
from core.errors import ModelError, RequestError
from retrieval.filters import Filter
from run.context import Context
from run.initial_state import require_question

THRESHOLDS = {"retrieve": "retrieve_threshold", "relevant": "relevance_threshold", "supported": "support_threshold"}
# The options that beat a setting.
OVERRIDES = {name: f"selfrag_{name}" for name in ("weights", *OF_A_QUESTION)} | {
    option: f"selfrag_threshold_{name}" for name, option in THRESHOLDS.items()
}
BOUNDED = ("k", "temperature", "answer_tokens")  # the bounds are those of the settings


def ask(options: argparse.Namespace) -> int:
    """Answer a question and return exit code 0. Raises `ModelError` if the model failed before there was an answer."""
    screen = Screen(quiet=options.quiet or options.json)
    question = as_text(" ".join(options.question))
    settings = overridden(load_settings(), options)
    check(question, options)
    finished = answer(question, settings, options, screen)
    if options.json:
        screen.json(finished.result.model_dump(mode="json"))
    else:
        show_answer(finished, options, screen)
    if options.picture:
        finished.result.picture().save(options.picture)
        screen.line(f"drawn into {options.picture}")
    require_model(finished)
    return 0


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


def check(question: str, options: argparse.Namespace) -> None:
    """Raise `RequestError` for a question or option that is wrong, before any model is loaded."""
    require_question(question)
    require_docs(options.docs)
    if options.picture:
        require_output(options.picture, *SUFFIXES)


def overridden(settings: Settings, options: argparse.Namespace) -> Settings:
    """Return the settings, with the options that were given in place of theirs."""
    given = {
        setting: getattr(options, option)
        for option, setting in OVERRIDES.items()
        if getattr(options, option, None) is not None
    }
    for option in BOUNDED:
        least, most = bounds_of(OVERRIDES[option])
        if not least <= given.get(OVERRIDES[option], least) <= most:
            value = given[OVERRIDES[option]]
            raise RequestError(f"--{option.replace('_', '-')} is {value}: choose from {least} to {most}.")
    return settings.model_copy(update=given)


def filter_of(options: argparse.Namespace) -> Filter | None:
    """Return the filter that the options describe; None if they describe none."""
    if options.since and options.until and options.since > options.until:
        raise RequestError(f"--since {options.since} is after --until {options.until}: swap them, or leave one out.")
    sources = tuple(options.source or ())
    return Filter(sources=sources, pages=options.page, since=options.since, until=options.until) or None


def answer(question: str, settings: Settings, options: argparse.Namespace, screen: Screen) -> Finished:
    """Open the documents and ask."""
    return asyncio.run(_traced(question, open_documents(settings, options, screen), options, screen))


def open_documents(settings: Settings, options: argparse.Namespace, screen: Screen) -> SelfRAG:
    """Open the documents, index what changed, and load the models."""
    context = Context(explain=options.explain, filter=filter_of(options))
    return SelfRAG.open(*options.docs or (), settings=settings, context=context, screen=screen)


def shows_drafts(rag: SelfRAG, options: argparse.Namespace, screen: Screen) -> bool:
    """Return whether to stream drafts: not where several are written at once, which would mix on the screen."""
    return screen.live and not options.no_stream and rag.context.strategy == "combined"


async def _traced(question: str, rag: SelfRAG, options: argparse.Namespace, screen: Screen) -> Finished:
    """Ask, and show each node as it ends and drafts as they are written."""
    async with rag:
        with Trace(screen, rag.context.filter, explain=rag.context.explain) as trace:
            async for event in rag.astream(question, tokens=shows_drafts(rag, options, screen)):
                if isinstance(event, Finished):
                    return event
                trace.show(event)
    raise RuntimeError("the graph ended without a result")
