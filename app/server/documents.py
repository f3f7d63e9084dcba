"""What questions are asked of, and what is uploaded: each owner's files in a folder of their own."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import secrets
import time
import unicodedata
from collections.abc import AsyncIterable, Callable
from contextlib import suppress
from pathlib import Path, PureWindowsPath
from typing import Any

from app.front_door import SelfRAG
from app.libraries import add_uploads
from app.server.errors import NotFoundError, StorageError
from core.errors import IndexBusy, RequestError, SelfRAGError
from core.files import is_below, make_private_folder, open_private
from core.text import clean, one_line, path_text, shortened, shown
from retrieval.documents.load import SUFFIXES
from retrieval.filters import Filter
from retrieval.library.library import Library
from retrieval.sync_report import Source

LONGEST_NAME = 200  # bytes in UTF-8, of the 255 that file systems take
INDEX_SECONDS = 60.0  # to wait for another process that writes the index
REFRESH_SECONDS = 60.0  # from one look at the disk to the next
CLOSE_SECONDS = 10.0  # for what is being indexed; indexing that is cut off goes on at the next start
log = logging.getLogger("selfrag.server")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Documents:
    """A library, with what is uploaded in ``uploads``; the owner of a token sees nothing that another uploaded.

    ``sample`` is asked instead while there is nothing in the library. Indexing is done in a thread, one at a time.
    """

    def __init__(self, rag: SelfRAG, library: Library, uploads: Path, sample: Library | None = None) -> None:
        self.library = library
        self.indexing: set[Path] = set()
        self._rag = rag
        self._uploads = uploads.resolve()  # as the library has the paths of its documents
        self._sample = sample
        self._asks_sample = sample is not None
        self._rags: dict[tuple[str, bool], SelfRAG] = {}
        self._writing = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None
        self._refreshed = time.monotonic()

    def refresh(self) -> None:
        """Begin to index what changed on the disk, at most once in `REFRESH_SECONDS`; nobody waits for it."""
        idle = self._refreshing is None or self._refreshing.done()
        if idle and time.monotonic() - self._refreshed >= REFRESH_SECONDS:
            self._refreshed = time.monotonic()
            self._refreshing = asyncio.create_task(self._refresh())

    async def _refresh(self) -> None:
        try:
            await self._synced()
        except SelfRAGError as error:  # another process indexes, or a folder is away: the next time may find it
            log.debug("the documents were not looked through: %s", error)

    def rag_of(self, owner: str) -> SelfRAG:
        """Return what answers the owner's questions, from documents that they may see."""
        key = (owner, self._asks_sample)
        if key not in self._rags:
            retriever = self.asked.store.as_retriever(search_kwargs={"visible": self.visible_to(owner)})
            self._rags[key] = self._rag.over(self.asked, retriever)
        return self._rags[key]

    async def require_fitting(self, owner: str, within: Filter) -> None:
        """Raise `RequestError` if nothing that the owner may see fits a filter."""
        await asyncio.to_thread(self.asked.require_passages, within, self.visible_to(owner))

    async def listed(self, owner: str) -> list[dict[str, Any]]:
        """Return the documents that the owner may see, with those that are being indexed."""
        sources = await asyncio.to_thread(self.asked.sources)
        visible = self.visible_to(owner)
        listed = [self._entry(one, owner) for one in sources if not visible or visible(os.fsencode(one.path))]
        own = [path for path in sorted(self.indexing) if path.parent == self.folder_of(owner)]
        new = [{**self._entry(Source(path, "empty", 0, ""), owner), "status": "indexing"} for path in own]
        return new + [one for one in listed if one["source"] not in {other["source"] for other in new}]

    async def put(self, owner: str, name: str, body: AsyncIterable[bytes]) -> dict[str, Any]:
        """Store a document, replacing one of the same name, and index it; return its entry.

        Raises `RequestError` for a name that is none, and `StorageError` where it cannot be stored. What cannot be read
        is stored and listed, with the reason.
        """
        path = self.folder_of(owner) / checked_name(name)
        part = path.with_name(f".{secrets.token_hex(8)}.part")
        try:
            make_private_folder(path.parent)
            with os.fdopen(open_private(part, os.O_WRONLY | os.O_EXCL), "wb") as file:
                async for chunk in body:
                    await asyncio.to_thread(file.write, chunk)
            part.replace(path)
        except OSError as error:
            raise _unstored(path, error) from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        self.indexing.add(path)
        try:
            sources = await self._synced()
        except IndexBusy as error:
            raise IndexBusy(f"{shown(path.name)} is stored, and indexed later: {error}") from error
        except RequestError as error:
            raise StorageError(f"{shown(path.name)} is stored, but not indexed: {error}") from error
        finally:
            self.indexing.discard(path)
        found = next(
            (one for one in sources if one.path == path), Source(path, "failed", 0, "It was removed meanwhile.")
        )
        return self._entry(found, owner)

    async def remove(self, owner: str, name: str) -> None:
        """Remove a document that the owner uploaded. Raises `NotFoundError` for any other."""
        path = self.folder_of(owner) / checked_name(name)
        try:
            path.unlink()
        except FileNotFoundError:
            raise NotFoundError(
                f"{shown(path.name)} was not uploaded here: only what was can be removed here."
            ) from None
        except OSError as error:
            raise _unstored(path, error) from error
        await self._synced()

    def visible_to(self, owner: str) -> Callable[[bytes], bool] | None:
        """Tell the paths that the owner may see from others'; None where there is one owner."""
        if not owner:
            return None
        uploads, own = os.fsencode(self._uploads), os.fsencode(self.folder_of(owner))
        return lambda path: is_below(path, own) or not is_below(path, uploads)

    def folder_of(self, owner: str) -> Path:
        """Return the folder of the owner's uploads."""
        return self._uploads / owner if owner else self._uploads

    async def aclose(self) -> None:
        """Close the libraries, after what is being indexed, if that is not for long."""
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
        """The library that is asked now."""
        return self._sample if self._sample and self._asks_sample else self.library

    def _entry(self, source: Source, owner: str) -> dict[str, Any]:
        name = source.path.name
        return {
            "name": one_line(name),
            "source": path_text(source.path),
            "status": source.status,
            "passages": source.passages,
            "reason": source.reason,
            "date": source.date,
            "removable": source.path.parent == self.folder_of(owner),
        }

    async def _synced(self) -> list[Source]:
        """Bring the library in step with the disk and return what is in it."""

        def sync() -> list[Source]:
            add_uploads(self.library, self._uploads)
            self.library.sync(seconds=INDEX_SECONDS)
            return self.library.sources()

        async with self._writing:
            sources = await asyncio.to_thread(sync)
            self._asks_sample = self._sample is not None and not sources
            return sources


def checked_name(name: str) -> str:
    """Return the name of an upload, if a file of a readable kind can have it. Raises `RequestError`."""
    told = shortened(name, 60) or "An empty name"
    name = unicodedata.normalize("NFC", name)
    if (
        not name.strip()
        or Path(name).name != name
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


def _unstored(path: Path, error: OSError) -> StorageError:
    remedy = "make room on the server's disk" if error.errno in FULL else "look at the server's folder for uploads"
    return StorageError(f"{shown(path.name)} cannot be stored ({error.strerror or 'an error of the disk'}): {remedy}.")
