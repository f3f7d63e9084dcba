"""Find the documents in the files and folders of a library (its roots)."""

import os
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from core.files import is_below
from retrieval.documents.load import SUFFIXES
from retrieval.filters import exclusion

HIDDEN = "hidden"
OTHER_KIND = "not a supported file type"
NOT_A_FILE = "neither a file nor a folder"
LINK_TO_FOLDER = "a link to a folder: add the folder itself"
LINK_TO_NOTHING = "a broken link"
LINK_OUTSIDE = "a link out of its folder: index the folder with --follow-links to include its target"
SYSTEM = "a system path in /proc, /sys or /dev"
GONE = "disappeared before it could be read"


@dataclass(frozen=True)
class FileStamp:
    """Size and modification time of a file, to detect a change without reading it."""

    size: int
    mtime_ns: int


@dataclass
class DiscoveredFiles:
    """The documents found, by path, and what was skipped.

    ``skipped`` holds paths with the reason, ``missing`` the roots that are gone, ``links`` the missing roots that have
    become links, ``unlistable`` the folders that cannot be listed, ``outside`` targets of skipped links out of a root.
    """

    files: dict[bytes, FileStamp] = field(default_factory=dict)
    skipped: list[tuple[bytes, str]] = field(default_factory=list)
    missing: dict[bytes, str] = field(default_factory=dict)
    links: set[bytes] = field(default_factory=set)
    unlistable: list[bytes] = field(default_factory=list)
    outside: set[bytes] = field(default_factory=set)

    def is_unreachable(self, path: bytes) -> bool:
        """True if a path lies in a folder that is missing or cannot be listed."""
        folders = [*self.unlistable, *(root for root, kind in self.missing.items() if kind == "folder")]
        return any(is_below(path, folder) for folder in folders)


@dataclass(frozen=True)
class _Root:
    """A folder to walk; ``real`` is its path without links: parts of ``path`` may have become links since indexing."""

    path: bytes
    real: bytes
    follow_links: bool
    excluded: Callable[[bytes], str]


def find_documents(
    roots: Mapping[bytes, str], followed: Collection[bytes] = (), patterns: Collection[str] = ()
) -> DiscoveredFiles:
    """Walk the roots; report each file once, under its real path; what fits one of ``patterns`` is skipped.

    Links to files are followed if they stay within their root, or if the root is in ``followed``. Links to folders
    are not followed: they may form cycles or lead to the whole disk.
    """
    found, excluded = DiscoveredFiles(), exclusion(patterns, roots)
    for root, kind in sorted(roots.items()):
        try:
            status = os.lstat(root)
            if stat.S_ISLNK(status.st_mode):  # links were resolved when the root was added
                if root not in followed:
                    found.links.add(root)
                    raise FileNotFoundError
                status = os.stat(root)  # noqa: PTH116 - paths are bytes: a name need not be valid text
        except OSError:
            found.missing[root] = kind
            continue
        real = os.path.realpath(root)
        if is_system(real):
            found.skipped.append((root, SYSTEM))
        elif kind == "file" and (reason := excluded(root)):
            found.skipped.append((root, reason))
        elif kind == "folder" and stat.S_ISDIR(status.st_mode):
            _walk(_Root(root, real, root in followed, excluded), found)
        elif kind == "file" and stat.S_ISREG(status.st_mode):
            found.files[root] = FileStamp(status.st_size, status.st_mtime_ns)
        else:
            found.missing[root] = kind
    found.files = dict(sorted(found.files.items()))
    return found


def is_system(path: bytes) -> bool:
    """True if a resolved path lies in a system file tree, where files may be secret or endless."""
    return any(is_below(path, folder) for folder in _SYSTEM_FOLDERS)


def _walk(root: _Root, found: DiscoveredFiles) -> None:
    folders = [root.path]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if subfolder := _visit(entry, root, found):
                        folders.append(subfolder)
        except OSError:
            found.unlistable.append(folder)


def _visit(entry: os.DirEntry[bytes], root: _Root, found: DiscoveredFiles) -> bytes | None:
    """Return the path of an entry that is a folder to walk; record any other as a file, or as skipped with a reason."""
    hidden = entry.name.startswith(b".")
    try:
        excluded = root.excluded(entry.path)
        if entry.is_dir(follow_symlinks=False) and not hidden and not is_system(entry.path) and not excluded:
            return entry.path
        path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
        status = os.lstat(path)
    except OSError:
        reason = LINK_TO_NOTHING if entry.is_symlink() else GONE
        found.skipped.append((entry.path, reason))
        return None
    if reason := excluded or root.excluded(path) or _skip_reason(entry, path, status.st_mode, hidden):
        found.skipped.append((entry.path, reason))
    elif path != entry.path and not root.follow_links and not is_below(path, root.real):
        found.skipped.append((entry.path, LINK_OUTSIDE))
        found.outside.add(path)
    else:
        found.files[path] = FileStamp(status.st_size, status.st_mtime_ns)
    return None


def _skip_reason(entry: os.DirEntry[bytes], path: bytes, mode: int, hidden: bool) -> str:
    """Return why a folder's entry is not a document, or "" if it is one; ``path`` is the entry's real path."""
    if hidden:
        return HIDDEN
    if is_system(path):
        return SYSTEM
    if stat.S_ISLNK(mode):  # a cycle, or a link made just now
        return LINK_TO_NOTHING
    if stat.S_ISDIR(mode):
        return LINK_TO_FOLDER
    if not stat.S_ISREG(mode):
        return NOT_A_FILE
    suffix = os.path.splitext(os.fsdecode(entry.name))[1].lower()  # noqa: PTH122
    return "" if suffix in SUFFIXES else OTHER_KIND


_SYSTEM_FOLDERS = (b"/proc", b"/sys", b"/dev")
