"""What a PDF library gives of a document, before its pages are cleaned and their lines joined."""

from dataclasses import dataclass, field


@dataclass
class Pages:
    """The text of every page in order, empty where there is none, and the numbers of broken pages."""

    texts: list[str] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    date: str | None = None


class EncryptedError(ValueError):
    """The document needs a password that is not the empty one, or a cipher that is not known."""

    def __init__(self, *, known: bool = True) -> None:
        super().__init__(
            "is encrypted: save it without a password, for example with qpdf --decrypt"
            if known
            else "is encrypted in a way that cannot be undone here: save it without"
        )


class DamagedError(ValueError):
    """The document cannot be opened."""
