"""What can be wrong with a document or with the index: each a ``RequestError`` with its remedy."""

import os
from pathlib import Path

from errors import RequestError
from retrieval.clean import one_line


class UnreadableDocument(RequestError):
    """A document cannot be turned into text."""


class EmptyDocument(UnreadableDocument):
    """A document has no text in it, such as a scan without a text layer."""


class NoTextError(ValueError):
    """A reader found no text; the message is the rest of a sentence that begins with the file's name."""


class IndexBusy(RequestError):
    """Another process is writing the index; reading it goes on working."""


class IndexDamaged(RequestError):
    """The database is not what was written to it."""


class IndexOutdated(IndexDamaged):
    """The database was made by an older version, in a format that is not read any more."""


def shown(path: str | Path) -> str:
    """Return a path on one line and without hidden characters, for a message."""
    return one_line(os.fsencode(path).decode("utf-8", "replace"))


def damaged() -> IndexDamaged:
    """Return the error for a row that is not what was written."""
    return IndexDamaged("The index is damaged: index its documents again.")
