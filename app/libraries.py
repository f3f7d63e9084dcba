"""Open the documents that questions are asked of: named ones, the user's library, or the sample documents."""

import hashlib
import logging
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from app.compose import embeddings_of
from app.settings import Settings
from app.terminal.inventory import MOST_LINES, counts, path_with_reason
from app.terminal.screen import Screen
from core.errors import IndexBusy, RequestError
from core.files import make_private, read_regular
from core.text import shown_path
from retrieval.documents.load import LARGEST, SUFFIXES
from retrieval.filters import Filter
from retrieval.library.library import Library, library_folder, library_name, names_database, open_store
from retrieval.splitter import SplitSettings
from retrieval.store import UPLOADS, WAIT, Machine, Model, Upload, Uploads
from retrieval.sync_report import SyncReport

log = logging.getLogger("selfrag.library")
_INSTALLED = Path(__file__).resolve().with_name("sample")  # what a wheel has in place of a checkout's data/library
SAMPLE = _INSTALLED if _INSTALLED.is_dir() else _INSTALLED.parents[1] / "data" / "library"


def open_library(name: str, settings: Settings, screen: Screen) -> Library:
    """Open or create the library ``name``, with the store, the embedding model and the splitter of the settings."""
    if settings.selfrag_chunk_overlap >= settings.selfrag_chunk_size:
        raise RequestError("SELFRAG_CHUNK_OVERLAP must be less than SELFRAG_CHUNK_SIZE.")
    with screen.downloads() as progress:
        model = Model(*embeddings_of(settings, progress))
    split = SplitSettings(settings.selfrag_chunk_size, settings.selfrag_chunk_overlap)
    return _open(name, settings, model, split)


def _open(name: str, settings: Settings, model: Model, split: SplitSettings) -> Library:
    url = settings.selfrag_store
    home, machine = home_of(url, settings), machine_of(settings)
    return Library(open_store(url, name, model, search=settings.selfrag_search, home=home, machine=machine), split)


def machine_of(settings: Settings) -> Machine:
    """Return this machine's name, and the folders that it shares with other machines."""
    shared = [
        Path(one).expanduser().resolve() for one in (settings.selfrag_shared_folders or "").split(os.pathsep) if one
    ]
    return Machine(settings.selfrag_machine or platform.node() or "this machine", tuple(map(os.fsencode, shared)))


def open_own(settings: Settings, screen: Screen) -> Library:
    """Open the user's own library."""
    return open_library("library", settings, screen)


def library_to_ask(
    docs: Sequence[Path] | None,
    settings: Settings,
    screen: Screen,
    within: Filter | None = None,
    *,
    complete: bool = False,
) -> Library:
    """Open and sync the index of ``docs``; without them the user's library or, if that is empty, the sample.

    Raises `RequestError` if there is nothing to ask, or nothing that fits the filter ``within``. While another process
    writes the index, ``complete`` makes this raise `RequestError`; without it the part indexed so far is asked.
    """
    library = open_docs(docs, settings, screen) if docs else open_own(settings, screen)
    sync(library, screen, complete)  # before the test: a folder may have got its first document, or lost its last
    if not docs and not library.sources():
        library.close()
        library = open_docs([SAMPLE], settings, screen)
        if library.empty:  # it is asked for the first time
            asked = f"your library is empty, so this asks the sample in {shown_path(SAMPLE)}"
            screen.note(f"{asked}; add yours: python -m app index PATH")
        else:
            screen.remark(f"asking the sample in {shown_path(SAMPLE)}")
        sync(library, screen, complete)
    library.require_passages(within)
    return library


def open_docs(docs: Sequence[Path], settings: Settings, screen: Screen) -> Library:
    """Open an index of ``docs`` alone, which is kept apart from the library and used again."""
    library = open_library(library_name(docs), settings, screen)
    library.add(docs)
    return library


def open_served(settings: Settings, screen: Screen, uploads: Path) -> tuple[Library, Library | None]:
    """Open the user's own library with its uploads, and the sample if that library is empty (otherwise None)."""
    library = open_own(settings, screen)
    add_uploads(library, uploads)
    sync(library, screen, complete=False)
    if library.sources():
        return library, None
    screen.note(f"your library is empty, so the sample in {shown_path(SAMPLE)} is asked until you upload a document.")
    sample = _open(library_name([SAMPLE]), settings, library.store.model, library.settings)
    sample.add([SAMPLE])
    sync(sample, screen, complete=False)
    return library, sample


def open_shared(settings: Settings, screen: Screen, uploads: Path) -> Library:
    """Open the index that a server's users share: all uploads, and the user's library or else the sample.

    The index is separate: what others upload never enters the library, which the command line asks.
    """
    library = open_library("shared", settings, screen)
    follow_own(library, settings, uploads)
    add_uploads(library, uploads)
    sync(library, screen, complete=False)
    return library


def follow_own(library: Library, settings: Settings, uploads: Path) -> None:
    """Give a shared library the exclusions and folders of the user's own one, or the sample if that has no folder."""
    with _open("library", settings, library.store.model, library.settings) as own:
        shared, excluded = own.roots() or {SAMPLE.resolve(): False}, own.excluded()
    known = library.roots()
    for path in known.keys() - shared.keys() - {uploads.resolve()}:
        library.remove(path)
    for path, follow_links in shared.items():
        if known.get(path) != follow_links and path.exists():  # one that is not mounted now is kept as it was
            library.add([path], follow_links=follow_links)
    if library.excluded() != excluded:
        with library.store.only_writer():
            library.store.set_excluded(excluded, ())


def add_uploads(library: Library, uploads: Path) -> None:
    """Make the folder of uploads part of the library, if anything was uploaded.

    If the library is in a database, the folder's files are stored there instead, and the folder leaves the library.
    """
    if library.store.uploads:
        if uploads.resolve() in library.roots():
            store_uploads(library.store.uploads, uploads.resolve())
            library.remove(uploads.resolve())
        return
    if uploads.is_dir():
        with suppress(RequestError):  # it holds no document yet
            library.add([uploads])


def store_uploads(uploads: Uploads, folder: Path) -> list[Path]:
    """Store the files of an upload folder in the library's database, unless it has them; return all their paths.

    The files stay in the folder, too. The next sync indexes what was stored.
    """
    stored, moved = uploads.stored(), []
    for file in sorted(folder.rglob("*")):
        path = UPLOADS + b"/" + os.fsencode(file.relative_to(folder))
        if file.suffix.lower() not in SUFFIXES or file.name.startswith("."):
            continue
        with suppress(OSError):  # removed meanwhile, or no file
            if path not in stored:
                content = read_regular(file, LARGEST, follow_links=False)
                sha256 = hashlib.sha256(content).hexdigest()
                uploads.keep(path, Upload(sha256, len(content), file.stat().st_mtime_ns), content)
            moved.append(file)
    return moved


def home_of(url: str, settings: Settings) -> Path | None:
    """Return the folder of a store's libraries, and make the libraries private; None if the store is a database."""
    if names_database(url):
        return None
    home = library_folder(url, settings.libraries_folder)
    if home == settings.libraries_folder:  # a folder that the user named may hold other things
        make_private(home)
    with suppress(OSError):
        for file in home.glob("*/index.sqlite"):
            make_private(file.parent)
    return home


def sync(library: Library, screen: Screen, complete: bool) -> None:
    """Sync the library with the disk; unless ``complete``, use it as it is while another process is writing it.

    Raises `IndexBusy`, after a moment's wait, if the library must be complete or nothing is indexed yet.
    """
    for seconds in (WAIT,) if complete else (0.0, WAIT):
        try:
            with screen.working("indexing", "files") as progress:
                report = library.sync(progress, seconds=seconds)
        except IndexBusy:
            if not complete and not library.empty:
                screen.note(f"{library.store.writer()} is indexing: the answer is from what the library holds so far.")
                return
            if seconds:
                raise
        else:
            report_sync(report, screen)
            return


def report_sync(report: SyncReport, screen: Screen) -> None:
    """Show what a person should know of a sync."""
    counted = (len(report.added), len(report.updated), len(report.removed), len(report.failed), len(report.empty))
    log.debug("synced: %d added, %d updated, %d removed, %d failed, %d empty", *counted)
    for note in report.notes:
        screen.note(note)
    new = [*report.failed, *report.empty]
    for one in new[:MOST_LINES]:
        screen.note(f"left out: {path_with_reason(one)}")
    if len(new) > MOST_LINES:
        screen.note(f"{len(new) - MOST_LINES:,} more were left out.")
    changed = counts(added=len(report.added), updated=len(report.updated), removed=len(report.removed))
    if changed:
        screen.remark(f"indexed: {', '.join(changed)}; {report.passages:,} passages")
