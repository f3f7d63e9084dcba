"""The library: the files and folders a user has added, and the index kept up to date with them."""

import glob
import hashlib
import os
import shlex
import stat
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from langchain_core.embeddings import Embeddings

from core.errors import IndexDamaged, RequestError
from core.files import is_below
from core.text import shown_path
from retrieval.filters import Filter, Visible, exclusion
from retrieval.index.store import PassageStore
from retrieval.library.discovery import LINK_OUTSIDE, find_documents, is_system
from retrieval.library.queued_sync import queue_changes, read_upload, sync_by_queue
from retrieval.library.sync import Sync
from retrieval.searching_store import Store
from retrieval.splitter import SplitSettings
from retrieval.store import UPLOADS, WAIT, FileQueue, Machine, Model, Roots, Search, path_of
from retrieval.sync_report import Progress, Skipped, Source, SyncReport, VerifyReport
from retrieval.unit_vectors import OtherDimensionError


def library_name(paths: Iterable[str | Path]) -> str:
    """Return the name of the library of these documents; the same paths give the same name."""
    resolved = sorted({os.fsencode(os.path.realpath(path)) for path in paths})
    return hashlib.sha256(b"\0".join(resolved)).hexdigest()[:24]


class Library(AbstractContextManager["Library"]):
    """Indexed files and folders, with the store that searches them; close it, or use it as a context manager."""

    def __init__(self, store: Store, settings: SplitSettings) -> None:
        """Wrap an open store; use ``open`` instead."""
        self.store = store
        self.settings = settings

    @classmethod
    def open(
        cls,
        folder: Path,
        embeddings: Embeddings,
        *,
        embedding_name: str,
        split: SplitSettings | None = None,
    ) -> Self:
        """Open or create the library in ``folder`` without embedding anything yet.

        A read-only folder is opened for reading if it holds a library.
        """
        return cls(PassageStore(folder, Model(embeddings, embedding_name)), split or SplitSettings())

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def empty(self) -> bool:
        """True if there is no passage to search."""
        return not any(source.passages for source in self.sources())

    def add(self, paths: Iterable[str | Path], *, follow_links: bool | None = None) -> None:
        """Add files and folders, all or none; ``sync`` indexes them.

        With ``follow_links``, targets of links in a folder are indexed wherever they lie; ``None`` keeps the setting
        of a folder that was added before, and is False for a new one. Raises ``RequestError`` for an unusable path.
        """
        known_roots = self.store.roots()
        known, before = known_roots.kinds, known_roots.followed
        roots = dict(_root(path) for path in paths)
        followed = before & roots.keys() if follow_links is None else set(roots) if follow_links else set()
        new = {path: kind for path, kind in roots.items() if known.get(path) != kind}
        for path, kind in new.items():
            if kind == "folder":
                _require_documents(path, followed)
        changed = new | {path: roots[path] for path in followed ^ (before & roots.keys())}
        if changed:
            with self.store.only_writer():
                self.store.add_roots(changed, followed)

    def remove(self, path: str | Path) -> None:
        """Remove a root and its passages, except those that another root covers; or delete uploads from the store.

        Documents found only by links in the root are removed now, or by the next sync if links in others are followed.
        """
        if is_below(os.fsencode(path), UPLOADS):
            self._delete_uploads(os.fsencode(path))
            return
        with self.store.only_writer():
            known = self.store.roots()
            roots = known.kinds | known.elsewhere
            named = os.fsencode(os.path.abspath(path))  # noqa: PTH100 - the root may have become a link
            target = named if named in roots else os.fsencode(os.path.realpath(path))
            if target not in roots:
                raise RequestError(_not_a_root(target, roots))
            others = [UPLOADS, *(root for root in roots if root != target)]
            linked = known.followed == {target}  # what lies outside of all roots was found by its links alone
            gone = [
                record.id
                for file, record in self.store.records().items()
                if (linked or is_below(file, target)) and not any(is_below(file, other) for other in others)
            ]
            self.store.remove_root(target, gone)

    def _delete_uploads(self, path: bytes) -> None:
        uploads = self.store.uploads
        named = [one for one in uploads.stored() if is_below(one, path)] if uploads else []
        if not uploads or not named:
            raise RequestError(f"Nothing was uploaded to {shown_path(os.fsdecode(path))}: index --list shows what was.")
        for one in named:
            uploads.remove(one)

    def exclude(self, words: Iterable[str]) -> dict[str, int]:
        """Leave files out from now on; a word is a path in the library, or a pattern as in ``Filter.sources``.

        Returns each pattern that a word stands for, with the number of documents that the pattern removed.
        """
        with self.store.only_writer():
            roots = self.store.roots()
            removed: dict[str, list[int]] = {_pattern(word, roots): [] for word in words}
            for pattern, ids in removed.items():
                excluded = exclusion([pattern], roots.kinds | roots.elsewhere)
                ids += [
                    record.id
                    for path, record in self.store.records().items()
                    if not is_below(path, UPLOADS) and excluded(path)
                ]
            self.store.set_excluded(roots.excluded | removed.keys(), {id_ for ids in removed.values() for id_ in ids})
        return {pattern: len(ids) for pattern, ids in removed.items()}

    def include(self, words: Iterable[str]) -> None:
        """Undo `exclude` for these words; the next sync reads the files. Raises ``RequestError`` for unknown words."""
        with self.store.only_writer():
            roots = self.store.roots()
            taken = set()
            for word in words:
                known = {word, _pattern(word, roots)} & roots.excluded
                if not known:
                    if reason := self.exclusion_of(os.path.realpath(word)):
                        raise RequestError(f"{shown_path(word)} is {reason}: name that pattern.")
                    raise RequestError(
                        f"No pattern {shlex.quote(shown_path(word))} is excluded: index --list names those that are."
                    )
                taken |= known
            self.store.set_excluded(roots.excluded - taken, ())

    def excluded(self) -> set[str]:
        """Return the patterns of files that are left out."""
        return self.store.roots().excluded

    def exclusion_of(self, path: str | Path) -> str:
        """Return the reason why a path is excluded, with the pattern; "" if it is not excluded."""
        roots = self.store.roots()
        return exclusion(roots.excluded, roots.kinds | roots.elsewhere)(os.fsencode(path))

    def sync(self, progress: Progress | None = None, *, seconds: float = WAIT) -> SyncReport:
        """Bring the index up to date with the disk, reading only files that changed.

        A document that cannot be read is reported, and the others are indexed. When nothing changed nothing is
        written, so a read-only index folder suffices. Raises ``IndexBusy`` if there are changes to write and another
        process holds the lock for longer than ``seconds``.
        """
        try:
            return self._sync(progress, seconds)
        except OtherDimensionError:
            return self._sync(progress, seconds)
        except IndexDamaged:
            self.store.start_over()
            return self._sync(progress, seconds)

    def enqueue(self) -> tuple[int, int]:
        """Queue what changed, with its bytes, for other processes to read.

        Returns how many files of this machine wait, and how many of these can be read on this machine alone.
        """
        queue = self.require_queue()
        queue_changes(self.store, queue, Sync(self.store, self.settings, None), self.settings, WAIT)
        return queue.waiting(), queue.send()

    def read_upload(self, path: bytes, *, seconds: float = WAIT) -> None:
        """Index an upload that was put into `Store.uploads`.

        If the settings have changed, `sync` runs instead. Raises ``IndexBusy`` if the lock is held for ``seconds``, and
        ``StoreUnavailable`` if the database cannot be reached: the upload is then read later.
        """
        store = self.store
        if store.queue is None or store.uploads is None:
            raise ValueError("the store keeps no uploads")
        if store.outdated(self.settings):
            self.sync(seconds=seconds)
            return
        if not store.made().splitter:
            with store.only_writer(seconds):
                store.clear_outdated(self.settings)  # records the settings
        try:
            read_upload(store, store.queue, store.uploads, path, self.settings)
        except OtherDimensionError:
            self.sync(seconds=seconds)

    def require_queue(self) -> FileQueue:
        """Return the queue of the store. Raises ``RequestError`` where it has none."""
        if self.store.queue is None:
            raise RequestError("Only a library in PostgreSQL is read by workers: set SELFRAG_STORE to postgresql://….")
        return self.store.queue

    def content_hash(self, visible: Visible | None = None) -> str:
        """Return the SHA-256 of what is indexed and how: the documents' checksums, the embedding model, the splitter.

        Only documents with a ``visible`` path count. Paths are not hashed: the same documents elsewhere hash the same.
        """
        settings = self.settings
        parts = [self.store.model.name, str(settings.chunk_size), str(settings.overlap), *self.store.checksums(visible)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def roots(self) -> dict[Path, bool]:
        """Return the files and folders that were added, and whether links in them are followed."""
        roots = self.store.roots()
        return {path_of(path): path in roots.followed for path in roots.kinds}

    def roots_elsewhere(self) -> dict[Path, str]:
        """Return the files and folders that another machine added and reads, with its name."""
        return {path_of(path): machine for path, machine in self.store.roots().elsewhere.items()}

    def sources(self) -> list[Source]:
        """Return every document with its status, including those that cannot be read."""
        return [
            Source(path_of(path), record.status, record.passages, record.reason, record.date, record.sha256)
            for path, record in self.store.records().items()
        ]

    def skipped(self) -> list[Skipped]:
        """Return the files and folders that now lie in the library's folders and are no documents."""
        roots = self.store.roots()
        found = find_documents(roots.kinds, roots.followed, roots.excluded)
        return [Skipped(path_of(path), reason) for path, reason in found.skipped]

    def verify(self, progress: Progress | None = None) -> VerifyReport:
        """Check the whole index for damage and repair it; the documents on disk are not compared.

        Raises ``RequestError`` when the index is damaged and its folder read-only.
        """
        return self.store.verify(self.sync, progress)

    def require_passages(self, filter: Filter | None = None, visible: Visible | None = None) -> None:  # noqa: A002 - the store's name for it
        """Raise ``RequestError`` with the reason when there is no passage to search.

        With a filter, only passages count that fit it and whose document has a ``visible`` path.
        """
        sources = self.sources()
        if any(source.passages for source in sources):
            if filter and not self.store.has_fitting(filter, visible):
                raise RequestError(f"No passage fits {filter.as_options()}: ask without it, or look at index --list.")
            return
        if not sources:
            raise RequestError("There are no documents to ask: name files or folders that hold some.")
        if len(sources) == 1:
            raise RequestError(sources[0].reason)
        raise RequestError(f"None of the {len(sources)} documents can be read; the first: {sources[0].reason}")

    def _sync(self, progress: Progress | None, seconds: float) -> SyncReport:
        store = self.store
        if store.queue:
            return sync_by_queue(store, store.queue, self.settings, progress, seconds)
        run = Sync(store, self.settings, progress)
        plan = run.plan()
        if plan.changed or plan.gone or store.outdated(self.settings):
            with store.only_writer(seconds):
                run.report.notes += store.clear_outdated(self.settings)
                plan = run.plan()  # another process may have done it while this one waited for the lock
                run.execute(plan)
                store.settle()
        elif store.writable:
            with suppress(RequestError), store.only_writer(seconds=0):
                run.touch(plan)
                store.settle()
        return run.finish(plan)


def _root(path: str | Path) -> tuple[bytes, str]:
    """Return the real path of a new root, and whether it is a file or a folder."""
    real = os.path.realpath(path)
    if any(is_system(os.fsencode(form)) for form in (os.path.abspath(path), real)):  # noqa: PTH100 - keeps links
        raise RequestError(f"{shown_path(path)} is a system path in /proc, /sys or /dev: name a document elsewhere.")
    try:
        mode = Path(real).stat().st_mode
    except (OSError, ValueError) as error:
        raise RequestError(f"There is no file or folder {shown_path(path)}: check the path.") from error
    if stat.S_ISDIR(mode):
        return os.fsencode(real), "folder"
    if stat.S_ISREG(mode):
        return os.fsencode(real), "file"
    raise RequestError(f"{shown_path(path)} is neither a file nor a folder: name one.")


def _pattern(word: str, roots: Roots) -> str:
    """Return the pattern that a word stands for; a path that exists in the library matches itself alone."""
    if is_below(os.fsencode(word), UPLOADS):
        raise RequestError(f"{shown_path(word)} is an upload: index --remove deletes it.")
    real = os.fsencode(os.path.realpath(word))
    if os.path.lexists(real) and any(is_below(real, root) for root in roots.kinds):
        word = glob.escape(real.decode("utf-8", "replace"))
    return os.fsencode(word).decode("utf-8", "replace")


def _require_documents(folder: bytes, followed: Collection[bytes]) -> None:
    found = find_documents({folder: "folder"}, followed)
    if found.files:
        return
    name = shown_path(os.fsdecode(folder))
    if any(reason == LINK_OUTSIDE for _, reason in found.skipped):
        raise RequestError(
            f"The folder {name} holds only links out of it: name what they lead to, or index it with --follow-links."
        )
    raise RequestError(
        f"The folder {name} holds no PDF, DOCX, HTML, Markdown, text, CSV or JSONL file: put documents into it, or "
        "name another."
    )


def _not_a_root(path: bytes, roots: Iterable[bytes]) -> str:
    name = shown_path(os.fsdecode(path))
    if folder := next((shown_path(os.fsdecode(root)) for root in roots if is_below(path, root)), ""):
        return f"{name} is in the library with its folder {folder}: index --exclude leaves it out."
    return f"{name} is not in the library: name a file or folder that was added."


EMBEDDED = "sqlite"
_DATABASES = ("postgresql", "postgres")
_WRITE = "write sqlite:///, and then the folder's whole path"
_NO_FOLDER = f"SELFRAG_STORE names no folder: {_WRITE}."


def names_database(url: str) -> bool:
    """True if a store's URL names a PostgreSQL database."""
    return url.partition(":")[0].lower() in _DATABASES


def open_store(
    url: str,
    library: str,
    model: Model,
    *,
    search: Search = "hybrid",
    home: Path | None = None,
    machine: Machine | None = None,
) -> Store:
    """Open or create the store of a library, by its name, at the place that a URL names.

    ``postgresql://…`` names a database, ``sqlite:///folder`` a folder, and ``sqlite:///`` means ``home``. Several
    machines may share a database; this process reads the files of ``machine``, by default its host.
    """
    if not names_database(url):
        return PassageStore(library_folder(url, home) / library, model, search=search)
    try:
        from retrieval.postgres.postgres_store import PostgresStore
    except ImportError as error:
        raise RequestError(
            f"SELFRAG_STORE names PostgreSQL, which needs {error.name}: run pip install -r requirements-postgres.txt."
        ) from error
    return PostgresStore(url, library, model, search=search, machine=machine)


def library_folder(url: str, default: Path | None) -> Path:
    """Return the folder that an embedded store's URL names, or ``default`` if it names none."""
    try:
        parts = urlsplit(url)
    except ValueError as error:  # half an IPv6 address
        raise RequestError(_NO_FOLDER) from error
    if parts.scheme != EMBEDDED:
        raise RequestError(
            f"There is no store for {parts.scheme or 'no scheme'} in SELFRAG_STORE: name a folder as sqlite:///folder, "
            "or a database as postgresql://user@host/database."
        )
    path = unquote(parts.path)
    if default is not None and path in ("", "/") and not parts.netloc:
        return default
    if parts.netloc or parts.query or parts.fragment or "\0" in path or not path.strip("/"):
        raise RequestError(_NO_FOLDER)
    try:
        return Path(path.removeprefix("/") if path.startswith("/~") else path).expanduser()
    except RuntimeError as error:  # no such user
        raise RequestError(
            f"SELFRAG_STORE names a home that is not known, {shown_path(path[1:])}: {_WRITE}."
        ) from error
