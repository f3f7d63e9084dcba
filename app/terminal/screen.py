"""Print results to stdout and all else to stderr, with colour and bars on a terminal only.

All that a command prints passes here. Hidden characters are removed, and texts other than answers are put on one line:
names of files, and what models and servers write, are not to be trusted.
"""

import io
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from core.text import as_json, clean, one_line, path_text, shortened_in_the_middle, with_tables
from models.model_files import Progress as FileProgress
from models.redaction import Secrets
from retrieval.sync_report import Advance
from retrieval.sync_report import Progress as IndexProgress

LINE_SECONDS = 10.0
# A format, the value in it, and its style: the layout is ours, whatever the value holds.
Part = tuple[str, str | float, str]
LONGEST_ERROR = 1_000  # characters: what was given may be a path or an argument of any length


def print_error(text: str) -> None:
    """Print what went wrong to stderr, even if ``quiet``: one line that can be read, without secrets."""
    print(f"error: {shortened_in_the_middle(Secrets().redacted(one_line(text)), LONGEST_ERROR)}", file=sys.stderr)


class Screen:
    """Two consoles, for stdout and for stderr; ``quiet`` silences stderr except for errors."""

    def __init__(self, *, quiet: bool = False) -> None:
        class Pipe(Console):
            def on_broken_pipe(self) -> None:
                raise BrokenPipeError  # for app.cli, which knows what it means; rich would exit with 1

        def console(stream: TextIO | None, quiet: bool = False) -> Console:
            # Whether it is a terminal is not for FORCE_COLOR to say: scripts read what comes through a pipe.
            on_terminal = stream is not None and stream.isatty()
            file = stream or io.StringIO()  # none where the caller closed it: rich would take stdout for stderr
            return Pipe(
                file=file,
                force_terminal=on_terminal,
                markup=False,
                emoji=False,
                highlight=False,
                soft_wrap=True,
                quiet=quiet,
            )

        self.out: Console = console(sys.stdout)
        self.err: Console = console(sys.stderr, quiet)
        self.live = self.err.is_terminal and not quiet

    def note(self, text: str) -> None:
        """Print to stderr what a person should know."""
        self.line(("note: {}", text, "yellow"))

    def remark(self, text: str, indent: str = "") -> None:
        """Print to stderr, dimmed, what was done."""
        self.line((indent + "{}", text, "dim"))

    def line(self, *parts: Part | str) -> None:
        """Print a line to stderr."""
        self.err.print(_line(parts))

    def paragraph(self, text: str) -> None:
        """Print an indented line to stderr; a terminal wraps it and indents all of its lines."""
        if not self.err.is_terminal:
            self.line(("    {}", text, ""))
            return
        self.err.print(Padding(_line([text]), (0, 0, 0, 4), expand=False), soft_wrap=False)

    def result(self, *parts: Part | str) -> None:
        """Print a line to stdout."""
        self.out.print(_line(parts))

    def text(self, text: str) -> None:
        """Print a text of any number of lines to stdout."""
        if self.out.is_terminal:
            self.out.print(Text(clean(text)))
        else:  # as it is: rich would turn the tabs of code into spaces
            self.out.file.write(clean(text) + "\n")
            self.out.file.flush()

    def with_tables(self, text: str) -> None:
        """Print a text of any number of lines to stdout; its Markdown tables are drawn with frames."""
        for part in with_tables(clean(text)):
            if isinstance(part, str):
                self.text(part)
                continue
            table = Table(*(Column(Text(name)) for name in part[0]), show_lines=True)
            for row in part[1:]:
                table.add_row(*map(Text, row))
            self.out.print(table, soft_wrap=False)

    def styled(self, parts: Iterable[tuple[str, str]]) -> None:
        """Print pieces of one text to stdout, each with its style."""
        self.out.print(Text.assemble(*((clean(piece), style) for piece, style in parts)), soft_wrap=False)

    def wrapped(self, text: str, style: str = "", indent: int = 0) -> None:
        """Print a text to stdout, every line of it indented; a terminal wraps it between words."""
        if not self.out.is_terminal:
            self.text("\n".join(f"{'':{indent}}{line}".rstrip() for line in clean(text).split("\n")))
            return
        self.out.print(
            Padding(Text(clean(text), style, overflow="fold"), (0, 0, 0, indent), expand=False), soft_wrap=False
        )

    def json(self, value: object, *, indent: int | None = 2) -> None:
        """Print one JSON object to stdout, in one line without ``indent``; in ASCII unless stdout's encoding is UTF."""
        readable = (sys.stdout.encoding or "").lower().startswith("utf")
        print(as_json(value, ensure_ascii=not readable, indent=indent), flush=True)

    @property
    def reads_terminal(self) -> bool:
        """True if a person writes to stdin."""
        return sys.stdin is not None and sys.stdin.isatty()

    def read_line(self, prompt: str) -> str | None:
        """Read a line of stdin without its end; None at the end of input. A terminal shows ``prompt``.

        A terminal also has a history of lines, which lasts as long as the process.
        """
        if self.reads_terminal and self.out.is_terminal:
            with suppress(ImportError):
                import readline  # noqa: F401 - input() then edits lines
            try:
                return input(prompt)
            except (EOFError, KeyboardInterrupt) as end:
                self.result("")
                if isinstance(end, EOFError):
                    return None
                raise
        if self.reads_terminal:
            self.err.print(prompt, end="")
        line = sys.stdin.readline() if sys.stdin else ""
        return line.rstrip("\r\n") if line else None

    def confirmed(self, question: str) -> bool:
        """Ask a person; True only for a yes."""
        return (self.read_line(f"{question} [y/N] ") or "").strip().casefold() in ("y", "yes")

    @contextmanager
    def downloads(self) -> Iterator[FileProgress]:
        """Show a progress bar for each file that is downloaded; without a terminal, one line a file."""
        name = TextColumn("{task.description}", markup=False)
        columns = (name, BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.err, transient=True, disable=not self.live) as bars:
            tasks = {}

            def advance(label: str, done: int, total: int) -> None:
                if label not in tasks:
                    tasks[label] = bars.add_task(one_line(f"fetching {label}"), total=total)
                    if not self.live:
                        self.line(f"fetching {label} ({total / 1e6:,.0f} MB) …")
                bars.update(tasks[label], completed=done)

            yield advance

    @contextmanager
    def working(self, what: str, unit: str) -> Iterator[IndexProgress]:
        """Show how many files or documents have been indexed, checked, copied, saved or restored."""
        with self.counting(what, unit, f"{what}: ") as count:
            yield lambda now: count(now.files, now.total, rate_and_time_left(now), path_text(now.path.name))

    @contextmanager
    def counting(self, doing: str, unit: str, prefix: str = "") -> Iterator[Callable[..., None]]:
        """Yield a function that shows progress; it takes how many are done, how many there are, a remark and a name.

        A terminal shows a bar. Elsewhere a line without the name appears at the start, the end and every ten seconds.
        """
        if not self.live:
            told, ended = -math.inf, False

            def tell(done: int, total: int, remark: str = "", name: str = "") -> None:
                nonlocal told, ended
                now = time.monotonic()
                if now - told >= LINE_SECONDS or (done == total and not ended):
                    told, ended = now, done == total
                    self.line(" · ".join(filter(None, (f"{prefix}{done:,} of {total:,} {unit}".rstrip(), remark))))

            yield tell
            return
        columns = (
            TextColumn(doing),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[remark]}", markup=False),
            # The name has what room the others leave.
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
        )
        bars = Progress(*columns, console=self.err, transient=True, expand=True)

        def advance(done: int, total: int, remark: str = "", name: str = "") -> None:
            if not bars.tasks:
                bars.add_task("", remark="")
                bars.start()
            bars.update(bars.tasks[0].id, completed=done, total=total, description=name, remark=remark)

        try:
            yield advance
        finally:
            if bars.tasks:
                bars.stop()


def rate_and_time_left(now: Advance) -> str:
    """Return the passages so far, how many a second, and the time that is left."""
    parts = [f"{now.passages:,} passages"] if now.passages else []
    if now.passages and now.seconds:
        rate = now.passages / now.seconds
        parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
    if now.seconds_left:
        parts.append(f"{duration(now.seconds_left)} left")
    return " · ".join(parts)


def duration(seconds: float) -> str:
    """Return a number of seconds as a text with at most two units, such as ``2 h 5 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _line(parts: Sequence[Part | str]) -> Text:
    made = Text()
    for part in parts:
        form, value, style = ("{}", part, "") if isinstance(part, str) else part
        made.append(form.format(value if isinstance(value, float | int) else one_line(str(value))), style)
    made.rstrip()
    return made
