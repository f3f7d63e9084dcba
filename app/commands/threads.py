"""``threads``: list, show, rename, export and delete the threads that are kept."""

import argparse
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from app.conversations.opening import open_threads
from app.conversations.tables import ThreadTables
from app.conversations.thread import Thread, ThreadTurn
from app.export import exported_thread
from app.options import as_text, require_suffix, write_file
from app.settings import load_settings
from app.terminal.screen import Screen
from app.terminal.show import show_citations
from core.errors import RequestError
from core.text import shortened, shown_path

FORMS = {".md": "markdown", ".json": "json", ".html": "html"}
LONGEST_SHOWN = 300  # characters of an answer that is shown in brief
CORRECTED = (" ({})", "corrected", "dim")
Line = Callable[..., None]


def threads(options: argparse.Namespace) -> int:
    """Run the subcommand."""
    screen, settings = Screen(quiet=options.quiet), load_settings()
    with closing(open_threads(settings)) as kept:
        if options.action in (None, "list"):
            found = kept.list()
            if options.json:
                screen.json({"threads": [one.model_dump(mode="json") for one in found]})
            else:
                show_threads(found, screen.result)
            return 0
        thread = find_thread(kept, options.id)
        match options.action:
            case "show" if options.json:
                turns = [one.model_dump(mode="json") for one in kept.turns(thread.id)]
                screen.json(thread.model_dump(mode="json") | {"turns": turns})
            case "show":
                screen.result(("{}", thread.title, "bold"))
                show_turns(kept.turns(thread.id), screen.result)
            case "rename":
                renamed = kept.rename(thread.id, as_text(" ".join(options.name)))
                screen.result(f"renamed: {renamed.title}")
            case "export":
                export_thread(kept, thread, options.file)
                screen.result(f"written into {shown_path(options.file)}")
            case "delete":
                kept.delete(thread.id)
                screen.result(f"deleted: {thread.title}")
    return 0


def find_thread(kept: ThreadTables, word: str) -> Thread:
    """Return the thread whose id begins with ``word``. Raises `RequestError` unless there is exactly one."""
    found = [one for one in kept.list() if word.strip() and one.id.startswith(word.strip())]
    if len(found) == 1:
        return found[0]
    if found:
        raise RequestError(f"{len(found)} threads have an id that begins with {word}: write more of it.")
    raise RequestError(f"There is no thread {shortened(word, 40)!r}: python -m app threads lists them.")


def show_threads(found: Sequence[Thread], line: Line, *, numbered: bool = False) -> None:
    """Show a line for each thread, with its number in the list if ``numbered``."""
    if not found:
        line("No thread is kept yet.")
    for number, one in enumerate(found, 1):
        questions = f"{one.turns} question{'' if one.turns == 1 else 's'}"
        line(
            ("{:>3}  ", number if numbered else "", ""),
            ("{}  ", one.id, "cyan"),
            ("{}  ", f"{one.updated.astimezone():%Y-%m-%d %H:%M}", "dim"),
            ("{:14}", questions, "dim"),
            ("{}", one.title, "bold"),
        )


def show_turns(turns: Sequence[ThreadTurn], line: Line, *, brief: bool = False) -> None:
    """Show each question, its answer and, unless ``brief``, its quotes. Of a corrected turn show only the question."""
    for turn in turns:
        line(("{}. ", turn.number, "cyan"), ("{}", turn.question, "bold"), CORRECTED if turn.replaced else "")
        if turn.replaced:
            continue
        if turn.result is None:
            line(("   {}", turn.message or turn.state, "yellow"))
            continue
        if turn.result.standalone != turn.question:
            line(("   understood as: {}", turn.result.standalone, "dim"))
        if brief:
            line(("   {}", shortened(turn.numbered, LONGEST_SHOWN), ""))
            continue
        for written in turn.numbered.splitlines():
            line(("   {}", written, ""))
        show_citations(turn.result.citations, line)


def export_thread(kept: ThreadTables, thread: Thread, path: Path) -> None:
    """Write a thread with its evidence into a new file, whose suffix gives the format. Raises `RequestError`."""
    require_suffix(path, *FORMS)
    text = exported_thread(kept.get(thread.id), kept.turns(thread.id), FORMS[path.suffix.lower()])
    write_file(path, text.encode("utf-8", "replace"), new=True)
