"""Which passages a search may find: those of some sources, pages or dates."""

from __future__ import annotations

import shlex
from datetime import date
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator


class Filter(BaseModel):
    """Every condition that is given must hold; a passage that does not say its page or date has none that fits.

    ``sources`` are patterns as a shell has them, of which one must fit: with a slash they are compared with the
    end of the whole path, else with the file's name; a folder fits all that is below it. ``pages`` are the first
    and the last page, from 1. ``since`` and ``until`` are days, both included, of the date that a document gives
    itself, else of its file's last change.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sources: tuple[str, ...] = ()
    pages: tuple[int, int] | None = None
    since: date | None = None
    until: date | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.pages and not 1 <= self.pages[0] <= self.pages[1]:
            raise ValueError("pages must be the first and the last page, from 1")
        if self.since and self.until and self.since > self.until:
            raise ValueError("since must not be after until")
        return self

    def __bool__(self) -> bool:
        """Whether there is any condition."""
        return bool(self.sources or self.pages or self.since or self.until)

    def as_options(self) -> str:
        """The conditions as one gives them on the command line, for a message: ``--source '*.pdf' --page 3-5``."""
        first, last = self.pages or (0, 0)
        words = [f"--source {shlex.quote(source)}" for source in self.sources]
        words += [f"--page {first}" if first == last else f"--page {first}-{last}"] if self.pages else []
        words += [f"--since {self.since}"] if self.since else []
        words += [f"--until {self.until}"] if self.until else []
        return " ".join(words)
