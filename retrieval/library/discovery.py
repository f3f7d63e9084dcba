"""Find the documents below the files and folders that an index follows."""

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from retrieval.documents.load import SUFFIXES

HIDDEN = "hidden"
OTHER_KIND = "of no kind that can be read"
NOT_A_FILE = "neither a file nor a folder"
LINK_TO_FOLDER = "a link to a folder: add the folder itself"
LINK_TO_NOTHING = "a link that leads nowhere"
LINK_OUTSIDE = "a link out of its folder: index the folder with --follow-links if what it leads to may be asked"
SYSTEM = "the system's own, in /proc, /sys or /dev"
GONE = "gone before it could be looked at"


@dataclass(frozen=True)
class Stamp:
    """What tells a changed file from an unchanged one without reading it."""

    size: int
    mtime_ns: int


@dataclass
class Found:
    """The documents by path, and what was passed over on the way.

    ``skipped`` are paths with the reason; ``missing`` are roots that are gone, and ``links`` those of them that have
    become links; ``closed`` are folders that cannot be listed; ``outside`` is where links lead that are not followed.
    """

    files: dict[bytes, Stamp] = field(default_factory=dict)
    skipped: list[tuple[bytes, str]] = field(default_factory=list)
    missing: dict[bytes, str] = field(default_factory=dict)
    links: set[bytes] = field(default_factory=set)
    closed: list[bytes] = field(default_factory=list)
    outside: set[bytes] = field(default_factory=set)

    def hidden_from_view(self, path: bytes) -> bool:
        """Whether a path lies in a folder that cannot be looked into now."""
        folders = [*self.closed, *(root for root, kind in self.missing.items() if kind == "folder")]
        return any(is_below(path, folder) for folder in folders)


@dataclass(frozen=True)
class _Root:
    """A folder that is walked; ``real`` is its path without links, some of which may be newer than the index."""

    path: bytes
    real: bytes
    follow_links: bool


def find_documents(roots: Mapping[bytes, str], followed: Collection[bytes] = ()) -> Found:
    """Walk the roots; each file is found once, under its real path.

    Links to files are followed within their root, and out of it where the root is one of ``followed``. Links to
    folders are not: they may lead in circles or to the whole disk.
    """
    found = Found()
    for root, kind in sorted(roots.items()):
        try:
            status = os.lstat(root)
            if stat.S_ISLNK(status.st_mode):  # its path had none when it was added
                if root not in followed:
                    found.links.add(root)
                    raise FileNotFoundError
                status = os.stat(root)  # noqa: PTH116 - paths are bytes, for a name need not be text
        except OSError:
            found.missing[root] = kind
            continue
        real = os.path.realpath(root)
        if is_system(real):
            found.skipped.append((root, SYSTEM))
        elif kind == "folder" and stat.S_ISDIR(status.st_mode):
            _walk(_Root(root, real, root in followed), found)
        elif kind == "file" and stat.S_ISREG(status.st_mode):
            found.files[root] = Stamp(status.st_size, status.st_mtime_ns)
        else:
            found.missing[root] = kind
    found.files = dict(sorted(found.files.items()))
    return found


def is_below(path: bytes, folder: bytes) -> bool:
    """Whether ``folder`` is ``path`` or holds it, at any depth."""
    return path == folder or path.startswith(folder.rstrip(_SEPARATOR) + _SEPARATOR)


def is_system(path: bytes) -> bool:
    """Whether a path without links lies where the system shows itself as files, some of them secret or endless."""
    return any(is_below(path, folder) for folder in _SYSTEM_FOLDERS)


def _walk(root: _Root, found: Found) -> None:
    folders = [root.path]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if subfolder := _take(entry, root, found):
                        folders.append(subfolder)
        except OSError:
            found.closed.append(folder)


def _take(entry: os.DirEntry[bytes], root: _Root, found: Found) -> bytes | None:
    """Note a file, or return a folder that is to be walked."""
    hidden = entry.name.startswith(b".")
    try:
        if entry.is_dir(follow_symlinks=False) and not hidden and not is_system(entry.path):
            return entry.path
        path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
        status = os.lstat(path)
    except OSError:
        reason = LINK_TO_NOTHING if entry.is_symlink() else GONE
        found.skipped.append((entry.path, reason))
        return None
    if reason := _why_not(entry, path, status.st_mode, hidden):
        found.skipped.append((entry.path, reason))
    elif path != entry.path and not root.follow_links and not is_below(path, root.real):
        found.skipped.append((entry.path, LINK_OUTSIDE))
        found.outside.add(path)
    else:
        found.files[path] = Stamp(status.st_size, status.st_mtime_ns)
    return None


def _why_not(entry: os.DirEntry[bytes], path: bytes, mode: int, hidden: bool) -> str:
    """Return why an entry of a folder, whose real path is given, is no document, or nothing."""
    if hidden:
        return HIDDEN
    if is_system(path):
        return SYSTEM
    if stat.S_ISLNK(mode):  # in a circle, or it has just been made
        return LINK_TO_NOTHING
    if stat.S_ISDIR(mode):
        return LINK_TO_FOLDER
    if not stat.S_ISREG(mode):
        return NOT_A_FILE
    suffix = os.path.splitext(os.fsdecode(entry.name))[1].lower()  # noqa: PTH122
    return "" if suffix in SUFFIXES else OTHER_KIND


_SEPARATOR = os.fsencode(os.sep)
_SYSTEM_FOLDERS = (b"/proc", b"/sys", b"/dev")
