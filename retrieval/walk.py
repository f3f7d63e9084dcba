"""Find the documents below the files and folders that an index follows."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

from retrieval.documents.load import SUFFIXES

HIDDEN = "hidden"
OTHER_KIND = "of no kind that can be read"
NOT_A_FILE = "neither a file nor a folder"
LINK_TO_FOLDER = "a link to a folder: add the folder itself"
LINK_TO_NOTHING = "a link that leads nowhere"
GONE = "gone before it could be looked at"


@dataclass(frozen=True)
class Stamp:
    """What tells a changed file from an unchanged one without reading it."""

    size: int
    mtime_ns: int


@dataclass
class Found:
    """The documents by path, and what was passed over on the way.

    ``skipped`` are paths with the reason; ``missing`` are roots that are gone; ``closed`` are folders that
    cannot be listed.
    """

    files: dict[bytes, Stamp] = field(default_factory=dict)
    skipped: list[tuple[bytes, str]] = field(default_factory=list)
    missing: dict[bytes, str] = field(default_factory=dict)
    closed: list[bytes] = field(default_factory=list)

    def hidden_from_view(self, path: bytes) -> bool:
        """Whether a path lies in a folder that cannot be looked into now."""
        folders = [*self.closed, *(root for root, kind in self.missing.items() if kind == "folder")]
        return any(is_below(path, folder) for folder in folders)


def find_documents(roots: Mapping[bytes, str]) -> Found:
    """Walk the roots; each file is found once, under its real path.

    Links to files are followed, links to folders are not: they may lead in circles or to the whole disk.
    """
    found = Found()
    for root, kind in sorted(roots.items()):
        try:
            status = os.stat(root)  # noqa: PTH116 - paths are bytes, for a name need not be text
        except OSError:
            found.missing[root] = kind
            continue
        if kind == "folder" and stat.S_ISDIR(status.st_mode):
            _walk(root, found)
        elif kind == "file" and stat.S_ISREG(status.st_mode):
            found.files[root] = Stamp(status.st_size, status.st_mtime_ns)
        else:
            found.missing[root] = kind
    found.files = dict(sorted(found.files.items()))
    return found


def is_below(path: bytes, folder: bytes) -> bool:
    """Whether ``folder`` is ``path`` or holds it, at any depth."""
    return path == folder or path.startswith(folder.rstrip(_SEPARATOR) + _SEPARATOR)


def _walk(root: bytes, found: Found) -> None:
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if subfolder := _take(entry, found):
                        folders.append(subfolder)
        except OSError:
            found.closed.append(folder)


def _take(entry: os.DirEntry[bytes], found: Found) -> bytes | None:
    """Note a file, or return a folder that is to be walked."""
    hidden = entry.name.startswith(b".")
    try:
        if entry.is_dir(follow_symlinks=False) and not hidden:
            return entry.path
        status = entry.stat()
    except OSError:
        reason = LINK_TO_NOTHING if entry.is_symlink() else GONE
        found.skipped.append((entry.path, reason))
        return None
    if reason := _why_not(entry, status.st_mode, hidden):
        found.skipped.append((entry.path, reason))
        return None
    path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
    found.files[path] = Stamp(status.st_size, status.st_mtime_ns)
    return None


def _why_not(entry: os.DirEntry[bytes], mode: int, hidden: bool) -> str:
    """Return why an entry of a folder is no document, or nothing."""
    if hidden:
        return HIDDEN
    if stat.S_ISDIR(mode):
        return LINK_TO_FOLDER
    if not stat.S_ISREG(mode):
        return NOT_A_FILE
    suffix = os.path.splitext(os.fsdecode(entry.name))[1].lower()  # noqa: PTH122
    return "" if suffix in SUFFIXES else OTHER_KIND


_SEPARATOR = os.fsencode(os.sep)
