"""``library``: copy, back up and restore a library and its threads, and export labels."""

import argparse
import json
import os
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path

from langchain_core.embeddings import FakeEmbeddings

from app.conversations.feedback import examples_of
from app.conversations.opening import open_feedback, open_threads
from app.libraries import home_of, machine_of, store_uploads
from app.options import require_writable_file, unwritable_file, write_file
from app.server.audit import Entry, verify_log
from app.settings import Settings, load_settings
from app.terminal.screen import Screen
from core.errors import RequestError
from core.text import as_json, shown_path
from retrieval.library.backup import Backup, write_backup
from retrieval.library.copying import Copied, CopySource, copy_library
from retrieval.library.library import names_database, open_store
from retrieval.searching_store import Store
from retrieval.store import Model
from retrieval.sync_report import Progress


def library(options: argparse.Namespace) -> int:
    """Run the subcommand."""
    actions = {"export-labels": export_labels, "copy": copy, "backup": backup, "restore": restore, "audit": audit}
    actions[options.action](options, load_settings(), Screen(quiet=options.quiet))
    return 0


def audit(options: argparse.Namespace, _: Settings, screen: Screen) -> None:
    """Print the selected entries of an audit log. Raises `RequestError` if any entry was changed or is missing."""
    since = options.since.isoformat() if options.since else ""

    def show_entry(entry: Entry) -> None:
        if entry["at"] >= since and options.who in (None, entry["who"]):
            screen.text(as_json(entry))

    chain = verify_log(options.file, show_entry)
    screen.note(f"{chain.entries:,} entries, each follows the one before; the last has the SHA-256 {chain.last or '–'}")


def export_labels(options: argparse.Namespace, settings: Settings, screen: Screen) -> None:
    """Write the labels of all owners as JSONL. Raises `RequestError` where there are none."""
    require_writable_file(options.file)
    shared = names_database(settings.selfrag_store)
    with closing(open_threads(settings, expire=False)) if shared else nullcontext() as threads:
        rows = examples_of(open_feedback(settings, threads).labels())
    if not rows:
        raise RequestError("There is no feedback yet: judge answers in the page, in a chat, or over the server's API.")
    write_file(options.file, "".join(f"{as_json(row)}\n" for row in rows).encode("utf-8", "replace"))
    screen.result(f"Labels written into {shown_path(options.file)}: {len(rows):,}")


def copy(options: argparse.Namespace, settings: Settings, screen: Screen) -> None:
    """Copy a library from one store to another. Raises `RequestError` where there is nothing to copy."""
    homes = [home_of(url, settings) for url in (options.source, options.target)]
    if options.source == options.target or (homes[0] and homes[1] and homes[0].resolve() == homes[1].resolve()):
        raise RequestError("FROM and TO are the same store: name two.")
    with (
        opened_filled(options.source, options.library, settings) as source,
        writer_lock(source),
        open_without_model(options.target, options.library, settings, source.made().embedding) as target,
        screen.working("copying", "documents") as progress,
    ):
        copied, moved = copy_all(source, target, settings, progress)
        threads = copy_threads(options.source, options.target, settings)
    report_copied(copied, moved, "copied", screen)
    if threads:
        screen.result(f"{threads:,} threads copied.")


def copy_threads(source: str, target: str, settings: Settings) -> int:
    """Copy the threads to the target's store of threads; return how many are new there."""
    if not names_database(source) and not names_database(target):
        return 0  # both are kept in one folder
    with (
        closing(open_threads(settings, source, expire=False)) as here,
        closing(open_threads(settings, target, expire=False)) as there,
    ):
        return sum([there.restore(one) for one in here.exported()])


def backup(options: argparse.Namespace, settings: Settings, screen: Screen) -> None:
    """Save a library, and the threads, in one file. Raises `RequestError` where there is nothing to save."""
    require_writable_file(options.file)
    with (
        opened_filled(settings.selfrag_store, options.library, settings) as source,
        closing(open_threads(settings, expire=False)) as threads,
    ):
        kept = [json.dumps(one) for one in threads.exported()]
        try:
            with writer_lock(source), screen.working("copying", "documents") as progress:
                documents = write_backup(source, options.file, kept, progress)
        except OSError as error:
            raise unwritable_file(options.file, error) from error
    screen.result(f"Saved in {shown_path(options.file)}: {documents:,} documents, {len(kept):,} threads.")


def restore(options: argparse.Namespace, settings: Settings, screen: Screen) -> None:
    """Put back what a backup holds; threads and documents that exist already stay as they are."""
    with Backup(options.file) as saved:
        with (
            open_without_model(settings.selfrag_store, options.library, settings, saved.made().embedding) as target,
            screen.working("copying", "documents") as progress,
        ):
            copied, moved = copy_all(saved, target, settings, progress)
        with closing(open_threads(settings, expire=False)) as threads:
            try:
                new = sum([threads.restore(one) for one in saved.extra()])
            except (ValueError, KeyError, TypeError) as error:
                raise RequestError(
                    f"The threads in {shown_path(options.file)} are damaged: name another backup."
                ) from error
    report_copied(copied, moved, "restored", screen)
    screen.result(f"{new:,} threads restored.")


def copy_all(source: CopySource, target: Store, settings: Settings, progress: Progress) -> tuple[Copied, set[Path]]:
    """Copy a library; return what was copied, and the files that became uploads in the target's database.

    Files in the server's upload folders become uploads; as ordinary documents they would be visible to every owner.
    """
    uploads = target.uploads
    folders = [one.resolve() for one in settings.uploads_folders] if uploads else []
    roots = [one for one in folders if os.fsencode(one) in source.roots().kinds]
    copied = copy_library(source, target, progress, without=[os.fsencode(root) for root in roots])
    return copied, {path for root in roots if uploads for path in store_uploads(uploads, root)}


def report_copied(copied: Copied, moved: Collection[Path], what: str, screen: Screen) -> None:
    """Report the documents, uploads and files that this machine lacks; ``what`` is the verb: copied or restored."""
    there = f"{copied.new:,} documents {what}, {copied.known:,} were there"
    screen.result(f"{there}; their {copied.passages:,} passages are the same.")
    left_out = set(copied.left_out) - set(moved)
    if moved:
        screen.note(f"{len(moved):,} uploads were stored in the database: index, or the server, reads them.")
    if left_out:
        screen.note(
            f"{len(left_out):,} uploads were left out: only a library in PostgreSQL takes them, with their bytes; "
            "send them to the server again."
        )
    for path in copied.missing:
        screen.note(f"{shown_path(path)} is not on this machine: index will remove it, unless it is put there.")


@contextmanager
def opened_filled(url: str, name: str, settings: Settings) -> Iterator[Store]:
    """Open a library to read it. Raises `RequestError` if the library does not exist, or nothing is in it."""
    home = home_of(url, settings)
    if home is None or (home / name).exists():  # opening would create it
        with open_without_model(url, name, settings) as store:
            roots = store.roots()
            if roots.kinds or roots.elsewhere or (store.uploads and store.uploads.stored()):
                yield store
                return
    raise RequestError(f"There is nothing in the library {name!r} there: look at the store's address and the name.")


def open_without_model(
    url: str, name: str, settings: Settings, model: str | None = None
) -> AbstractContextManager[Store]:
    """Open the store of a library without its embedding model: nothing is embedded."""
    unused = Model(FakeEmbeddings(size=1), model or "")
    return closing(open_store(url, name, unused, home=home_of(url, settings), machine=machine_of(settings)))


def writer_lock(store: Store) -> AbstractContextManager[None]:
    """Return a context that keeps other processes from writing to the store; it does nothing on a read-only store."""
    return store.only_writer() if store.writable else nullcontext()
