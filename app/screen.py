"""Where things are printed: results to stdout, all else to stderr, colour and bars on a terminal only."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console

    from models.files import Progress as FileProgress


class Screen:
    """Two consoles. ``quiet`` silences stderr but for errors, which ``app.cli`` prints itself."""

    def __init__(self, *, quiet: bool = False) -> None:
        from rich.console import Console

        class Pipe(Console):
            def on_broken_pipe(self) -> None:
                raise BrokenPipeError  # for app.cli, which knows what it means; rich would exit with 1

        def console(stream: TextIO | None, quiet: bool = False) -> Console:
            # Whether it is a terminal is not for FORCE_COLOR to say: scripts read what comes through a pipe.
            on_terminal = stream is not None and stream.isatty()
            file = stream or io.StringIO()  # none where the caller closed it: rich would take stdout for stderr
            return Pipe(file=file, force_terminal=on_terminal, highlight=False, soft_wrap=True, quiet=quiet)

        self.out: Console = console(sys.stdout)
        self.err: Console = console(sys.stderr, quiet)
        self.live = self.err.is_terminal and not quiet

    def note(self, text: str) -> None:
        """Something that a person should know, on stderr."""
        from retrieval.clean import clean

        self.err.print(f"note: {clean(text)}", style="yellow", markup=False)

    def remark(self, text: str) -> None:
        """What was done, in passing, on stderr."""
        from retrieval.clean import clean

        self.err.print(clean(text), style="dim", markup=False)

    @contextmanager
    def downloads(self) -> Iterator[FileProgress]:
        """A progress bar for each file that is fetched; one line a file where there is no terminal."""
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        if not self.live:
            announced: set[str] = set()

            def announce(label: str, done: int, total: int) -> None:
                if label not in announced:
                    announced.add(label)
                    self.err.print(f"fetching {label} ({total / 1e6:,.0f} MB) …", markup=False)

            yield announce
            return
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.err, transient=True) as bars:
            tasks = {}

            def advance(label: str, done: int, total: int) -> None:
                if label not in tasks:
                    tasks[label] = bars.add_task(f"fetching {label}", total=total)
                bars.update(tasks[label], completed=done)

            yield advance

    def indexing(self) -> AbstractContextManager[IndexProgress]:
        """How far it is with the files that are indexed."""
        return self._working("indexing", "files")

    def checking(self) -> AbstractContextManager[IndexProgress]:
        """How far it is with a check of the index."""
        return self._working("checking", "")

    @contextmanager
    def _working(self, what: str, unit: str) -> Iterator[IndexProgress]:
        """A bar, or a line now and then where there is no terminal; nothing until there is work."""
        from app.progress import NowAndThen, pace
        from retrieval.errors import shown

        if not self.live:
            tell = NowAndThen(self)

            def say(now: Advance) -> None:
                parts = [f"{what}: {now.files:,} of {now.total:,} {unit}".rstrip(), *pace(now)]
                tell(" · ".join(parts), last=now.files == now.total)

            yield say
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        columns = (
            TextColumn(what),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}", markup=False),
            # The name has what room the others leave.
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
        )
        bars = Progress(*columns, console=self.err, transient=True, expand=True)

        def advance(now: Advance) -> None:
            if not bars.tasks:
                bars.add_task("", pace="")
                bars.start()
            bars.update(
                bars.tasks[0].id,
                completed=now.files,
                total=now.total,
                description=shown(now.path.name),
                pace=" · ".join(pace(now)),
            )

        try:
            yield advance
        finally:
            if bars.tasks:
                bars.stop()


if TYPE_CHECKING:
    from retrieval.report import Advance
    from retrieval.report import Progress as IndexProgress
