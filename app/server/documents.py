"""The documents of a server: each owner asks the shared ones and their own uploads."""

import asyncio
import logging
import os
import re
import time
import unicodedata
from collections.abc import AsyncIterable, Callable
from contextlib import suppress
from pathlib import Path, PureWindowsPath
from typing import Any

from app.front_door import SelfRAG
from app.libraries import add_uploads
from app.server.errors import NotFoundError, StorageError
from app.server.names import Names, document_entry
from app.server.people import People
from app.server.uploads import INDEX_SECONDS, DatabaseUploads, FolderUploads
from core.errors import IndexBusy, RequestError, SelfRAGError, StoreUnavailable
from core.files import is_below
from core.text import clean, shortened, shown_path
from core.types import Citation
from retrieval.documents.load import SUFFIXES
from retrieval.filters import Filter, Visible
from retrieval.library.library import Library
from retrieval.store import Surroundings
from retrieval.sync_report import Source

LONGEST_NAME = 200  # bytes in UTF-8, of the 255 that file systems take
REFRESH_SECONDS = 60.0  # from one look at the disk to the next
CLOSE_SECONDS = 10.0  # for what is being indexed; indexing that is cut off goes on at the next start
log = logging.getLogger("selfrag.server")


class Documents:
    """A library and its uploads; the owner of a token sees no upload of another owner.

    Uploads are kept in the library's database, which servers may share, else in the folder ``uploads``. The ``sample``
    is asked instead while there is nothing in the library. Indexing is done in a thread, one at a time. `refresh`
    calls ``follow`` before it syncs: `follow_own` gives a shared library the folders of the user's own library.
    """

    def __init__(
        self,
        rag: SelfRAG,
        library: Library,
        uploads: Path,
        sample: Library | None = None,
        people: Callable[[], People] = People,
        follow: Callable[[], None] = lambda: None,
    ) -> None:
        self.library = library
        self.indexing: set[Path] = set()
        self._rag = rag
        self._folder = uploads.resolve()
        stored = library.store.uploads
        self._uploads = DatabaseUploads(library, stored) if stored else FolderUploads(library, uploads)
        self._sample = sample
        self._asks_sample = sample is not None
        self._roots: list[bytes] = []
        self._names: dict[str, tuple[Visible | None, Names]] = {}
        self._people = people
        self._follow = follow
        self._readers: dict[str, tuple[People, Visible]] = {}
        self._rags: dict[tuple[str, bool], tuple[Visible | None, SelfRAG]] = {}
        self._writing = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None
        self._refreshed = time.monotonic()
        self._read_names()

    def refresh(self) -> None:
        """Begin to index, in the background, what changed on the disk; at most once in `REFRESH_SECONDS`."""
        idle = self._refreshing is None or self._refreshing.done()
        if idle and time.monotonic() - self._refreshed >= REFRESH_SECONDS:
            self._refreshed = time.monotonic()
            self._refreshing = asyncio.create_task(self._refresh())

    async def _refresh(self) -> None:
        def sync() -> None:
            self._follow()
            add_uploads(self.library, self._folder)
            self.library.sync(seconds=INDEX_SECONDS)

        try:
            await self._written(sync)
        except SelfRAGError as error:  # another process indexes, or a folder is away: the next time may find it
            log.debug("the documents were not looked through: %s", error)

    def rag_of(self, owner: str) -> SelfRAG:
        """Return the `SelfRAG` that answers the owner's questions, from documents that they may see."""
        key, visible = (owner, self._asks_sample), self.visible_to(owner)
        if key not in self._rags or self._rags[key][0] is not visible:
            retriever = self.asked.store.as_retriever(search_kwargs={"visible": visible})
            self._rags[key] = visible, self._rag.over(self.asked, retriever, visible)
        return self._rags[key][1]

    async def require_fitting(self, owner: str, within: Filter) -> None:
        """Raise `RequestError` if nothing that the owner may see fits a filter."""
        await asyncio.to_thread(self.asked.require_passages, within, self.visible_to(owner))

    async def listed(self, owner: str) -> list[dict[str, Any]]:
        """Return the documents that the owner may see, with those that are being indexed."""
        await asyncio.to_thread(self._read_names)
        sources = await asyncio.to_thread(self.asked.sources)
        visible = self.visible_to(owner)
        listed = [self._entry(one, owner) for one in sources if not visible or visible(os.fsencode(one.path))]
        waiting = self.indexing | await asyncio.to_thread(self._uploads.waiting)
        own = [path for path in sorted(waiting) if path.parent == self.folder_of(owner)]
        new = [{**self._entry(Source(path, "empty", 0, ""), owner), "status": "indexing"} for path in own]
        return new + [one for one in listed if one["source"] not in {other["source"] for other in new}]

    async def put(self, owner: str, name: str, body: AsyncIterable[bytes]) -> dict[str, Any]:
        """Store a document, replacing one of the same name, and index it; return its entry.

        Raises `RequestError` for a name that no upload can have, and `StorageError` if it cannot be stored. A document
        that cannot be read is stored and listed, with the reason.
        """
        path = self._upload(owner, name)
        await self._uploads.put(path, body)
        self.indexing.add(path)
        try:
            sources = await self._written(lambda: self._uploads.index(path))
        except (IndexBusy, StoreUnavailable) as error:
            raise type(error)(f"{shown_path(path.name)} is stored, and indexed later: {error}") from error
        except RequestError as error:
            raise StorageError(f"{shown_path(path.name)} is stored, but not indexed: {error}") from error
        finally:
            self.indexing.discard(path)
        found = next((one for one in sources if one.path == path), None)
        if found is None:
            excluded = await asyncio.to_thread(self.library.exclusion_of, path)
            found = Source(path, "failed", 0, f"It was {excluded or 'removed meanwhile'}.")
        return self._entry(found, owner)

    async def remove(self, owner: str, name: str) -> None:
        """Remove a document that the owner uploaded. Raises `NotFoundError` for any other."""
        path = self._upload(owner, name)
        await asyncio.to_thread(self._uploads.remove, path)
        await self._written(lambda: self._uploads.index(path))

    def around(self, cited: Citation) -> Surroundings:
        """Return the text around a citation, and the file that it is from."""
        store, passage = self.asked.store, cited["passage"]
        start, end, page, row = cited["start"], cited["end"], cited["page"], cited["row"]
        return store.surroundings(cited["source"], passage, start, end, page=page, row=row)

    def uploaded(self, path: Path) -> bytes | None:
        """Return the bytes of an upload that is kept in a database; None for any other file."""
        stored = self.library.store.uploads
        return stored.content(os.fsencode(path)) if stored else None

    def visible_to(self, owner: str) -> Visible | None:
        """Return a test of whether the owner may see a path now; None if there is one owner, who sees all.

        The test is the same object until the people change.
        """
        if not owner:
            return None
        people = self._people()
        if owner not in self._readers or self._readers[owner][0] is not people:
            own, readable = os.fsencode(self.folder_of(owner)), people.readable_by(owner)
            uploads = [os.fsencode(self._uploads.folder), os.fsencode(self._folder)]

            def visible(path: bytes) -> bool:
                return is_below(path, own) or (readable(path) and not any(is_below(path, one) for one in uploads))

            self._readers[owner] = people, visible
        return self._readers[owner][1]

    def names_for(self, owner: str) -> Names:
        """Return the names of the documents for an owner; no name depends on a document that is hidden from them."""
        visible = self.visible_to(owner)
        if owner not in self._names or self._names[owner][0] is not visible:
            known = filter(visible, self._roots)
            names = Names(map(os.fsdecode, [*known, os.fsencode(self._uploads.folder)]))
            self._names[owner] = visible, names
        return self._names[owner][1]

    def require_readable(self, owner: str, source: str) -> None:
        """Raise `NotFoundError` for a document that the owner may see no more."""
        visible = self.visible_to(owner)
        if visible and not visible(os.fsencode(source)):
            raise NotFoundError("You may no longer read the document of this citation.")

    def unmatched(self) -> list[str]:
        """Return the patterns of the people's rules that match no document: they may be misspelt."""
        paths = list(self.library.store.records())
        return [one.pattern for one in self._people().rules if not any(map(one.fits, paths))]

    def folder_of(self, owner: str) -> Path:
        """Return the folder of the owner's uploads."""
        return self._uploads.folder / owner if owner else self._uploads.folder

    async def aclose(self) -> None:
        """Close the libraries; wait a short while for indexing to end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS), self._writing:
                pass
        self.close()

    def close(self) -> None:
        """Close the libraries."""
        self.library.close()
        if self._sample:
            self._sample.close()

    @property
    def asked(self) -> Library:
        """The library that questions go to now: the sample while there are no documents."""
        return self._sample if self._sample and self._asks_sample else self.library

    def _read_names(self) -> None:
        """Read which folders are indexed, and forget the names of documents, which begin with a folder's name."""
        roots = [one.store.roots() for one in (self.library, self._sample) if one]
        self._roots = [path for one in roots for path in (*one.kinds, *one.elsewhere)]
        self._names = {}

    def _upload(self, owner: str, name: str) -> Path:
        """Return the path of an upload by its name, such as ``a.pdf`` or ``uploads/a.pdf``. Raises `RequestError`."""
        folder = self.folder_of(owner)
        return folder / checked_name(name.removeprefix(f"{self.names_for(owner).name_of(str(folder))}/"))

    def _entry(self, source: Source, owner: str) -> dict[str, Any]:
        return {**document_entry(source), "removable": source.path.parent == self.folder_of(owner)}

    async def _written(self, write: Callable[[], None]) -> list[Source]:
        """Change the library in a thread, one change at a time, and return what is in it then."""

        def sources() -> list[Source]:
            write()
            self._read_names()
            return self.library.sources()

        async with self._writing:
            found = await asyncio.to_thread(sources)
            self._asks_sample = self._sample is not None and not found
            return found


def checked_name(name: str) -> str:
    """Return an upload's normalised name. Raises `RequestError` unless a file of a readable kind can have the name."""
    told = shortened(name, 60) or "An empty name"
    name = unicodedata.normalize("NFC", re.sub(" {3,}", " ", name))  # as it will be listed
    if (
        not name.strip()
        or PureWindowsPath(name).name != name
        or name.startswith((".", " "))
        or "\ufffd" in name  # what was sent is not UTF-8
        or clean(name) != name
        or not name.isprintable()
        or len(name.encode("utf-8", "surrogateescape")) > LONGEST_NAME
    ):
        raise RequestError(
            f"{told} is no name for an upload: give a file's name without a folder, of at most {LONGEST_NAME} bytes."
        )
    if Path(name).suffix.lower() not in SUFFIXES:
        raise RequestError(f"{told} is not of a kind that can be read: send {', '.join(sorted(SUFFIXES))}.")
    return name
