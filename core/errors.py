"""The few errors that reach a person: one sentence each, naming the thing and the remedy."""


class SelfRAGError(Exception):
    """Base of every error raised on purpose; ``exit_code`` is the command line's."""

    exit_code = 1


class RequestError(SelfRAGError):
    """What was asked for cannot be done as asked: no such file, a bad option, an unreadable document."""

    exit_code = 2


class ModelError(SelfRAGError):
    """The model cannot be reached, refused, or is not what it should be."""

    exit_code = 3


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


def damaged() -> IndexDamaged:
    """Return the error for a row that is not what was written."""
    return IndexDamaged("The index is damaged: index its documents again.")
