"""The manifest beside the database: the added files and folders (roots), and checksums of what is derived."""

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from core.files import open_private, read_regular
from retrieval.index.schema import Reached

NAME = "manifest.json"
_LARGEST = 64_000_000  # bytes, mostly of paths


class Vectors(BaseModel, frozen=True, extra="ignore"):
    """The checksum and size of the intact vector file, and the point in the index's history that it covers."""

    sha256: str
    size: int = 1 << 62  # bytes; older manifests lack it
    passages: int
    reached: Reached


class Words(BaseModel, frozen=True, extra="ignore"):
    """The checksum of the keyword index in the database, and the point in the index's history that it covers."""

    seal: int
    reached: Reached


class Manifest(BaseModel, frozen=True, extra="ignore"):
    """A copy of the roots in case the database is damaged, and checksums of what is derived from the index.

    Paths are quoted as in a URL, as a file's name need not be text. ``follow_links`` are the roots in which links are
    followed wherever they lead. ``excluded`` are patterns of files that are left out. ``index`` is the index's id.
    """

    format: int
    index: str
    roots: dict[str, str]
    follow_links: list[str] = []
    excluded: list[str] = []
    vectors: Vectors | None = None
    words: Words | None = None


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest, or ``None`` when it is missing or invalid."""
    try:
        return Manifest.model_validate_json(read_regular(folder / NAME, _LARGEST), strict=True)
    except (OSError, ValidationError):
        return None


def percent_encoded(path: bytes) -> str:
    """Return the bytes of a path as text that ``urllib.parse.unquote_to_bytes`` reverses."""
    return quote(path, safe="/\\: ()[]{}@&=+$,;!'~")


def write_atomically(path: Path, data: bytes | memoryview) -> None:
    """Replace a file atomically: after a crash it is either the old one or the new.

    Only for the holder of the writer lock, as it overwrites what a killed writer left.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        with os.fdopen(open_private(partial, os.O_WRONLY | os.O_EXCL), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
