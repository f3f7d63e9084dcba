"""Where things are printed: results to stdout, all else to stderr, colour and bars on a terminal only."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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

    @contextmanager
    def indexing(self) -> Iterator[IndexProgress]:
        """A progress bar over the files that are indexed; nothing where there is no terminal."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        if not self.live:
            yield lambda done, total, passages, path: None
            return
        from retrieval.errors import shown

        columns = (
            TextColumn("indexing"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
        )
        with Progress(*columns, console=self.err, transient=True) as bars:
            task = bars.add_task("", total=None)

            def advance(done: int, total: int, passages: int, path: Path) -> None:
                bars.update(task, completed=done, total=total, description=f"{passages:,} passages · {shown(path)}")

            yield advance


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    IndexProgress = Callable[[int, int, int, Path], None]
