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
