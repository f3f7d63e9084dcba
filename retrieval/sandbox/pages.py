"""Show the pages of PDFs, and where quotes stand on them, from a sandboxed process."""

import io
import os
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import Lock

from core.files import is_below
from retrieval.documents.loaded import PagePicture, PageQuote
from retrieval.sandbox.child import DrawPage, PlaceQuote
from retrieval.sandbox.process import ReaderProcess
from retrieval.sandbox.replies import ReadLimits
from retrieval.store import UPLOADS

_LIMITS = ReadLimits(seconds=20.0, memory=1_000_000_000)
Uploaded = Callable[[Path], bytes | None]


class PageReader(AbstractContextManager["PageReader"]):
    """A process that reads single pages; it starts with the first one and is killed on exit. Thread-safe.

    Pages count from 1, and are read one at a time, as pdfium cannot read two at once. Methods return None for a file
    whose SHA-256 is not ``checksum``, as it has changed since, and for one that is gone, is no PDF or takes too long.
    """

    def __init__(self, limits: ReadLimits = _LIMITS, *, uploaded: Uploaded = lambda path: None) -> None:
        """Apply the limits to each page; ``uploaded`` returns the bytes of an upload, which is on no disk."""
        self._lock = Lock()
        self._process = ReaderProcess(limits)
        self._uploaded = uploaded

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, also while it reads a page."""
        self._process.kill()
        with self._lock:
            self._process.close()

    def place_quote(
        self, path: Path, page: int, quote: str, checksum: str, *, before: str = "", after: str = ""
    ) -> PageQuote | None:
        """Return where a quote stands on its page; None when unsure.

        ``before`` and ``after`` are the rest of its passage, which select one of several occurrences on the page.
        Raises ``RequestError`` when no process can be started.
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
            if not is_below(os.fsencode(path), UPLOADS):
                return self._process.read(os.fsencode(path), task).page
            with suppress(OSError), tempfile.TemporaryDirectory() as folder:  # OSError: as on a full disk
                copy = Path(folder, f"upload{path.suffix}")
                copy.write_bytes(self._uploaded(path) or b"")  # nothing, of one that was removed
                return self._process.read(os.fsencode(copy), task).page
        return None


def _png(picture: PagePicture) -> bytes:
    """Encode a picture in this process, not the sandbox, so that no viewer decodes what a hostile document wrote."""
    from PIL import Image

    file = io.BytesIO()
    Image.frombytes("RGB", (picture.width, picture.height), picture.pixels).save(file, "PNG")
    return file.getvalue()
