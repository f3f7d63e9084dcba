"""Show the pages of PDFs, and where quotes stand on them, from a sandboxed process."""

import hashlib
import io
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Self

from core.files import is_below, write_private
from retrieval.documents.loaded import PagePicture, PageQuote
from retrieval.sandbox.child import DrawPage, PlaceQuote
from retrieval.sandbox.process import ReaderProcess
from retrieval.sandbox.replies import ReadLimits
from retrieval.store import UPLOADS

MOST_COPIES = 8  # of uploads, each up to SELFRAG_UPLOAD_MB
_LIMITS = ReadLimits(seconds=20.0, memory=1_000_000_000)
Uploaded = Callable[[Path], bytes | None]


class PageReader:
    """A process that reads single pages; it starts with the first one and is killed on exit. Thread-safe.

    Pages are read one at a time, as pdfium can do no more. A page is of the file whose SHA-256 is ``checksum``, and
    counts from 1: nothing is returned for a file that has changed since, is gone, is no PDF or takes too long.
    """

    def __init__(self, limits: ReadLimits = _LIMITS, *, uploaded: Uploaded = lambda path: None) -> None:
        """Read within limits for each page; ``uploaded`` gives the bytes of an upload that no disk has."""
        self._lock = Lock()
        self._process = ReaderProcess(limits)
        self._copies = _Copies(uploaded)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, also while it reads a page, and remove the copies of uploads."""
        self._process.kill()
        with self._lock:
            self._process.close()
            self._copies.close()

    def place_quote(
        self, path: Path, page: int, quote: str, checksum: str, *, before: str = "", after: str = ""
    ) -> PageQuote | None:
        """Return where a quote stands on its page; None when unsure.

        A passage never spans two pages, and so no quote does. ``before`` and ``after`` are the rest of its passage,
        which tell where it is on a page that has it more than once. Raises ``RequestError`` when no process can be
        started.
        """
        found = self._read(path, PlaceQuote(checksum, page, quote, before, after))
        return found if isinstance(found, PageQuote) else None

    def render_page(self, path: Path, page: int, checksum: str, width: int) -> bytes | None:
        """Return a page as a PNG ``width`` pixels wide, or less where it would have more than 8 million pixels.

        Raises ``RequestError`` when no process can be started.
        """
        drawn = self._read(path, DrawPage(checksum, page, width))
        return _png(drawn) if isinstance(drawn, PagePicture) else None

    def _read(self, path: Path, task: PlaceQuote | DrawPage) -> PageQuote | PagePicture | None:
        with self._lock:
            file = self._copies.path_of(path, task.sha256) if is_below(os.fsencode(path), UPLOADS) else path
            return self._process.read(os.fsencode(file), task).page if file else None


class _Copies:
    """Private copies of uploads in a temporary folder; of more than `MOST_COPIES` the one used longest ago goes."""

    def __init__(self, uploaded: Uploaded) -> None:
        self._uploaded = uploaded
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._kept: dict[str, Path] = {}  # by hash, the last one used last

    def path_of(self, path: Path, checksum: str) -> Path | None:
        """Return a copy of the upload that has a hash; None if it has another now, or cannot be copied."""
        copy = self._kept.pop(checksum, None) or self._new(path, checksum)
        if copy:
            self._kept[checksum] = copy
        while len(self._kept) > MOST_COPIES:
            self._kept.pop(next(iter(self._kept))).unlink(missing_ok=True)
        return copy

    def _new(self, path: Path, checksum: str) -> Path | None:
        content = self._uploaded(path)
        if content is None or hashlib.sha256(content).hexdigest() != checksum:
            return None
        with suppress(OSError):  # as on a full disk
            self._folder = self._folder or tempfile.TemporaryDirectory()
            copy = Path(self._folder.name, f"{checksum}{path.suffix}")
            write_private(copy, content)
            return copy
        return None

    def close(self) -> None:
        """Remove all copies."""
        self._kept.clear()
        if self._folder:
            self._folder.cleanup()
            self._folder = None


def _png(picture: PagePicture) -> bytes:
    """Encode a picture here, not in the process, so that no viewer decodes what a hostile document wrote."""
    from PIL import Image

    file = io.BytesIO()
    Image.frombytes("RGB", (picture.width, picture.height), picture.pixels).save(file, "PNG")
    return file.getvalue()
