"""``index``: add to the library, sync it with the disk, verify it, list it."""

import argparse
import shlex
from collections.abc import Sequence

from app.libraries import open_own
from app.settings import load_settings
from app.terminal.inventory import check_summary, inventory_rows, left_out_lines, sync_summary
from app.terminal.progress import print_table
from app.terminal.screen import Screen, print_error
from core.errors import RequestError
from core.text import one_line, shown_path
from retrieval.filters import excluded_by
from retrieval.library.library import Library
from retrieval.store import LARGEST_SENT
from retrieval.sync_report import Source


def index(options: argparse.Namespace) -> int:
    """Change, sync, verify or list the library as the options say; return exit code 2 if damage is left, else 0."""
    screen = Screen(quiet=options.quiet)
    code = 0
    if options.follow_links is not None and not options.paths:
        raise RequestError("--follow-links holds for the folders that are named with it: name them.")
    with open_own(load_settings(), screen) as library:
        if options.include:
            library.include(options.include)
        for path in options.remove or ():
            library.remove(path)
        if options.paths:
            library.add(options.paths, follow_links=options.follow_links)
        if options.exclude:
            exclude(library, options.exclude, screen)
        if options.no_wait:
            enqueue(library, screen)
        elif options.paths or options.include or not (options.list or options.verify):
            sources = sync_and_report(library, screen)
            if options.paths or not (options.remove or options.exclude):
                library.require_passages()
            passages = sum(source.passages for source in sources)
            screen.result(f"The library holds {len(sources)} documents, {passages:,} passages.")
        if options.verify:
            code = verify_library(library, screen)
        if options.list:
            listing(library, screen)
    return code


def exclude(library: Library, words: Sequence[str], screen: Screen) -> None:
    """Exclude what matches the patterns; say how many documents left the library, and which pattern matches nothing."""
    removed = library.exclude(words)
    skipped = {one.reason for one in library.skipped()}
    for pattern_, documents in removed.items():
        if documents:
            screen.note(f"{documents:,} documents left the library, {excluded_by(pattern_)}.")
        elif excluded_by(pattern_) not in skipped:
            screen.note(f"nothing in the library fits {shlex.quote(pattern_)} now; what comes and fits is excluded.")


def sync_and_report(library: Library, screen: Screen) -> list[Source]:
    """Sync the library, report each document that could not be indexed, and return all documents."""
    try:
        with screen.working("indexing", "files") as progress:
            report = library.sync(progress)
    except KeyboardInterrupt:
        if library.store.queue and (waiting := library.store.queue.waiting()):
            screen.note(f"{waiting:,} files wait to be read: a worker, or index again, goes on with them.")
        raise
    for note in report.notes:
        screen.note(note)
    sources = library.sources()
    screen.remark(sync_summary(report, sources))
    for line in left_out_lines(sources, report.skipped):
        screen.remark(line, indent="  ")
    return sources


def enqueue(library: Library, screen: Screen) -> None:
    """Queue the changed files for workers, and report how many files wait."""
    waiting, kept = library.enqueue()
    screen.result(f"{waiting:,} files wait to be read by a worker.")
    if kept:
        screen.note(
            f"{kept:,} of them are larger than {LARGEST_SENT // 1_000_000} MB or cannot be read, and wait for a worker "
            "on this machine, or for index without --no-wait."
        )


def verify_library(library: Library, screen: Screen) -> int:
    """Check the whole index, repair what can be, and report it; return exit code 2 if damage is left, else 0."""
    with screen.working("checking", "") as progress:
        report = library.verify(progress)
    for sentence in report.repairs:
        screen.result(sentence)
    screen.result(check_summary(report))
    for problem in report.problems:
        print_error(problem)
    return RequestError.exit_code if report.problems else 0


def listing(library: Library, screen: Screen) -> None:
    """Print every document and skipped file with its status, the excluded patterns, and other machines' folders."""
    sources, skipped, elsewhere = library.sources(), library.skipped(), library.roots_elsewhere()
    if sources or skipped:
        print_table(inventory_rows(sources, skipped), screen)
    elif not elsewhere:
        screen.note("the library is empty; add to it: python -m app index PATH")
    for path, machine in elsewhere.items():
        screen.note(f"{shown_path(path)} belongs to the machine {one_line(machine)}, which reads it.")
    for pattern_ in sorted(library.excluded()):
        quoted = shlex.quote(pattern_)
        screen.note(f"{quoted} is excluded; take it back: python -m app index --include {quoted}")
