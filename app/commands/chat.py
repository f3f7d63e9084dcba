"""``chat``: ask questions that follow each other, in a thread that is kept and can be continued."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

from app.commands.ask import context_from_options
from app.commands.conversation import Conversation
from app.commands.threads import find_thread
from app.conversations.opening import open_feedback, open_threads
from app.conversations.tables import ThreadTables
from app.conversations.thread import Thread
from app.front_door import SelfRAG
from app.options import as_text, require_docs
from app.settings import load_settings
from app.terminal.screen import Screen, print_error
from core.errors import RequestError, SelfRAGError

PROMPT, MORE = "> ", "… "


def chat(options: argparse.Namespace) -> int:
    """Answer lines until the input ends, and return 0. A line's error is shown, or raised if stdin is no terminal."""
    screen = Screen(quiet=options.quiet or options.json)
    settings, context = load_settings(), context_from_options(options)
    require_docs(options.docs)
    with closing(open_threads(settings)) as threads:
        thread = _thread_from_options(threads, options)
        with SelfRAG.open(*options.docs or (), settings=settings, context=context, screen=screen) as rag:
            feedback = open_feedback(settings, threads)
            _talk(Conversation(rag, threads, feedback, context, options, screen), thread)
    return 0


def _thread_from_options(threads: ThreadTables, options: argparse.Namespace) -> Thread | None:
    """Return the thread of ``--thread`` or ``--last``; None without these. Raises `RequestError` if it is missing."""
    if options.thread is not None:
        return find_thread(threads, options.thread)
    if not options.last:
        return None
    kept = threads.list()
    if not kept:
        raise RequestError("No thread is kept yet: leave --last out to begin one.")
    return kept[0]


def _talk(conversation: Conversation, thread: Thread | None) -> None:
    screen = conversation.screen
    try:
        if thread:
            attempt(partial(conversation.open, thread), screen)
        for line in typed_lines(screen):
            if not attempt(partial(conversation.say, line), screen):
                break
    finally:
        if conversation.thread:
            screen.remark(f"go on with: python -m app chat --thread {conversation.thread.id}")


def typed_lines(screen: Screen) -> Iterator[str]:
    """Yield each line of stdin that is not blank. On a terminal an interrupt, like the end of input, ends the lines."""
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
    """Run a line's action; return False if it ends the chat. Show errors and interrupts on a terminal, else raise."""
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
