"""Names of documents for clients: the path from the indexed folder on, so that nothing else of the disk is shown.

Paths become names in responses, and names become paths in the filters of requests. What is stored has full paths.
"""

import glob
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import PurePath
from typing import Any, TypeVar

from pydantic import BaseModel

from core.text import one_line, path_text
from retrieval.sync_report import Source

T = TypeVar("T")
PATHS = {"source", "sources", "docs"}  # keys of paths
ERRORS = {"message", "error", "failure", "summary", "description", "reasoning_content"}  # keys of errors
REMARKS = {"reason"}  # keys of texts that may repeat a document's words
FOLDERS = re.compile(r"(?<![\w:/.~-])/(?:[^\s/]+/)+(?=[^\s/])")  # of an absolute path, before its last part


class Names:
    """The names of the files and folders that were indexed; a document's name begins with its folder's name.

    A folder's name is the last part of its path; if another folder has the same name, more of the path precedes it.
    """

    def __init__(self, roots: Iterable[str] = ()) -> None:
        parts = {str(path): path.parts[path.is_absolute() :] for path in map(PurePath, map(path_text, roots))}
        sizes = dict.fromkeys(parts, 1)
        while True:
            self._names = {root: str(PurePath(*parts[root][-size:])) for root, size in sizes.items()}
            known = Counter(self._names.values())
            unclear = {one for one, name in self._names.items() if known[name] > 1 or known.keys() & _above(name)[1:]}
            if not (longer := [root for root in unclear if sizes[root] < len(parts[root])]):
                break
            for root in longer:
                sizes[root] += 1
        self._roots = {form: root for root, name in self._names.items() for form in (name, glob.escape(name))}
        # A path of a single part, such as /docs, may be the address of a page: a slash must follow.
        told = [re.escape(root) + ("" if len(parts[root]) > 1 else f"(?={os.sep})") for root in sorted(parts, key=len)]
        self._told = re.compile(rf"(?<![\w:/.~-])(?:{'|'.join(reversed(told)) or '(?!)'})(?![\w-])")

    def name_of(self, path: str) -> str:
        """Return a document's name; the last part of its path if it lies in no indexed folder."""
        text = PurePath(path_text(path))
        if root := next(filter(self._names.__contains__, _above(text)), None):
            return str(self._names[root] / text.relative_to(root))
        return text.name if text.is_absolute() else path

    def remark(self, text: str) -> str:
        """Return a text in which names replace the paths of documents."""
        return self._told.sub(lambda found: self._names[found[0]], text)

    def error(self, text: str) -> str:
        """Return an error in which names replace the paths of documents, and other paths are cut to their last part."""
        return FOLDERS.sub("", self.remark(text))

    def pattern(self, given: str) -> str:
        """Replace the name at the start of a `Filter.sources` pattern, as in ``/contracts/*.pdf``, by its full path.

        A pattern that begins with no slash, or with a full path, stays as it is.
        """
        above = _above(given)
        if not given.startswith(os.sep) or any(one in map(glob.escape, self._names) for one in above):
            return given
        for one in above:
            if root := self._roots.get(one.removeprefix(os.sep)):
                return glob.escape(root) + given[len(one) :]
        return given if os.sep in given[1:] else given[1:]

    def named(self, value: Any, key: str = "") -> Any:
        """Return a copy of JSON, or of a model, with names in place of the paths of documents, also in sentences."""
        match value:
            case str() if key in PATHS:
                return self.name_of(value)
            case str() if key in ERRORS:
                return self.error(value)
            case str() if key in REMARKS:
                return self.remark(value)
            case dict():
                words = "error" if "status" in value else "reason"  # why a document is left out, or why a verdict
                return {name: self.named(one, words if name == "reason" else name) for name, one in value.items()}
            case list():
                return [self.named(one, key) for one in value]
            case BaseModel():
                return type(value).model_validate(self.named(value.model_dump(mode="json")))
        return value


def document_entry(source: Source) -> dict[str, Any]:
    """Return the entry of a document in a list, with its status and the reason if it is left out."""
    return {
        "name": one_line(source.path.name),
        "source": path_text(source.path),
        "status": source.status,
        "passages": source.passages,
        "reason": source.reason,
        "date": source.date,
    }


_current: ContextVar[Callable[[], Names] | None] = ContextVar("selfrag_names", default=None)


@contextmanager
def naming(names: Callable[[], Names]) -> Iterator[None]:
    """Let `without_paths` use names within the block. It calls ``names`` each time, as names may change in a stream."""
    token = _current.set(names)
    try:
        yield
    finally:
        _current.reset(token)


def without_paths(value: T, key: str = "") -> T:
    """Return a model or JSON as the client may see it: within `naming` with names for paths, elsewhere unchanged.

    A ``value`` that is a text is treated as the text at ``key``, such as ``source`` or ``message``, in JSON.
    """
    names = _current.get()
    return names().named(value, key) if names else value


def _above(path: str | PurePath) -> list[str]:
    """Return a path and the folders above it, the nearest first."""
    return [str(path), *map(str, PurePath(path).parents)]
