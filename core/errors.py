"""The errors that users see; each message is a sentence that names the thing and the remedy."""


class SelfRAGError(Exception):
    """Base of every error raised on purpose. ``exit_code`` is the exit code of the command line."""

    exit_code = 1


class RequestError(SelfRAGError):
    """The request cannot be fulfilled: no such file, a bad option, an unreadable document."""

    exit_code = 2


class ModelError(SelfRAGError):
    """The model cannot be reached, refused the request, or is not what was expected."""

    exit_code = 3


class UnreadableDocument(RequestError):
    """A document cannot be turned into text."""


class EmptyDocument(UnreadableDocument):
    """A document has no text in it, such as a scan without a text layer."""


class NoTextError(ValueError):
    """The reader of a file format found no text; the message completes a sentence that begins with the file's name."""


class IndexBusy(RequestError):
    """Another process is writing the index; it can still be read."""


class StoreUnavailable(RequestError):
    """The database of a store cannot be reached now, or has no connection left.

    ``retry_after`` is the number of seconds after which to try again; None if it is unknown.
    """

    def __init__(self, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class IndexDamaged(RequestError):
    """The database is damaged: a checksum, a constraint or the schema does not match."""


def damaged() -> IndexDamaged:
    """Return the error for a row whose checksum does not match."""
    return IndexDamaged("The index is damaged: index its documents again.")
