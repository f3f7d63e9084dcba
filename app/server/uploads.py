"""Where uploads are kept: in a folder of this machine, or in the database that all servers share."""

import asyncio
import errno
import os
import secrets
import tempfile
import threading
import time
from collections.abc import AsyncIterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from app.libraries import add_uploads
from app.server.errors import NotFoundError, StorageError
from core.errors import IndexBusy, RequestError, StoreUnavailable
from core.files import make_private_folder, open_private
from core.text import shown_path
from retrieval.library.library import Library
from retrieval.store import UPLOADS, Uploads

LEFT_SECONDS = 86_400.0  # after which a part of an upload counts as left by a kill
INDEX_SECONDS = 60.0  # to wait for another process that writes the index
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class FolderUploads:
    """Uploads in a folder, which is part of the library. Raises `StorageError` and `NotFoundError`."""

    def __init__(self, library: Library, folder: Path) -> None:
        """Keep uploads in ``folder``, which is made when needed; remove partial files that killed uploads left."""
        self.folder = folder.resolve()  # as the library has the paths of its documents
        self._library = library
        for part in [*self.folder.glob(".*.part"), *self.folder.glob("*/.*.part")]:
            with suppress(OSError):
                if time.time() - part.stat().st_mtime > LEFT_SECONDS:
                    part.unlink()

    async def put(self, path: Path, body: AsyncIterable[bytes]) -> None:
        """Write the new file beside the old one, then put it in the old one's place."""
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

    def index(self, path: Path) -> None:
        """Sync the library with the disk."""
        add_uploads(self._library, self.folder)
        self._library.sync(seconds=INDEX_SECONDS)

    def remove(self, path: Path) -> None:
        """Remove the file."""
        try:
            path.unlink()
        except FileNotFoundError:
            raise _unknown(path) from None
        except OSError as error:
            raise _unstored(path, error) from error

    def waiting(self) -> set[Path]:
        """Return nothing: files in a folder are not queued."""
        return set()


class DatabaseUploads:
    """Uploads in the library's database, with the methods of `FolderUploads`: all servers share them."""

    folder = Path(os.fsdecode(UPLOADS))

    def __init__(self, library: Library, stored: Uploads) -> None:
        """Keep uploads in ``stored``, the uploads of the library's store."""
        self._library = library
        self._stored = stored
        self._storing = threading.Lock()  # so that only one is in memory

    async def put(self, path: Path, body: AsyncIterable[bytes]) -> None:
        """Receive an upload into a temporary file, then store and queue it in one transaction."""
        try:
            with tempfile.TemporaryFile() as file:
                async for chunk in body:
                    await asyncio.to_thread(file.write, chunk)
                await asyncio.to_thread(self._store, path, file)
        except OSError as error:
            raise _unstored(path, error) from error
        except (IndexBusy, StoreUnavailable):
            raise
        except RequestError as error:
            raise StorageError(f"{shown_path(path.name)} cannot be stored: {error}") from error

    def _store(self, path: Path, file: IO[bytes]) -> None:
        with self._storing:
            file.seek(0)
            self._stored.put(os.fsencode(path), file.read())

    def index(self, path: Path) -> None:
        """Read what is queued until the upload has been read, here or by another process."""
        self._library.read_upload(os.fsencode(path), seconds=INDEX_SECONDS)

    def remove(self, path: Path) -> None:
        """Remove the upload with its passages."""
        if not self._stored.remove(os.fsencode(path)):
            raise _unknown(path)

    def waiting(self) -> set[Path]:
        """Return the uploads that are queued."""
        return {Path(os.fsdecode(path)) for path in self._stored.waiting()}


def _unknown(path: Path) -> NotFoundError:
    return NotFoundError(f"{shown_path(path.name)} was not uploaded here: only what was can be removed here.")


def _unstored(path: Path, error: OSError) -> StorageError:
    remedy = "make room on the server's disk" if error.errno in FULL else "look at the server's folder for uploads"
    return StorageError(
        f"{shown_path(path.name)} cannot be stored ({error.strerror or 'an error of the disk'}): {remedy}."
    )
