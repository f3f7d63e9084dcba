"""The manifest beside the database: what the index is made of, and what its vector file must be."""

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from pydantic import BaseModel, ConfigDict, ValidationError

from core.files import open_private, read_regular
from retrieval.index.schema import Reached

NAME = "manifest.json"
_LARGEST = 64_000_000  # bytes, which are paths for the most part


class Vectors(BaseModel):
    """What the derived vector file is when it is whole, and how much of the index it has seen."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    sha256: str
    passages: int
    reached: Reached


class Words(BaseModel):
    """What tells whether the word index in the database is what was written, and how much of the index it is of."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    seal: int
    reached: Reached


class Manifest(BaseModel):
    """Everything is in the database as well; here it can be read when that is damaged.

    Paths in ``roots`` are quoted as in a URL, for a file's name need not be text. Those of them in ``follow_links``
    are followed wherever their links lead.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: int
    index: str
    embedding: str
    dimension: int
    metric: str
    splitter: dict[str, int]
    roots: dict[str, str]
    follow_links: list[str] = []
    vectors: Vectors | None = None
    words: Words | None = None


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest, or ``None`` when it is missing or not one."""
    try:
        return Manifest.model_validate_json(read_regular(folder / NAME, _LARGEST), strict=True)
    except (OSError, ValidationError):
        return None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest in one step."""
    write_in_one_step(folder / NAME, manifest.model_dump_json(indent=1).encode())


def quoted(path: bytes) -> str:
    """Write the bytes of a path as text that can be turned back."""
    return quote(path, safe="/\\: ()[]{}@&=+$,;!'~")


def unquoted(text: str) -> bytes:
    """Return the bytes of a path that ``quoted`` wrote."""
    return unquote_to_bytes(text)


def write_in_one_step(path: Path, data: bytes | memoryview) -> None:
    """Write a file that is, whenever the process or the machine stops, either the old one or the new.

    Only the one writer may do this, for it also removes what others have left unfinished.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
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


def remove_partial_files(folder: Path) -> None:
    """Remove what a writer that was killed has left."""
    with suppress(OSError):
        for partial in folder.glob("*.partial"):
            partial.unlink(missing_ok=True)
