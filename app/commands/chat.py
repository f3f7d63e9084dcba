"""``chat``: ask questions that follow each other, in a thread that is kept and can be continued."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

from app.commands.ask import THRESHOLDS, filter_of, open_documents, overridden
from app.commands.conversation import Conversation
from app.commands.threads import find_thread
from app.conversations.opening import open_feedback, open_threads
from app.conversations.tables import ThreadTables
from app.conversations.thread import Thread
from app.options import as_text, require_docs
from app.settings import OF_A_QUESTION, Settings, load_settings
from app.terminal.screen import Screen, print_error
from core.errors import RequestError, SelfRAGError
from run.context import Context, Thresholds, Weights

PROMPT, MORE = "> ", "… "
KEPT = (*OF_A_QUESTION, "explain")


def chat(options: argparse.Namespace) -> int:
    """Answer lines until the input ends; return exit code 0. Without a terminal the first error is raised."""
    screen = Screen(quiet=options.quiet or options.json)
    settings = overridden(load_settings(), options)
    require_docs(options.docs)
    with closing(open_threads(settings)) as threads:
        _talk(threads, _named(threads, options), settings, options, screen)
    return 0


def _named(threads: ThreadTables, options: argparse.Namespace) -> Thread | None:
    """Return the thread that the options name, before any model is loaded. Raises `RequestError`."""
    if options.thread is not None:
        return find_thread(threads, options.thread)
    if not options.last:
        return None
    kept = threads.list()
    if not kept:
        raise RequestError("No thread is kept yet: leave --last out to begin one.")
    return kept[0]


def _talk(
    threads: ThreadTables, thread: Thread | None, settings: Settings, options: argparse.Namespace, screen: Screen
) -> None:
    with open_documents(settings, options, screen) as rag:
        feedback = open_feedback(settings, threads)
        conversation = Conversation(rag, threads, feedback, context_of(options), options, screen)
        try:
            if thread:
                attempt(partial(conversation.open, thread), screen)
            for line in lines(screen):
                if not attempt(partial(conversation.say, line), screen):
                    break
        finally:
            if conversation.thread:
                screen.remark(f"go on with: python -m app chat --thread {conversation.thread.id}")


def lines(screen: Screen) -> Iterator[str]:
    """Yield what a person writes, without blank lines, until the end of input or an interrupt on a terminal."""
    while True:
        try:
            line = screen.read_line(PROMPT)
            while line is not None and line.endswith("\\"):
                line = f"{line[:-1]}\n{screen.read_line(MORE) or ''}"
        except KeyboardInterrupt:
            if not screen.reads_terminal:
                raise
            line = None
        if line is None:
            return
        if text := as_text(line):
            yield text


def attempt(do: Callable[[], bool | None], screen: Screen) -> bool:
    """Run a line's action; False if it leaves the chat. On a terminal, show errors and interrupts, not raise them."""
    try:
        return do() is not False
    except SelfRAGError as error:
        if not screen.reads_terminal:
            raise
        print_error(str(error))
    except KeyboardInterrupt:
        if not screen.reads_terminal:
            raise
        screen.note("interrupted: /again asks the question again, /quit leaves.")
    return True


def context_of(options: argparse.Namespace) -> Context | None:
    """Return the options as a context, kept with each question so that a resumed run uses the same; None for none."""
    given = {name: value for name in KEPT if (value := getattr(options, name)) is not None and value is not False}
    if options.weights:
        given["weights"] = Weights(**dict(zip(("relevance", "support", "usefulness"), options.weights, strict=True)))
    thresholds = {name: value for name, option in THRESHOLDS.items() if (value := getattr(options, option)) is not None}
    if thresholds:
        given["thresholds"] = Thresholds(**thresholds)
    if within := filter_of(options):
        given["filter"] = within
    return Context(**given) if given else None
